"""A published set on disk gives the rows of the recipe that drew it."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import brittle
from brittle.datasets import load_dataset, write_arrays, write_folders
from brittle.datasets.stored_set import stored_set
from brittle.evaluation import evaluate, evaluate_stored, load_results, scores
from brittle.models import from_callable

DATA = load_dataset("demo").subset(range(0, 1000, 40))
IMAGES = np.stack([DATA.image(i) for i in range(len(DATA))])


def brightness(images: np.ndarray) -> np.ndarray:
    return -np.abs(images.mean((1, 2, 3))[:, None] - np.linspace(60, 190, 10))


MODEL = from_callable(brightness, name="brightness")


def table(folder: Path) -> pl.DataFrame:
    rows = load_results(folder).rows.filter(pl.col("corruption") != "clean")
    return rows.sort("corruption", "level", "label", "prediction", "confidence").drop("sample").collect()


@pytest.fixture(scope="module")
def cifar_c(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("stored") / "CIFAR-10-C"
    write_arrays(IMAGES, root, brittle.benchmark("cifar10-c"), labels=DATA.labels, jobs=1)
    return root


def test_arrays_on_disk_give_the_rows_of_their_recipe(cifar_c: Path, tmp_path: Path) -> None:
    recipe = brittle.benchmark("cifar10-c")
    stored = stored_set(f"cifar-c:{cifar_c}")
    assert stored is not None
    assert len(stored.cells) == 75
    results = evaluate_stored(MODEL, stored, tmp_path / "stored")
    renumbered = brittle.datasets.arrays(IMAGES, DATA.labels, classes=DATA.classes)  # drawn with ids 0, 1, 2 …
    evaluate(MODEL, renumbered, recipe, tmp_path / "drawn")
    assert table(tmp_path / "stored").equals(table(tmp_path / "drawn"))
    [recipe_found] = results.benchmarks()
    [mine] = scores(results, recipe_found, resamples=50)
    assert mine.clean is None
    assert mine.relative_mce is None
    assert mine.mce is not None
    [full] = scores(evaluate_stored(MODEL, stored, tmp_path / "stored", clean=renumbered), recipe_found, resamples=50)
    assert full.mean_accuracy == mine.mean_accuracy
    assert full.relative_mce is not None


def test_an_unreadable_image_is_left_out_and_counted(tmp_path: Path) -> None:
    from PIL import Image

    for i, image in enumerate(IMAGES[:6]):
        (tmp_path / "clean" / f"{i % 2}").mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(tmp_path / "clean" / f"{i % 2}" / f"{i}.png")
    recipe = replace(brittle.benchmark("tiny-imagenet-c"), entries=brittle.benchmark("tiny-imagenet-c").entries[:1])
    write_folders(tmp_path / "clean", tmp_path / "c", recipe, jobs=1)
    victim = sorted((tmp_path / "c" / "gaussian_noise" / "1").rglob("*.JPEG"))[0]
    victim.write_bytes(victim.read_bytes()[:100])
    stored = stored_set(f"tiny-imagenet-c:{tmp_path / 'c'}")
    assert stored is not None
    with pytest.raises(ValueError, match="has 2 class folders; Tiny-ImageNet-C has 200"):
        evaluate_stored(MODEL, stored, tmp_path / "run")
    stored = stored_set(f"tiny-imagenet-c:{tmp_path / 'c'}", partial=True)
    assert stored is not None
    two = from_callable(lambda x: brightness(x)[:, :2], name="two")
    results = evaluate_stored(two, stored, tmp_path / "run")
    assert len(results.rows.collect()) == 5 * 6 - 1
    assert list(results.runs[0]["calls"][-1]["skipped"].values()) == ["Truncated File Read"]
    assert len(results.runs[0]["skipped"]) == 1


def test_what_is_no_stored_set_is_none_and_a_missing_one_is_named(cifar_c: Path) -> None:
    for spec in ("demo", "folder:.", f"cifar-c:{cifar_c}/fog/3"):
        assert stored_set(spec) is None
    with pytest.raises(FileNotFoundError, match="there is no folder '/no/such/place' of imagenet-c"):
        stored_set("imagenet-c:/no/such/place")


def test_other_pictures_and_other_clean_images_are_refused(cifar_c: Path, tmp_path: Path) -> None:
    stored = stored_set(f"cifar-c:{cifar_c}")
    assert stored is not None
    evaluate_stored(MODEL, stored, tmp_path / "run")
    other = tmp_path / "other" / "CIFAR-10-C"
    write_arrays(IMAGES[::-1].copy(), other, brittle.benchmark("cifar10-c"), labels=DATA.labels[::-1], jobs=1)
    others = stored_set(f"cifar-c:{other}")
    assert others is not None
    with pytest.raises(ValueError, match="holds a run with data_key"):
        evaluate_stored(MODEL, others, tmp_path / "run")
    with pytest.raises(ValueError, match="are not those of the corrupted ones"):
        evaluate_stored(MODEL, stored, tmp_path / "run", clean=load_dataset("demo"))
