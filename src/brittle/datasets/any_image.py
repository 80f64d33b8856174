"""Whatever other libraries hold as an image, as H×W×3 uint8."""

from __future__ import annotations

import io
from typing import Any

import numpy as np

from brittle.arrays import Image
from brittle.datasets.folder import BrokenImage, read_image


def any_image(value: Any) -> Image:
    """A Pillow image, an array (H×W×C), a tensor (C×H×W) or a Hugging Face {"bytes", "path"}, as H×W×3 uint8.

    Whole numbers are 0 to 255 and real ones 0 to 1; images with other values were normalised for a model, and are
    refused: brittle needs them as they are seen.
    """
    if isinstance(value, dict) and ("bytes" in value or "path" in value):
        data = value.get("bytes")
        return read_image(io.BytesIO(data) if data is not None else value["path"])
    if hasattr(value, "getbands") and hasattr(value, "convert"):
        return _pillow(value)
    tensor = hasattr(value, "detach")
    array = np.asarray(value.detach().cpu().numpy() if tensor else value)
    if array.ndim == 2:
        array = array[..., None]
    if array.ndim != 3:
        raise TypeError(f"an image has 2 or 3 dimensions, got {type(value).__name__} of shape {np.shape(value)}")
    if tensor and array.shape[0] in (1, 3, 4) and np.ndim(value) == 3:
        array = array.transpose(1, 2, 0)
    if array.shape[2] not in (1, 3, 4):
        raise ValueError(f"an image has 1 or 3 channels, last in an array and first in a tensor, got {np.shape(value)}")
    array = _bytes(array[..., :3])
    return np.ascontiguousarray(array if array.shape[2] == 3 else np.repeat(array, 3, axis=2))


def _pillow(picture: Any) -> Image:
    try:
        if picture.mode.startswith(("I", "F")):
            stream = io.BytesIO()
            picture.save(stream, "TIFF")
            return read_image(stream)
        return np.asarray(picture.convert("RGB"), np.uint8)
    except OSError as error:  # Pillow decodes only now
        raise BrokenImage(" ".join(str(error).split())) from error


def _bytes(array: Any) -> Image:
    if array.dtype == np.uint8:
        return np.asarray(array, np.uint8)
    low, high = float(array.min()), float(array.max())
    real = np.issubdtype(array.dtype, np.floating)
    top = 1 if real else 255
    if not (low >= 0 and high <= top):
        raise ValueError(
            f"an image of {array.dtype} has values from 0 to {top}, got {low:g} to {high:g}; "
            "give it without normalisation"
        )
    return np.asarray(np.rint(array * 255) if real else array).astype(np.uint8)
