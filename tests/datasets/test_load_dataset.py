"""A dataset from a short text."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image as Pil

from brittle import BrittleError
from brittle.datasets import dataset_sources, demo, load_dataset
from tests.datasets.fake_layouts import WNIDS, cifar_batches, class_folders, picture, pixels
from tests.errors import naming


@pytest.fixture
def disk(tmp_path: Path) -> Path:
    class_folders(tmp_path / "folder", ["a", "b"])
    np.savez(tmp_path / "file.npz", images=pixels(2, 4, 4, 3))
    np.save(tmp_path / "file.npy", pixels(2, 4, 4, 3))
    (tmp_path / "file.csv").touch()
    cifar_batches(tmp_path / "cifar", pixels(2, 32, 32, 3), [0, 1], key=b"labels", name="test_batch")
    np.save(tmp_path / "fog.npy", pixels(10, 4, 4, 3))
    np.save(tmp_path / "labels.npy", np.tile([0, 1], 5))
    class_folders(tmp_path / "c" / "fog" / "3", WNIDS)
    class_folders(tmp_path / "odd:name", ["a"])
    picture(tmp_path / "cns/fog/022_bald eagle/seed_1_scale_0000.jpg")
    return tmp_path


GOOD: list[tuple[str, dict[str, Any], str, int]] = [
    ("{}/folder", {}, "folder", 2),
    ("folder:{}/folder", {}, "folder", 2),
    ("{}/odd:name", {}, "odd:name", 1),
    ("{}/file.npz", {}, "file", 2),
    ("{}/file.npy", {}, "file", 2),
    ("array:{}/fog.npy", {}, "fog", 10),
    ("cifar10:{}/cifar", {}, "cifar10", 2),
    ("cifar-c:{}/fog/3", {}, "/fog/3", 2),
    ("imagenet-c:{}/c/fog/3", {}, "c/fog/3", 1000),
    ("imagenet:{}/c/fog/3", {}, "imagenet", 1000),
    ("imagenet-v2:{}/c/fog", {"partial": True}, "imagenet-v2", 1000),
    ("cns-bench:{}/cns", {"shift": "fog"}, "cns-bench/fog", 1),
    ("demo", {}, "demo", 1000),
]


@pytest.mark.parametrize(("spec", "options", "name", "count"), GOOD)
def test_what_a_text_means(disk: Path, spec: str, options: dict[str, Any], name: str, count: int) -> None:
    data = load_dataset(spec.format(disk), **options)
    assert data.name.endswith(name)
    assert len(data) == count


def test_paths_and_datasets_are_taken_too(disk: Path) -> None:
    data = load_dataset(disk / "folder")
    assert data.key == load_dataset(str(disk / "folder")).key
    assert load_dataset(data) is data


BAD: list[tuple[str, dict[str, Any], tuple[str, ...]]] = [
    ("cifer10:{}/cifar", {}, ("cifer10", "cifar10")),
    ("xyz:{}", {}, ("xyz", "array", "cifar-c", "cifar10", "tiny-imagenet-c")),
    ("cifar10:", {}, ("'cifar10:'", "cifar10:PATH")),
    ("cifar10", {}, ("'cifar10'", "cifar10:PATH")),
    ("dmo", {}, ("'dmo'", "'demo'")),
    ("{}/nowhere", {}, ("nowhere", "demo", "array:PATH", "cifar10:PATH")),
    ("{}/file.csv", {}, ("file.csv", ".npz", ".npy")),
    ("imagenet-c:fog", {}, ("'fog'", "gaussian_noise/3")),
    ("imagenet-c:{}/c/fog/3", {"train": True}, ("imagenet-c", "'train'", "partial")),
    ("demo", {"train": True}, ("demo", "'train'", "none")),
]


@pytest.mark.parametrize(("spec", "options", "values"), BAD)
def test_what_a_text_cannot_mean_is_told(disk: Path, spec: str, options: dict[str, Any], values: tuple) -> None:
    with pytest.raises((BrittleError, FileNotFoundError), match=naming(*values)):
        load_dataset(spec.format(disk), **options)


def test_every_scheme_tells_of_a_missing_path(tmp_path: Path) -> None:
    for scheme in dataset_sources():
        with pytest.raises(FileNotFoundError, match=naming("nowhere")):
            load_dataset(f"{scheme}:{tmp_path}/nowhere/fog/1")


def test_a_dataset_takes_no_options() -> None:
    with pytest.raises(TypeError, match=naming("train")):
        load_dataset(demo(), train=True)


def photographs(root: Path, sizes: list[tuple[int, int]], names: tuple[str, ...] = ("a", "b")) -> Path:
    """Pictures of these heights and widths in turn in class folders."""
    for number, size in enumerate(sizes):
        picture(root / names[number % len(names)] / f"{number}.png", seed=number, size=size)
    return root


@pytest.mark.parametrize(
    ("sizes", "prepare", "square", "shape"),
    [
        ([(300, 260), (400, 500)], None, None, (224, 224)),
        ([(300, 260), (400, 500)], None, 96, (96, 96)),
        ([(300, 260), (400, 500)], "none", 96, (300, 260)),
        ([(300, 260), (400, 500)], "imagenet", 96, (224, 224)),
        ([(300, 260), (400, 500)], "50,40", None, (40, 40)),
        ([(32, 32), (32, 32)], None, 224, (32, 32)),
        ([(300, 512), (300, 512)], None, None, (300, 512)),
        ([(300, 513), (300, 513)], None, None, (224, 224)),
    ],
)
def test_photographs_of_different_sizes_are_prepared_unless_told_otherwise(
    tmp_path: Path, sizes: list[tuple[int, int]], prepare: str | None, square: int | None, shape: tuple[int, int]
) -> None:
    data = load_dataset(photographs(tmp_path / "p", sizes), prepare=prepare)
    fits = data.subset([0]).prepared_for(square) if len(set(sizes)) == 1 else data.prepared_for(square)
    assert fits.image(0).shape == (*shape, 3)
    asked = prepare is not None or shape == sizes[0]
    assert (fits.preparation_text is None) == asked
    if not asked:
        assert f"{shape[0]}×{shape[0]}" in fits.preparation_text
    raw = load_dataset(tmp_path / "p", prepare="none")
    assert (fits.subset([0]).key == raw.subset([0]).key) == (fits.preparation == "none")


def test_a_camera_held_sideways_counts_and_broken_files_do_not(tmp_path: Path) -> None:
    root = photographs(tmp_path / "p", [(40, 60), (40, 60)])
    (root / "a" / "broken.png").write_text("nothing")
    assert load_dataset(root).preparation == "none"
    turned = Pil.fromarray(pixels(40, 60, 3))
    exif = turned.getexif()
    exif[0x0112] = 6
    turned.save(root / "b" / "turned.jpg", exif=exif)
    assert load_dataset(root).sizes == {(60, 40), (40, 60)}
    assert load_dataset(root).preparation == "imagenet"


@pytest.mark.parametrize("bad", ["imagnet", "224", "224,256", "a,b", "0,0"])
def test_other_preparations_are_refused(tmp_path: Path, bad: str) -> None:
    with pytest.raises(BrittleError, match=naming("prepare", repr(bad), "none", "imagenet", "342,299")):
        load_dataset(photographs(tmp_path / "p", [(4, 4)]), prepare=bad)


def test_classes_in_the_order_of_a_models_outputs(tmp_path: Path) -> None:
    root = photographs(tmp_path / "p", [(4, 4)] * 3, ("dog", "Big_cat", "n01440764"))
    with pytest.raises(BrittleError, match=naming("'Big_cat'", "'dog'", "classes", "imagenet=False")):
        load_dataset(root)  # one folder is a WordNet id, and two are not
    (tmp_path / "names.txt").write_text("\ufefftench\n\nbird\nbig cat\ndog\n", encoding="utf-8")
    for given in (tmp_path / "names.txt", str(tmp_path / "names.txt"), ["tench", "bird", "big cat", "dog"]):
        data = load_dataset(root, classes=given)
        assert data.classes == ("tench", "bird", "big cat", "dog")
        assert dict(zip(data.ids, data.labels, strict=True)) == {
            "Big_cat/1.png": 2,
            "dog/0.png": 3,
            "n01440764/2.png": 0,
        }
    for bad, named in (
        (["dog", "big cat"], "'n01440764'"),
        (["dog", "dog", "tench"], "'dog'"),
        ([], "empty"),
    ):
        with pytest.raises(BrittleError, match=naming("classes", named)):
            load_dataset(root, classes=bad)
    with pytest.raises(FileNotFoundError, match=naming("nowhere.txt")):
        load_dataset(root, classes=tmp_path / "nowhere.txt")


def test_arrays_are_put_in_order_too(tmp_path: Path) -> None:
    np.savez(tmp_path / "x.npz", images=pixels(3, 4, 4, 3), labels=[0, 1, 1], classes=["a", "b"])
    assert load_dataset(tmp_path / "x.npz", classes=["b", "c", "a"]).labels.tolist() == [2, 0, 0]
    np.savez(tmp_path / "y.npz", images=pixels(3, 4, 4, 3), labels=[0, 1, 1])
    named = load_dataset(tmp_path / "y.npz", classes=["b", "c"])
    assert (named.labels.tolist(), named.classes) == ([0, 1, 1], ("b", "c"))


@pytest.mark.parametrize("folders", [("tench", "Great_White-shark"), ("n01440764", "n01484850")])
def test_names_and_ids_of_imagenet_suit_models_of_1000_or_of_just_these_classes(
    tmp_path: Path, folders: tuple[str, str]
) -> None:
    data = load_dataset(photographs(tmp_path / "p", [(4, 4)] * 2, folders))
    large, small = data.for_outputs(1000), data.for_outputs(2)
    by_folder = {Path(str(sample)).parent.name: label for sample, label in zip(large.ids, large.labels, strict=True)}
    assert by_folder == {folders[0]: 0, folders[1]: 2}
    assert len(large.classes) == 1000
    assert (sorted(small.labels), small.classes) == ([0, 1], tuple(sorted(folders)))
    assert data.for_outputs(7) is data
    assert load_dataset(photographs(tmp_path / "q", [(4, 4)] * 2, ("crane", "tench"))).other_numbering is None
