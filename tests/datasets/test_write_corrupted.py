"""`write_corrupted`: one call for folders and for arrays."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Pil

from brittle._errors import BrittleError
from brittle.benchmarks import Benchmark, Entry
from brittle.datasets import source_benchmark, write_arrays, write_corrupted, write_folders

RECIPE = Benchmark("two", (Entry("fog", (1, 3)),))
IMAGES = np.random.default_rng(0).integers(0, 256, (3, 32, 32, 3), np.uint8)


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    (tmp_path / "photos" / "cat").mkdir(parents=True)
    for index, image in enumerate(IMAGES):
        Pil.fromarray(image).save(tmp_path / "photos" / "cat" / f"{index}.png")
    np.save(tmp_path / "images.npy", IMAGES)
    np.save(tmp_path / "labels.npy", np.arange(3))
    return tmp_path


def test_a_folder_becomes_what_write_folders_writes(sources: Path) -> None:
    account = write_corrupted(sources / "photos", sources / "a", RECIPE, image_format="png", workers=1)
    write_folders(sources / "photos", sources / "b", RECIPE, image_format="png", workers=1)
    assert account.written == 6
    pictures = sorted(path.relative_to(sources / "a") for path in (sources / "a").rglob("*.png"))
    assert len(pictures) == 6
    for picture in pictures:
        assert (sources / "a" / picture).read_bytes() == (sources / "b" / picture).read_bytes()


def test_an_array_becomes_what_write_arrays_writes(sources: Path) -> None:
    labels = sources / "labels.npy"
    write_corrupted(sources / "images.npy", sources / "a", RECIPE, array_labels=labels, workers=1)
    write_arrays(IMAGES, sources / "b", RECIPE, labels=np.arange(3), workers=1)
    for name in ("fog.npy", "labels.npy"):
        assert np.array_equal(np.load(sources / "a" / name), np.load(sources / "b" / name)), name


def test_each_layout_has_its_benchmark(sources: Path) -> None:
    assert source_benchmark(sources / "images.npy") == "cifar10-c"
    assert source_benchmark(sources / "photos") == "imagenet-c"


@pytest.mark.parametrize(
    ("source", "options", "named"),
    [
        ("images.npy", {"image_format": "png"}, "image_format"),
        ("images.npy", {"prepare": "imagenet"}, "prepare"),
        ("photos", {"array_labels": "labels.npy"}, "array_labels"),
        ("photos", {"benchmark": "imagenet-d"}, "imagenet-d"),
    ],
)
def test_options_of_the_other_layout_are_refused(sources: Path, source: str, options: dict, named: str) -> None:
    with pytest.raises(BrittleError, match=named):
        write_corrupted(sources / source, sources / "out", **{"benchmark": RECIPE, **options})
    assert not (sources / "out").exists()
