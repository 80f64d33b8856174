"""Data to train on: ImageNet-100, folders with train and val, present classes, and the clean side of -A and -R."""

import csv
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Pil

from brittle import BrittleError
from brittle.datasets import (
    has_training_part,
    image_folder,
    imagenet,
    imagenet_100,
    imagenet_a,
    imagenet_a_clean,
    imagenet_r_clean,
    load_dataset,
    load_test_set,
    load_training_set,
    preparation_sizes,
    read_image,
    split,
)
from brittle.datasets.classes import TABLES
from tests.datasets.fake_layouts import WNIDS, class_folders, picture
from tests.errors import naming

with (TABLES / "imagenet_classes.csv").open(encoding="utf-8", newline="") as file:
    ROWS = list(csv.DictReader(file))


def test_imagenet_100_is_every_tenth_class(tmp_path: Path) -> None:
    tenth = sorted(WNIDS)[::10]
    complete = imagenet_100(class_folders(tmp_path / "all", WNIDS))
    just = imagenet_100(class_folders(tmp_path / "just", tenth))
    assert [row["wnid"] for row in ROWS if row["in_imagenet_100"] == "1"] == tenth
    for dataset in (complete, just):
        assert [sample.partition("/")[0] for sample in dataset.ids] == tenth
        assert dataset.labels.tolist() == list(range(100))
        assert len(dataset.classes) == len(set(dataset.classes)) == 100
        assert dataset.for_outputs(1000).labels.tolist() == list(range(0, 1000, 10))
        assert dataset.present_classes() is dataset
    with pytest.raises(BrittleError, match=naming(100, "partial")):
        imagenet_100(class_folders(tmp_path / "few", tenth[:7]))
    few = imagenet_100(tmp_path / "few", partial=True)
    assert few.labels.tolist() == list(range(7))
    assert len(few.classes) == 100
    assert load_dataset(f"imagenet-100:{tmp_path / 'just'}").preparation == "imagenet"


def test_train_and_val_are_parts_of_one_folder(tmp_path: Path) -> None:
    root = tmp_path / "imagenet"
    class_folders(root / "train", WNIDS, "a_train.png")
    class_folders(root / "val", WNIDS, "a_val.png")
    for reader in (imagenet, imagenet_100):
        assert reader(root).ids[0] == reader(root, train=False).ids[0] == f"{WNIDS[0]}/a_val.png"
        assert reader(root, train=True).ids[0] == f"{WNIDS[0]}/a_train.png"
    assert image_folder(root, train=True).ids[0].endswith("a_train.png")
    assert image_folder(root).name == "imagenet"
    assert has_training_part(f"imagenet-100:{root}")
    assert has_training_part(str(root))
    assert not has_training_part(f"imagenet:{root / 'val'}")
    assert not has_training_part("demo")
    with pytest.raises(BrittleError, match=naming(str(root / "val"), "train_data")):
        imagenet(root / "val", train=True)


@pytest.mark.parametrize(("clean", "column"), [(imagenet_a_clean, "a"), (imagenet_r_clean, "r")])
def test_clean_sides_have_the_classes_and_outputs_of_the_natural_shift(tmp_path: Path, clean, column: str) -> None:
    wnids = [row["wnid"] for row in ROWS if row[f"in_imagenet_{column}"] == "1"]
    numbers = [int(row["index"]) for row in ROWS if row[f"in_imagenet_{column}"] == "1"]
    dataset = clean(class_folders(tmp_path / "val", WNIDS))
    assert len(dataset) == 200
    assert [sample.partition("/")[0] for sample in dataset.ids] == wnids
    assert dataset.labels.tolist() == numbers == dataset.class_subset.tolist()
    if column == "a":
        shifted = imagenet_a(class_folders(tmp_path / "a", wnids))
        np.testing.assert_array_equal(shifted.labels, dataset.labels)
        np.testing.assert_array_equal(shifted.class_subset, dataset.class_subset)


