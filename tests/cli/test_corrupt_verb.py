"""`brittle corrupt` from the outside: files, counts, second runs and mistakes."""

from collections.abc import Callable
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image as Pil
from typer.testing import Result

import brittle
from brittle.benchmarks import Benchmark
from brittle.datasets import photo, square
from tests.errors import unnamed

Run = Callable[..., Result]
SMALL = ("-c", "fog,shot_noise", "-s", "1,2.5")


def _files(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_a_folder_is_written_in_the_published_layout(run: Run, photos: Path, tmp_path: Path) -> None:
    result = run("corrupt", photos, tmp_path / "out", *SMALL, "-j", 1)
    assert result.exit_code == 0, result.stderr
    assert "16  pictures written" in result.stdout
    assert set(_files(tmp_path / "out")) == {"recipe.toml", "layout.toml", "skipped.txt"} | {
        f"{corruption}/{severity}/{kind}/{side} px.JPEG"
        for corruption in ("fog", "shot_noise")
        for severity in ("1", "2.5")
        for kind in ("cat", "coffee")
        for side in (32, 48)
    }


def test_broken_files_are_counted_listed_and_skipped(run: Run, photos: Path, tmp_path: Path) -> None:
    result = run("corrupt", photos, tmp_path / "out", *SMALL, "-j", 1)
    assert result.exit_code == 0
    assert "3  files skipped" in result.stdout
    listed = dict(line.split("\t") for line in (tmp_path / "out/skipped.txt").read_text().splitlines())
    assert list(listed) == ["cut.jpg", "empty.jpg", "text.jpg"]
    assert "truncated" in listed["cut.jpg"].lower()
    assert all(name in result.stdout for name in listed)


def test_label_files_and_masks_are_named(run: Run, photos: Path, tmp_path: Path) -> None:
    plain = run("corrupt", photos, tmp_path / "plain", *SMALL, "-j", 1)
    assert "label file" not in plain.stdout
    assert "like masks" not in plain.stdout
    (photos / "labels").mkdir()
    for name in ("labels/a.txt", "labels/b.txt", "boxes.json"):
        (photos / name).write_text("0 0.5 0.5 0.1 0.1")
    Pil.new("L", (8, 8)).save(photos / "labels/a.png")
    result = run("corrupt", photos, tmp_path / "still", *SMALL, "-j", 1)
    assert "3 label files" in result.stdout
    assert "boxes.json" in result.stdout
    assert "moves pixels" not in result.stdout
    assert "1 of the images look like masks, such as labels/a.png" in result.stdout
    moving = run("corrupt", photos, tmp_path / "moved", "-c", "noc/rotation,fog", "-s", "1", "-j", 1)
    assert "rotation moves pixels" in moving.stdout


def test_a_second_run_writes_only_what_is_missing(run: Run, photos: Path, tmp_path: Path) -> None:
    command = ("corrupt", photos, tmp_path / "out", *SMALL, "-j", 1)
    run(*command)
    whole = _files(tmp_path / "out")
    (tmp_path / "out/fog/1/cat/32 px.JPEG").unlink()
    untouched = (tmp_path / "out/fog/1/cat/48 px.JPEG").stat().st_mtime_ns
    (photos / "cut.jpg").unlink()
    result = run(*command)
    assert " 1  pictures written" in result.stdout
    assert "15  existed already" in result.stdout
    assert "2  files skipped" in result.stdout
    assert (tmp_path / "out/fog/1/cat/48 px.JPEG").stat().st_mtime_ns == untouched
    del whole["skipped.txt"]
    assert whole.items() <= _files(tmp_path / "out").items()


def test_pictures_do_not_depend_on_the_number_of_processes(run: Run, photos: Path, tmp_path: Path) -> None:
    images = np.random.default_rng(0).integers(0, 256, (9, 32, 32, 3), np.uint8)
    np.savez(tmp_path / "a.npz", images=images)
    for source in (photos, tmp_path / "a.npz"):
        for jobs in (1, 2):
            result = run("corrupt", source, tmp_path / f"{source.name}{jobs}", *SMALL, "-j", jobs)
            assert result.exit_code == 0, result.stderr
        assert _files(tmp_path / f"{source.name}1") == _files(tmp_path / f"{source.name}2")


def test_an_array_becomes_the_benchmark_of_its_kind(run: Run, tmp_path: Path) -> None:
    images = np.random.default_rng(0).integers(0, 256, (3, 32, 32, 3), np.uint8)
    np.save(tmp_path / "a.npy", images)
    np.save(tmp_path / "labels.npy", [5, 6, 7])
    result = run("corrupt", tmp_path / "a.npy", tmp_path / "out", "--array-labels", tmp_path / "labels.npy", "-j", 1)
    assert result.exit_code == 0, result.stderr
    recipe = Benchmark.load(tmp_path / "out/recipe.toml")
    assert recipe.name == "cifar10-c"
    assert np.load(tmp_path / "out/labels.npy").tolist() == [5, 6, 7] * 5
    for entry in recipe.entries:
        stacked = np.load(tmp_path / "out" / f"{entry.corruption.name}.npy")
        expected = [recipe.apply(images, entry.id, level, range(3)) for level in entry.levels]
        assert (stacked == np.concatenate(expected)).all()


@pytest.mark.parametrize(
    ("arguments", "name", "levels", "seed"),
    [
        (["-b", "imagenet-c", "-c", "fog"], "imagenet-c-custom", (1, 2, 3, 4, 5), 0),
        (["-b", "imagenet-c", "-c", "fog", "-s", "4"], "imagenet-c-custom", (4,), 0),
        (["-c", "fog", "--seed", "7"], "custom", (1, 2, 3, 4, 5), 7),
    ],
)
def test_the_recipe_is_kept_beside_the_pictures(
    run: Run, photos: Path, tmp_path: Path, arguments: list[str], name: str, levels: tuple[float, ...], seed: int
) -> None:
    assert run("corrupt", photos, tmp_path / "out", *arguments, "-j", 1).exit_code == 0
    recipe = Benchmark.load(tmp_path / "out/recipe.toml")
    assert (recipe.name, recipe.seed, [entry.levels for entry in recipe.entries]) == (name, seed, [levels])


@pytest.mark.parametrize(
    ("arguments", "values"),
    [
        (["nowhere", "out"], ("nowhere",)),
        (
            ["photos", "out", "-c", "saturate", "-b", "imagenet-c"],
            ("imagenet-c/saturate", "imagenet-c", "brittle list --benchmark imagenet-c"),
        ),
        (["photos", "out", "-s", "6"], ("severity", 0, 5, "6.0")),
        (["photos", "out", "--image-format", "gif"], ("--image-format", "gif", "jpeg", "png")),
        (["photos", "out", "--array-labels", "labels.npy"], ("--array-labels",)),
        (["a.npy", "out", "--image-format", "png"], ("--image-format", "--prepare", ".npy")),
        (["photos", "out", "--workers", "0"], ("workers", 1, 0)),
        (["photos", "photos/out"], ("photos/out",)),
        (["photos", "."], (".", "recipe.toml")),
    ],
)
def test_mistakes_are_one_sentence_and_leave_nothing(
    run: Run, photos: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], values: tuple
) -> None:
    monkeypatch.chdir(photos.parent)
    before = _files(photos.parent)
    result = run("corrupt", *arguments)
    assert result.exit_code == 2
    assert unnamed(result.stderr, *values) == []
    assert len(result.stderr.splitlines()) <= 2  # a hint may follow
    assert _files(photos.parent) == before


