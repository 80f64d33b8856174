"""Arrays of images in .npy and .npz files."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from brittle.arrays import Image

SHAPE = "images are N×H×W×3 (or N×H×W×1) uint8, as in CIFAR-10-C"


def read_array(path: str | Path) -> tuple[Image, NDArray[Any] | None]:
    """The images of a file, and their labels if it has any.

    A .npy file holds the images alone and is mapped, not read. A .npz file holds `images`, and `labels` if known.
    """
    path = Path(path)
    if path.suffix == ".npz":
        stored = _load(path)
        if "images" not in stored:
            keys = ", ".join(stored) or "nothing"
            raise ValueError(f"{str(path)!r} must hold an array called images (and labels, if known); it holds {keys}")
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
        raise ValueError(f"{str(path)!r} is not a {path.suffix} file of plain arrays: {error}") from error


def check_images(images: Any, where: str = "the array") -> Image:
    """The array itself if it holds images, else one clear sentence."""
    shape, kind = np.shape(images), getattr(images, "dtype", type(images).__name__)
    if kind != np.uint8:
        real = "; floats in [0, 1] become that by (images * 255).round().astype('uint8')"
        raise TypeError(f"{where} holds {kind}; {SHAPE}{real if str(kind).startswith('float') else ''}")
    if len(shape) == 4 and shape[3] not in (1, 3) and shape[1] in (1, 3):
        raise ValueError(f"{where} has shape {shape}, channels first; {SHAPE}: use array.transpose(0, 2, 3, 1)")
    if len(shape) != 4 or shape[3] not in (1, 3) or 0 in shape:
        raise ValueError(f"{where} has shape {shape}; {SHAPE}")
    return np.asanyarray(images)


def check_labels(labels: Any, count: int) -> NDArray[Any]:
    """One label for each image, or one clear sentence."""
    row: NDArray[Any] = np.asarray(labels)
    if row.shape != (count,):
        raise ValueError(f"{count} images need {count} labels in one row, got an array of shape {row.shape}")
    return row
