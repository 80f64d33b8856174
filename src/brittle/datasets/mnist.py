"""Fashion-MNIST, and any set in the idx format of MNIST."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np

from brittle._errors import BrittleError
from brittle._types import Image
from brittle.datasets.dataset import Dataset, arrays

CLASSES = (
    *("T-shirt/top", "Trouser", "Pullover", "Dress", "Coat"),
    *("Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"),
)


def fashion_mnist(path: str | Path, *, train: bool = False) -> Dataset:
    """Fashion-MNIST from the folder of its four idx files, packed (.gz) or not; its channels are all the same."""
    part = "train" if train else "t10k"
    images = _read_idx(Path(path), f"{part}-images-idx3-ubyte", dimensions=3)
    labels = _read_idx(Path(path), f"{part}-labels-idx1-ubyte", dimensions=1)
    return arrays(images, labels, CLASSES, name="fashion-mnist-train" if train else "fashion-mnist")


def _read_idx(folder: Path, name: str, *, dimensions: int) -> Image:
    places = (folder / f"{name}.gz", folder / name)
    path = next((place for place in places if place.is_file()), None)
    if path is None:
        raise FileNotFoundError(f"{str(folder)!r} has neither {name}.gz nor {name}; give the folder that holds them")
    try:
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (OSError, EOFError, ValueError) as error:
        raise BrittleError(f"{str(path)!r} cannot be unpacked: {error}") from error
    shape = tuple(int.from_bytes(data[4 * i : 4 * i + 4], "big") for i in range(1, dimensions + 1))
    values = np.frombuffer(data, np.uint8)[4 * (dimensions + 1) :]
    if data[:4] != bytes((0, 0, 8, dimensions)) or values.size != np.prod(shape):
        raise BrittleError(f"{str(path)!r} is not an idx file of bytes in {dimensions} dimensions, or it is cut off")
    return values.reshape(shape)