def test_another_recipe_needs_overwrite(run: Run, photos: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run("corrupt", photos, out, "-c", "fog", "-s", 1, "-j", 1).exit_code == 0
    refused = run("corrupt", photos, out, "-c", "snow", "-s", 1, "-j", 1)
    assert refused.exit_code == 2
    assert unnamed(refused.stderr, "recipe", "--overwrite") == []
    assert run("corrupt", photos, out, "-c", "snow", "-s", 1, "-j", 1, "--overwrite").exit_code == 0
    assert {path.name for path in out.iterdir() if path.is_dir()} == {"snow"}


def test_one_picture_has_each_corruption_at_its_own_severity(run: Run, tmp_path: Path) -> None:
    image = photo("cat", 40)
    Pil.fromarray(image).save(tmp_path / "a.png")
    result = run("corrupt", tmp_path / "a.png", tmp_path / "out" / "b.png", "-c", "fog,snow", "-s", "2,2", "--seed", 3)
    assert result.exit_code == 0, result.stderr
    expected = brittle.corrupt(image, "fog", 2, seed=3, sample="a.png")
    expected = brittle.corrupt(expected, "snow", 2, seed=3, sample="a.png")
    assert np.array_equal(np.asarray(Pil.open(tmp_path / "out" / "b.png")), expected)
    assert "40×40 px" in result.stdout


def test_one_picture_of_data_is_named_by_its_sample(run: Run, tmp_path: Path) -> None:
    data = brittle.load_dataset("demo")
    result = run("corrupt", "demo", tmp_path / "b.png", "-c", "fog", "-s", "2.5", "--sample", "7", "--image-size", 24)
    assert result.exit_code == 0, result.stderr
    expected = brittle.corrupt(square(data.image(7), 24), "fog", 2.5, sample=data.ids[7])
    assert np.array_equal(np.asarray(Pil.open(tmp_path / "b.png")), expected)


@pytest.mark.parametrize("ending", [".npy", ".tif", ".png"])
def test_an_image_of_16_bits_keeps_its_depth(run: Run, tmp_path: Path, ending: str) -> None:
    image = (photo("cat", 40).astype(np.uint16) * 16)[:, :, :3]
    source, target = tmp_path / f"a{ending}", tmp_path / "out" / f"b{ending}"
    np.save(source, image) if ending == ".npy" else cv2.imwrite(str(source), image[:, :, ::-1])
    result = run("corrupt", source, target, "-c", "fog,saturate", "-s", "2,1", "--seed", 3, "--data-range", 4095)
    assert result.exit_code == 0, result.stderr
    expected = brittle.corrupt(image, "fog", 2, seed=3, sample=source.name, data_range=4095)
    expected = brittle.corrupt(expected, "saturate", 1, seed=3, sample=source.name, data_range=4095)
    out = np.load(target) if ending == ".npy" else cv2.imread(str(target), cv2.IMREAD_UNCHANGED)[:, :, ::-1]
    assert out.dtype == np.uint16
    np.testing.assert_array_equal(out, expected)
    assert "40×40×3 uint16" in result.stdout


def test_bands_and_batches_of_floats_are_arrays(run: Run, tmp_path: Path) -> None:
    scenes = np.random.default_rng(0).uniform(-3, 5, (2, 32, 32, 6)).astype(np.float32)
    np.save(tmp_path / "a.npy", scenes)
    result = run("corrupt", tmp_path / "a.npy", tmp_path / "b.npy", "-c", "fog", "--data-range", "-3,5")
    assert result.exit_code == 0, result.stderr
    np.testing.assert_array_equal(np.load(tmp_path / "b.npy"), brittle.corrupt(scenes, "fog", 3, data_range=(-3, 5)))
    four = np.random.default_rng(0).integers(0, 256, (32, 32, 4), np.uint8)
    np.save(tmp_path / "c.npy", four)
    result = run("corrupt", tmp_path / "c.npy", tmp_path / "d.npy", "-c", "contrast", "-s", 3, "--bands")
    assert result.exit_code == 0, result.stderr
    np.testing.assert_array_equal(np.load(tmp_path / "d.npy"), brittle.corrupt(four, "contrast", 3, bands=True))


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("a.npy", "out", "-c", "fog", "--data-range", "9"), ("out", ".npy", ".tif")),
        (("a.npy", "b.jpg", "-c", "fog", "--data-range", "9"), ("b.jpg", ".npy")),
        (("a.npy", "b.png", "-c", "fog", "--data-range", "9"), ("float32", ".png", ".npy")),
        (("a.npy", "b.npy", "-c", "fog", "--data-range", "1"), ("5", "1")),
        (("a.npy", "b.npy", "-c", "fog", "--data-range", "few"), ("few",)),
        (("a.npy", "b.npy", "-c", "fog", "--bands"), ("data_range",)),
        (("a.npy", "b.npy", "-c", "saturate", "--data-range", "9"), ("saturate", "5 bands")),
        (("a.npy", "b.npy", "-c", "fog", "--data-range", "9", "--image-size", "8"), ("--image-size",)),
        (("a.npy", "b.npy", "-c", "fog", "--data-range", "9", "--prepare", "imagenet"), ("--prepare",)),
        (("none.npy", "b.npy", "-c", "fog", "--data-range", "9"), ("none.npy",)),
        (("a.txt", "b.npy", "-c", "fog", "--data-range", "9"), ("a.txt", ".npy")),
        (("bad.npy", "b.npy", "-c", "fog", "--data-range", "9"), ("bad.npy",)),
        (("bad.tif", "b.npy", "-c", "fog", "--data-range", "9"), ("bad.tif", "np.save")),
    ],
)
def test_what_one_image_of_values_cannot_be_is_named(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], named: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", np.full((16, 16, 5), 5, np.float32))
    for name in ("a.txt", "bad.npy", "bad.tif"):
        Path(name).write_text("no image")
    result = run("corrupt", *arguments)
    assert result.exit_code == 2
    assert all(value in " ".join(result.stderr.split()) for value in named), result.stderr
    assert not Path("b.npy").exists()


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("cat", "b.png", "-c", "fog,snow", "-s", "2"), ("2 corruptions", "1 severities")),
        (("cat", "b.png", "-c", "fog", "-s", "lots"), ("lots",)),
        (("cat", "b.png", "-c", "fog", "-s", "9"), ("9", "5")),
        (("cat", "b.png", "-b", "imagenet-c"), ("--benchmark", "b.png")),
        (("cat", "b.png", "-c", "fog", "--image-size", "0"), ("0",)),
        (("demo", "b.png", "-c", "fog"), ("sample", "1,000")),
        (("demo", "b.png", "-c", "fog", "--sample", "none"), ("'none'", "demo")),
        (("nothing.jpg", "b.png", "-c", "fog"), ("nothing.jpg",)),
        (("photos", "out", "-c", "fog", "--sample", "7"), ("--sample", "out")),
        (("photos", "out", "-c", "fog", "--image-size", "32"), ("--image-size", "out")),
    ],
)
def test_what_one_picture_cannot_be_is_named(
    run: Run, photos: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], named: tuple[str, ...]
) -> None:
    monkeypatch.chdir(photos.parent)
    result = run("corrupt", *arguments)
    assert result.exit_code == 2
    assert all(value in " ".join(result.stderr.split()) for value in named), result.stderr
    assert not (photos.parent / "b.png").exists()
