"""Changes that depend on the grey level alone: 256 answers, looked up."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from brittle.arrays import Image

GREYS: NDArray[np.float64] = np.arange(256, dtype=np.float64)


def through_table(image: Image, values: NDArray[Any]) -> Image:
    """Replace grey level g by values[g], clipped and truncated; `values` is 256, or 256×C for a table a channel."""
    table = np.clip(values, 0, 255).astype(np.uint8)
    if table.ndim == 2 and table.shape[1] > 1:
        table = np.ascontiguousarray(table[np.newaxis])
    return np.asarray(cv2.LUT(image, table), np.uint8).reshape(image.shape)


def look_up(image: Image, table: Image) -> Image:
    """Replace every grey level by its entry in a table of 256 bytes."""
    if image.size == 0:
        return image.copy()
    return np.asarray(cv2.LUT(image.reshape(len(image), -1), table), np.uint8).reshape(image.shape)
