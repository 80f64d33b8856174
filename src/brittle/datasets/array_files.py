"""Datasets of arrays: in memory, in .npy and .npz files, and those of Fashion-MNIST."""

from __future__ import annotations

import gzip
import os
import sys
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brittle._errors import BrittleError, BrittleTypeError
from brittle._types import Image
from brittle.datasets.dataset import Dataset, Rows, dataset_source


def arrays(
    images: Any, labels: ArrayLike | None = None, classes: Sequence[str] = (), *, name: str = "arrays"
) -> Dataset:
    """Images in memory with their labels; the sample ids are the indices.

    Images are N×H×W×3 (or ×1, or N×H×W: grey) as uint8, or as floats in [0, 1], which are rounded to 8 bits as files
    have them. A torch tensor of the same values may also have its channels first, N×3×H×W.
    """
    shape, row = np.shape(images), _on_cpu(labels)
    rows = Rows(check_images(_as_bytes(images)))
    if len(shape) == 3 and 3 in (shape[0], shape[2]) and row is not None and np.shape(row) != shape[:1]:
        raise BrittleError(f"{name!r} is one image of shape {shape}; {SHAPE}: one image is array[None]")
    return Dataset(name, rows, range(len(rows.array)), content=rows.content, labels=row, classes=classes)


def _on_cpu(values: Any) -> Any:
    """A tensor of any device as an array; anything else as it is."""
    return values.detach().cpu().numpy() if hasattr(values, "detach") else values


def _as_bytes(given: Any) -> Any:
    """Channels last and 8 bits, where it is clear how; what is not is left for `check_images` to refuse."""
    images = _on_cpu(given)
    if getattr(images, "ndim", 0) == 3:
        images = images[..., None]
    if images is not given and np.ndim(images) == 4 and images.shape[3] not in (1, 3) and images.shape[1] in (1, 3):
        images = images.transpose(0, 2, 3, 1)
    if getattr(images, "dtype", None) not in (np.float16, np.float32, np.float64) or 0 in images.shape:
        return images
    low, high = float(images.min()), float(images.max())
    if not (low >= 0 and high <= 1):
        raise BrittleError(
            f"images are uint8, or floats in [0, 1]; got {images.dtype} from {low:g} to {high:g}; "
            f"{'divide them by 255' if 1 < high <= 255 and low >= 0 else 'give them as they are before normalisation'}"
        )
    return np.rint(images * np.float32(255)).astype(np.uint8)


SHAPE = "images are N×H×W×3 (or N×H×W×1) uint8, as in CIFAR-10-C"


def check_images(images: Any, where: str = "the array") -> Image:
    """The array itself if it holds images; raises otherwise."""
    shape, dtype = np.shape(images), getattr(images, "dtype", type(images).__name__)
    if dtype != np.uint8:
        hint = "; convert floats in [0, 1] with (images * 255).round().astype('uint8')"
        raise BrittleTypeError(f"{where} holds {dtype}; {SHAPE}{hint if str(dtype).startswith('float') else ''}")
    if len(shape) == 4 and shape[3] not in (1, 3) and shape[1] in (1, 3):
        raise BrittleError(f"{where} has shape {shape}, channels first; {SHAPE}: use array.transpose(0, 2, 3, 1)")
    if len(shape) != 4 or shape[3] not in (1, 3) or 0 in shape:
        raise BrittleError(f"{where} has shape {shape}; {SHAPE}")
    return np.asanyarray(images)


def check_labels(labels: Any, count: int) -> NDArray[Any]:
    """One label for each image; raises otherwise."""
    array: NDArray[Any] = np.asarray(labels)
    if array.shape != (count,):
        raise BrittleError(f"{count} images need {count} labels in one row, got an array of shape {array.shape}")
    return array


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


LARGEST_IDX = 1 << 28
"""Bytes of an unpacked idx file that are read at most: five times those of 60,000 images."""


def _read_idx(folder: Path, name: str, *, dimensions: int) -> Image:
    candidates = (folder / f"{name}.gz", folder / name)
    path = next((candidate for candidate in candidates if candidate.is_file()), None)
    if path is None:
        raise FileNotFoundError(f"{str(folder)!r} has neither {name}.gz nor {name}; give the folder that holds them")
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            data = file.read(LARGEST_IDX)
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
            _check_unpacked(path)
            with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
                return {key: stored[key] for key in stored.files}
        return {"images": np.load(path, mmap_mode="r", allow_pickle=False)}
    except BrittleError:
        raise
    except Exception as error:  # a damaged file raises whatever its bytes lead to
        raise BrittleError(f"{str(path)!r} is not a {path.suffix} file of plain arrays: {error}") from error


def _check_unpacked(path: Path) -> None:
    """Raise if an archive unpacks to more than the machine's memory, which would end the process without a word."""
    with ZipFile(path) as archive:
        size = sum(member.file_size for member in archive.infolist())
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else sys.maxsize
    if size > memory:
        raise BrittleError(
            f"{str(path)!r} unpacks to {size >> 20:,} MB, and this machine has {memory >> 20:,} MB of memory; save the "
            "images as an .npy file, which stays on disk"
        )
