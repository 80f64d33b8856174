"""A published set on disk gives the rows of the recipe that drew it."""

import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import brittle
from brittle import BrittleError
from brittle._io import toml_text
from brittle.datasets import load_dataset, write_arrays, write_folders
from brittle.datasets.load import stored_set
from brittle.evaluation import evaluate, evaluate_stored, load_results, scores
from brittle.metrics import baseline
from brittle.models import ModelError, from_callable
from tests.errors import naming

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
    write_arrays(IMAGES, root, brittle.load_benchmark("cifar10-c"), labels=DATA.labels, workers=1)
    return root


def test_arrays_on_disk_give_the_rows_of_their_recipe(cifar_c: Path, tmp_path: Path) -> None:
    recipe = brittle.load_benchmark("cifar10-c")
    stored = stored_set(f"cifar-c:{cifar_c}")
    assert stored is not None
    assert len(stored.cells) == 75
    results = evaluate_stored(MODEL, stored, tmp_path / "stored")
    renumbered = brittle.datasets.arrays(IMAGES, DATA.labels, classes=DATA.classes)  # drawn with ids 0, 1, 2 …
    evaluate(MODEL, renumbered, recipe, tmp_path / "drawn")
    assert table(tmp_path / "stored").equals(table(tmp_path / "drawn"))
    [recipe_found] = results.benchmarks()
    [score] = scores(results, recipe_found, resamples=50)
    assert score.clean is None
    assert score.relative_mce is None
    assert score.mce is None  # 25 images are not the test set
    reference = baseline("reference-cifar10-c")
    [score] = scores(results, recipe_found, reference=reference, resamples=50)
    assert score.relative_mce is None
    assert score.mce is not None
    whole = evaluate_stored(MODEL, stored, tmp_path / "stored", clean=renumbered)
    [full] = scores(whole, recipe_found, reference=reference, resamples=50)
    assert full.mean_accuracy == score.mean_accuracy
    assert full.relative_mce is not None


def test_pictures_that_brittle_wrote_by_another_recipe_are_not_taken_for_the_published_ones(tmp_path: Path) -> None:
    recipe = brittle.load_benchmark("cifar10-c")
    write_arrays(IMAGES[:4], tmp_path / "c", replace(recipe, table=224), labels=DATA.labels[:4], workers=1)
    stored = stored_set(f"cifar-c:{tmp_path / 'c'}")
    assert stored is not None
    assert evaluate_stored(MODEL, stored, tmp_path / "run").benchmarks() == []


def test_an_unreadable_image_is_left_out_and_counted(tmp_path: Path) -> None:
    from PIL import Image

    for i, image in enumerate(IMAGES[:6]):
        (tmp_path / "clean" / f"{i % 2}").mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(tmp_path / "clean" / f"{i % 2}" / f"{i}.png")
    recipe = replace(
        brittle.load_benchmark("tiny-imagenet-c"), entries=brittle.load_benchmark("tiny-imagenet-c").entries[:1]
    )
    write_folders(tmp_path / "clean", tmp_path / "c", recipe, workers=1)
    victim = sorted((tmp_path / "c" / "gaussian_noise" / "1").rglob("*.JPEG"))[0]
    victim.write_bytes(victim.read_bytes()[:100])
    stored = stored_set(f"tiny-imagenet-c:{tmp_path / 'c'}")
    assert stored is not None
    with pytest.raises(BrittleError, match=naming(2, 200)):
        evaluate_stored(MODEL, stored, tmp_path / "run")
    stored = stored_set(f"tiny-imagenet-c:{tmp_path / 'c'}", partial=True)
    assert stored is not None
    two = from_callable(lambda x: brightness(x)[:, :2], name="two")
    results = evaluate_stored(two, stored, tmp_path / "run")
    assert len(results.rows.collect()) == 5 * 6 - 1
    assert list(results.runs[0].calls[-1].skipped.values()) == ["Truncated File Read"]
    assert len(results.runs[0].skipped) == 1


def test_what_is_no_stored_set_is_none_and_a_missing_one_is_named(cifar_c: Path) -> None:
    for spec in ("demo", "folder:.", f"cifar-c:{cifar_c}/fog/3"):
        assert stored_set(spec) is None
    with pytest.raises(FileNotFoundError, match=naming("/no/such/place")):
        stored_set("imagenet-c:/no/such/place")


def test_other_pictures_and_other_clean_images_are_refused(cifar_c: Path, tmp_path: Path) -> None:
    stored = stored_set(f"cifar-c:{cifar_c}")
    assert stored is not None
    evaluate_stored(MODEL, stored, tmp_path / "run")
    other = tmp_path / "other" / "CIFAR-10-C"
    write_arrays(IMAGES[::-1].copy(), other, brittle.load_benchmark("cifar10-c"), labels=DATA.labels[::-1], workers=1)
    others = stored_set(f"cifar-c:{other}")
    assert others is not None
    with pytest.raises(BrittleError, match=naming(1, 74, 75)):
        evaluate_stored(MODEL, others, tmp_path / "run")
    with pytest.raises(BrittleError, match=naming("'demo'", 1000, 25)):
        evaluate_stored(MODEL, stored, tmp_path / "run", clean=load_dataset("demo"))


