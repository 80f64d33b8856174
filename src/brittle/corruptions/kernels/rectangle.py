"""Axis-parallel rectangles with edges anywhere, also between pixels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from brittle.arrays import Field, Image


def black_rectangle(image: Image, top: float, bottom: float, left: float, right: float) -> Image:
    """Black inside; a pixel that the edge cuts is darkened by the share that is covered."""
    return _scaled(image, 1 - _cover(image, top, bottom, left, right))


def black_frame(image: Image, top: float, bottom: float, left: float, right: float) -> Image:
    """Black outside, likewise."""
    return _scaled(image, _cover(image, top, bottom, left, right))


def _cover(image: Image, top: float, bottom: float, left: float, right: float) -> Field:
    return np.outer(_overlap(image.shape[0], top, bottom), _overlap(image.shape[1], left, right))


def _overlap(length: int, start: float, end: float) -> Field:
    """How much of each pixel [i, i + 1] lies between start and end."""
    i: NDArray[np.float64] = np.arange(length, dtype=np.float64)
    return np.clip(np.minimum(i + 1, end) - np.maximum(i, start), 0, 1).astype(np.float32)


def _scaled(image: Image, share: Field) -> Image:
    return np.rint(image * share[:, :, np.newaxis]).astype(np.uint8)
