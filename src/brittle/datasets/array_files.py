"""Datasets in array files: .npy and .npz, and those of Fashion-MNIST."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from brittle._errors import BrittleError
from brittle._types import Image
from brittle.datasets.dataset import Dataset, Rows, arrays, check_images, check_labels, dataset_source

CLASSES = (
    *("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat"),
    *("Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"),
)


class MappedRows(Rows):
    """Rows `start` to `stop` of an .npy file that stays on disk; a copy in another process opens it again."""

    def __init__(self, path: Path, start: int, stop: int) -> None:
        self.path, self.start, self.stop = path.absolute(), start, stop

    @cached_property
    def array(self) -> Image:  # type: ignore[override]
        """The rows, memory-mapped."""
        return read_array(self.path)[0][self.start : self.stop]

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path, "start": self.start, "stop": self.stop}


@dataset_source("fashion-mnist")
def fashion_mnist(path: str | Path, *, train: bool = False) -> Dataset:
    """Fashion-MNIST from the folder of its four idx files, compressed (.gz) or not; its grey images become RGB."""
    part = "train" if train else "t10k"
    images = _read_idx(Path(path), f"{part}-images-idx3-ubyte", dimensions=3)
    labels = _read_idx(Path(path), f"{part}-labels-idx1-ubyte", dimensions=1)
    return arrays(images, labels, CLASSES, name="fashion-mnist-train" if train else "fashion-mnist")


def _read_idx(folder: Path, name: str, *, dimensions: int) -> Image:
    candidates = (folder / f"{name}.gz", folder / name)
    path = next((candidate for candidate in candidates if candidate.is_file()), None)
    if path is None:
        raise FileNotFoundError(f"{str(folder)!r} has neither {name}.gz nor {name}; give the folder that holds them")
    try:
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (OSError, EOFError, ValueError) as error:
        raise BrittleError(f"{str(path)!r} cannot be decompressed: {error}") from error
    shape = tuple(int.from_bytes(data[4 * i : 4 * i + 4], "big") for i in range(1, dimensions + 1))
    values = np.frombuffer(data, np.uint8)[4 * (dimensions + 1) :]
    if data[:4] != bytes((0, 0, 8, dimensions)) or values.size != np.prod(shape):
        raise BrittleError(f"{str(path)!r} is not an idx file of bytes in {dimensions} dimensions, or it is truncated")
    return values.reshape(shape)


@dataset_source("array")
def array_file(path: str | Path, *, labels: str | Path | None = None, classes: Sequence[str] = ()) -> Dataset:
    """The images of an .npy file, which stays on disk, or of an .npz file with `images`, `labels` and `classes`.

    The labels of an .npy file are in a second file, `labels`; without it there are none.
    """
    path = Path(path)
    images, stored = read_array(path)
    if labels is not None:
        stored = read_labels(labels, len(images))
    if path.suffix == ".npz":
        return arrays(images, stored, classes or _stored_classes(path), name=path.stem)
    rows = MappedRows(path, 0, len(images))
    return Dataset(path.stem, rows, range(len(images)), content=rows.content, labels=stored, classes=classes)


def _stored_classes(path: Path) -> list[str]:
    with np.load(path, allow_pickle=False) as stored:
        return [str(name) for name in stored["classes"]] if "classes" in stored.files else []


def read_array(path: str | Path) -> tuple[Image, NDArray[Any] | None]:
    """The images of a file, and their labels if it has any.

    A .npy file holds only the images and is memory-mapped. A .npz file holds `images`, and `labels` if known.
    """
    path = Path(path)
    if path.suffix == ".npz":
        stored = _load(path)
        if "images" not in stored:
            keys = ", ".join(stored) or "nothing"
            raise BrittleError(
                f"{str(path)!r} must hold an array called images (and labels, if known); it holds {keys}"
            )
        images, labels = stored["images"], stored.get("labels")
    else:
        images, labels = _load(path)["images"], None
    return check_images(images, repr(str(path))), labels if labels is None else check_labels(labels, len(images))


def read_labels(path: str | Path, count: int) -> NDArray[Any]:
    """The labels of a .npy file, one for each of `count` images."""
    return check_labels(_load(Path(path))["images"], count)


def _load(path: Path) -> dict[str, NDArray[Any]]:
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {str(path)!r}")
    try:
        if path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as stored:
                return {key: stored[key] for key in stored.files}
        return {"images": np.load(path, mmap_mode="r", allow_pickle=False)}
    except (ValueError, OSError, EOFError, BadZipFile, AttributeError) as error:
        raise BrittleError(f"{str(path)!r} is not a {path.suffix} file of plain arrays: {error}") from error
