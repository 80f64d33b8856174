"""Every kind of image a user may have, and the one kind a corruption sees: H×W×C uint8, C = 1 or 3."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brittle.arrays import Image

LUMINANCE = np.array([0.299, 0.587, 0.114], np.float32)

ACCEPTED = (
    "an image is H×W, H×W×1, H×W×3 or H×W×4 (RGBA), a batch N×H×W×C, as uint8, or as float32 or 64 in [0, 1]; "
    "or a PIL image of mode L, RGB or RGBA"
)


def is_pil(image: object) -> bool:
    """Whether it is a PIL image, without importing PIL for those who have none."""
    return hasattr(image, "getbands") and hasattr(image, "convert")


def check(image: object) -> None:
    """Raise one clear sentence unless the image is of a kind listed in ACCEPTED."""
    shape: tuple[int, ...]
    if isinstance(image, np.ndarray):
        if isinstance(image, np.ma.MaskedArray | np.matrix):
            raise TypeError(f"got a {type(image).__name__}; give a plain array, np.asarray(image)")
        if image.dtype.char not in "Bfd":  # uint8, float32, float64
            raise TypeError(f"got an array of {image.dtype}; {ACCEPTED}")
        shape = image.shape
        if len(shape) not in (2, 3, 4) or (len(shape) > 2 and shape[-1] not in (1, 3, 4)):
            raise ValueError(f"got an array of shape {shape}; {ACCEPTED}{_advice(image)}")
    elif is_pil(image):
        mode = image.mode  # type: ignore[attr-defined]
        if mode not in ("L", "RGB", "RGBA"):
            raise ValueError(f"got a PIL image of mode {mode!r}; convert it first, for example image.convert('RGB')")
        shape = (image.height, image.width)  # type: ignore[attr-defined]
    else:
        raise TypeError(f"got {type(image).__name__}; {ACCEPTED}{_advice(image)}")
    if 0 in shape:
        raise ValueError(f"got an empty array of shape {shape}; give at least one image, each side at least 1")
    if isinstance(image, np.ndarray) and image.dtype.char != "B":
        low, high = float(image.min()), float(image.max())
        if not (low >= 0 and high <= 1):
            hint = "; divide by 255" if 1 < high <= 255 and low >= 0 else ""
            raise ValueError(f"a float image has values in [0, 1]; got values from {low:g} to {high:g}{hint}")


def _advice(image: object) -> str:
    """What to do about the mistakes that everybody makes."""
    if isinstance(image, np.ndarray):
        if image.ndim in (3, 4) and image.shape[-3] in (1, 3, 4):
            return "; this one has its channels first, so transpose it"
        return "; a batch of grey images needs a last axis, array[..., None]" if image.ndim == 3 else ""
    if isinstance(image, str | PurePath):
        return "; open the file first, PIL.Image.open(path)"
    if isinstance(image, list | tuple):
        return "; np.stack makes a batch of several images"
    if type(image).__module__.startswith("torch"):
        return "; brittle.Transform takes tensors, or give tensor.permute(1, 2, 0).numpy()"
    return ""


def apply(image: Any, change: Callable[[Image], Image], channels: str) -> Any:
    """Show one checked image to `change` as H×W×C uint8 and give the result back in the kind it came in."""
    if not isinstance(image, np.ndarray):
        from PIL import Image as Pil

        return Pil.fromarray(apply(np.asarray(image), change, channels))
    if image.ndim == 2:
        return apply(image[:, :, np.newaxis], change, channels)[:, :, 0]
    if image.shape[2] == 4:
        return np.concatenate([apply(image[:, :, :3], change, channels), image[:, :, 3:]], axis=2)
    if image.dtype.char != "B":
        changed: NDArray[Any] = apply(np.rint(image * 255).astype(np.uint8), change, channels)
        return changed.astype(image.dtype) / image.dtype.type(255)
    if image.shape[2] == 1 and channels == "rgb":
        return _luminance(change(np.repeat(image, 3, axis=2)))
    if not (image.flags.c_contiguous and image.flags.writeable):
        image = image.copy()  # kernels are compiled for one kind of array; a read-only one would be another
    return change(image)


def _luminance(image: Image) -> Image:
    return np.asarray(np.rint(image @ LUMINANCE), np.uint8)[:, :, np.newaxis]
