"""A dataset from a short text."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fake_layouts import WNIDS, cifar_batches, class_folders, picture, pixels

from brittle.datasets import SCHEMES, demo, load_dataset


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
    assert load_dataset(data) is data


BAD: list[tuple[str, dict[str, Any], str]] = [
    ("cifer10:{}/cifar", {}, "no kind of dataset 'cifer10'; did you mean 'cifar10'"),
    ("xyz:{}", {}, "there are: array, cifar-c, cifar10"),
    ("cifar10:", {}, "write cifar10:PATH"),
    ("cifar10", {}, "write cifar10:PATH"),
    ("dmo", {}, "did you mean 'demo'"),
    ("{}/nowhere", {}, "no folder or file .*; a dataset is demo, a path, or one of folder:PATH"),
    ("{}/file.csv", {}, "is a file; a dataset is a folder"),
    ("imagenet-c:fog", {}, "does not end in a corruption and a severity"),
    ("imagenet-c:{}/c/fog/3", {"train": True}, "imagenet-c has no option 'train'; it has: partial"),
    ("demo", {"train": True}, "demo has no option 'train'; it has: none"),
]


@pytest.mark.parametrize(("spec", "options", "sentence"), BAD)
def test_what_a_text_cannot_mean_is_told(disk: Path, spec: str, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises((ValueError, TypeError, FileNotFoundError), match=sentence):
        load_dataset(spec.format(disk), **options)


def test_every_scheme_tells_of_a_missing_path(tmp_path: Path) -> None:
    for scheme in SCHEMES:
        with pytest.raises(FileNotFoundError, match="nowhere"):
            load_dataset(f"{scheme}:{tmp_path}/nowhere/fog/1")


def test_a_dataset_takes_no_options() -> None:
    with pytest.raises(TypeError, match="takes no options, got train"):
        load_dataset(demo(), train=True)