def test_a_folder_of_some_imagenet_classes_trains_just_these(tmp_path: Path) -> None:
    chosen = [WNIDS[index] for index in (3, 40, 999)]
    dataset = image_folder(class_folders(tmp_path / "some", chosen))
    assert len(dataset.classes) == 1000
    present = dataset.present_classes()
    assert present.classes == tuple(sorted(chosen))
    assert present.labels.tolist() == [0, 1, 2]
    named = image_folder(class_folders(tmp_path / "named", ["tench", "goldfish"]))
    assert named.present_classes() is named


def test_a_split_takes_the_same_share_of_each_class_whatever_the_order(tmp_path: Path) -> None:
    for name, count in (("a", 25), ("b", 10), ("c", 2)):
        for index in range(count):
            picture(tmp_path / "photos" / name / f"{index}.png", seed=index)
    dataset = image_folder(tmp_path / "photos")
    training, test = split(dataset)
    assert np.bincount(test.labels).tolist() == [5, 2, 1]
    assert set(training.ids) | set(test.ids) == set(dataset.ids)
    assert not set(training.ids) & set(test.ids)
    order = np.random.default_rng(0).permutation(len(dataset))
    assert set(split(dataset.subset(order))[1].ids) == set(test.ids)
    (tmp_path / "photos" / "c" / "1.png").unlink()
    with pytest.raises(BrittleError, match="c"):
        split(image_folder(tmp_path / "photos"))
    with pytest.raises(BrittleError, match=naming(1.5)):
        split(dataset, 1.5)


@pytest.mark.parametrize("size", [(300, 200), (31, 90), (40, 20)])
def test_images_are_resized_to_exactly_what_is_asked(tmp_path: Path, size: tuple[int, int]) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (size[1], size[0], 3), np.uint8)
    Pil.fromarray(pixels).save(tmp_path / "a.png")
    expected = np.asarray(Pil.fromarray(pixels).resize((40, 20), Pil.Resampling.BILINEAR))
    np.testing.assert_array_equal(read_image(tmp_path / "a.png", prepare="40x20"), expected)


def test_a_preparation_is_a_models_preprocessing_too() -> None:
    assert preparation_sizes("40x20") == {"size": (20, 40)}  # height and width
    assert preparation_sizes("imagenet") == {"size": 256, "crop": 224}
    assert preparation_sizes("342,299") == {"size": 342, "crop": 299}
    assert preparation_sizes("none") == {}
    for wrong in ("0x10", "10x", "224×224", "axb"):
        with pytest.raises(BrittleError, match=naming(wrong)):
            preparation_sizes(wrong)


def test_a_folder_without_parts_is_trained_on_completely_or_without_a_fifth(tmp_path: Path) -> None:
    for name in ("cat", "dog"):
        for index in range(10):
            picture(tmp_path / "photos" / name / f"{index}.png", size=(40 + index, 30))
    complete = load_training_set(tmp_path / "photos")
    training = load_training_set(tmp_path / "photos", held_out=True)
    test = load_test_set(tmp_path / "photos", training)
    assert (len(complete), len(training), len(test)) == (20, 16, 4)
    assert {*training.ids, *test.ids} == set(complete.ids)
    assert test.labels.tolist() == [0, 0, 1, 1]
    assert load_training_set(tmp_path / "photos", photo_prepare="24x20").image(0).shape == (20, 24, 3)
    assert load_training_set(tmp_path / "photos", prepare="16x16", photo_prepare="24x20").image(0).shape == (16, 16, 3)
    other = load_training_set(tmp_path / "photos", tmp_path / "photos", held_out=True)
    assert len(other) == len(load_test_set(tmp_path / "photos", other, tmp_path / "photos")) == 20


def test_test_images_have_the_numbers_of_the_training_classes(tmp_path: Path) -> None:
    class_folders(tmp_path / "train", ["ant", "bee", "cow"])
    class_folders(tmp_path / "test", ["bee", "cow"])
    training = load_training_set(tmp_path / "test", tmp_path / "train")
    test = load_test_set(tmp_path / "test", training, tmp_path / "train")
    assert test.classes == training.classes == ("ant", "bee", "cow")
    assert test.labels.tolist() == [1, 2]