@pytest.fixture
def tiny_c(tmp_path: Path) -> Path:
    """Ten cells of folders: two corruptions at five severities of six images."""
    from PIL import Image

    for i, image in enumerate(IMAGES[:6]):
        (tmp_path / "clean" / f"{i % 2}").mkdir(parents=True, exist_ok=True)
        Image.fromarray(image).save(tmp_path / "clean" / f"{i % 2}" / f"{i}.png")
    recipe = replace(
        brittle.load_benchmark("tiny-imagenet-c"), entries=brittle.load_benchmark("tiny-imagenet-c").entries[:2]
    )
    write_folders(tmp_path / "clean", tmp_path / "Tiny-C", recipe, workers=1)
    return tmp_path / "Tiny-C"


TWO = from_callable(lambda x: brightness(x)[:, :2], name="two")


def run_tiny(root: Path, folder: Path) -> None:
    stored = stored_set(f"tiny-imagenet-c:{root}", partial=True)
    assert stored is not None
    evaluate_stored(TWO, stored, folder)


def test_files_that_change_in_any_cell_are_noticed(tiny_c: Path, tmp_path: Path) -> None:
    run_tiny(tiny_c, tmp_path / "run")
    last = sorted((tiny_c / "shot_noise" / "5").rglob("*.JPEG"))[-1]
    before = last.read_bytes()
    last.write_bytes((tiny_c / "gaussian_noise" / "1" / last.parent.name / last.name).read_bytes())
    with pytest.raises(BrittleError, match=naming("shot_noise", 5)):
        run_tiny(tiny_c, tmp_path / "run")
    for level in (3, 4):
        for file in (tiny_c / "gaussian_noise" / f"{level}").rglob("*.JPEG"):
            file.write_bytes(before)
    with pytest.raises(BrittleError, match=naming("gaussian_noise", 3, 2, 10)):
        run_tiny(tiny_c, tmp_path / "run")


def test_a_file_of_the_same_size_is_noticed_if_it_is_one_of_those_read(tiny_c: Path) -> None:
    def key() -> str:
        return brittle.datasets.tiny_imagenet_c(tiny_c, "shot_noise", 5, partial=True).portable_key

    before = key()
    victim = sorted((tiny_c / "shot_noise" / "5").rglob("*.JPEG"))[-1]  # of six files all are read
    content = bytearray(victim.read_bytes())
    content[-3] ^= 1
    victim.write_bytes(content)
    assert key() != before


def test_an_array_that_changes_in_a_later_cell_is_noticed(cifar_c: Path, tmp_path: Path) -> None:
    import shutil

    root = tmp_path / "CIFAR-10-C"
    shutil.copytree(cifar_c, root)
    for place in (root, cifar_c):  # a copy goes on with the run of the original
        stored = stored_set(f"cifar-c:{place}")
        assert stored is not None
        evaluate_stored(MODEL, stored, tmp_path / "run")
    pixels = np.load(root / "snow.npy", mmap_mode="r+")
    pixels[4 * len(DATA) + 3, 5, 5, 0] ^= 1
    pixels.flush()
    with pytest.raises(BrittleError, match=naming(5)):
        evaluate_stored(MODEL, stored_set(f"cifar-c:{root}"), tmp_path / "run")


def test_a_copy_of_the_files_goes_on_with_the_run_and_a_set_with_other_cells_does_not(
    tiny_c: Path, tmp_path: Path
) -> None:
    import os
    import shutil

    run_tiny(tiny_c, tmp_path / "run")
    kept = {file: file.stat().st_mtime_ns for file in (tmp_path / "run" / "cells").rglob("*.parquet")}
    copy = tmp_path / "elsewhere" / tiny_c.name
    shutil.copytree(tiny_c, copy, copy_function=shutil.copyfile)
    for file in copy.rglob("*.JPEG"):
        os.utime(file, (1, 1))
    run_tiny(copy, tmp_path / "run")
    assert {file: file.stat().st_mtime_ns for file in (tmp_path / "run" / "cells").rglob("*.parquet")} == kept
    shutil.rmtree(copy / "shot_noise")
    with pytest.raises(BrittleError, match=naming(10, 5)):
        run_tiny(copy, tmp_path / "run")


def test_a_run_that_noted_no_cells_is_told_in_a_sentence(tiny_c: Path, tmp_path: Path) -> None:
    run_tiny(tiny_c, tmp_path / "run")
    about = tmp_path / "run" / "run.toml"
    known = tomllib.loads(about.read_text())
    about.write_text(toml_text({key: known[key] for key in known if key not in ("cells", "cell_count")}))
    with pytest.raises(BrittleError, match=naming("run", "earlier")):
        run_tiny(tiny_c, tmp_path / "run")
    assert len(load_results(tmp_path / "run").cells) == 10


def test_an_error_of_the_models_own_code_names_the_cell_and_the_cells_before_it_are_kept(
    tiny_c: Path, tmp_path: Path
) -> None:
    seen = []

    def moody(images: np.ndarray) -> np.ndarray:
        seen.append(len(images))
        return brightness(images)[:, :2] if len(seen) < 3 else images["tomorrow"]

    stored = stored_set(f"tiny-imagenet-c:{tiny_c}", partial=True)
    assert stored is not None
    with pytest.raises(ModelError, match=naming("moody", "gaussian_noise", 3, "Tiny-C")):
        evaluate_stored(from_callable(moody, name="moody"), stored, tmp_path / "run")
    assert len(load_results(tmp_path / "run").cells) == 2
