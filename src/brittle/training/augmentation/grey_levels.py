"""Changes of grey levels by a table: one for all images, or one for each channel of each image.

All of them take one image H×W×C or a stack N×H×W×C, and give to the grey level what Pillow gives for each image.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pil
from PIL import ImageEnhance, ImageOps

from brittle.arrays import Image
from brittle.corruptions.kernels.compiled import compiled
from brittle.corruptions.kernels.grey_table import look_up

RAMP = Pil.fromarray(np.arange(256, dtype=np.uint8)[np.newaxis])
"""Every grey level once: what Pillow makes of it is the table for all images."""

LEVELS: NDArray[np.float64] = np.arange(256, dtype=np.float64)


def posterize(images: Image, bits: int) -> Image:
    """Keep the highest bits."""
    return _same(images, ImageOps.posterize(RAMP, bits))


def solarize(images: Image, threshold: float) -> Image:
    """Invert values from a threshold upwards."""
    return _same(images, ImageOps.solarize(RAMP, threshold))  # type: ignore[arg-type]  # it only compares


def invert(images: Image) -> Image:
    """255 − x."""
    return _same(images, ImageOps.invert(RAMP))


def brightness(images: Image, factor: float) -> Image:
    """Scale, saturating."""
    return _same(images, ImageEnhance.Brightness(RAMP).enhance(factor))


def autocontrast(images: Image) -> Image:
    """Stretch each channel of each image to the full range; a channel of one grey level stays."""
    there = _histograms(images) > 0
    low, high = there.argmax(-1), 255 - there[..., ::-1].argmax(-1)
    flat = high <= low
    scale = 255.0 / np.where(flat, 1, high - low)
    tables = np.clip(LEVELS * scale[..., None] + (-low * scale)[..., None], 0, 255)
    return _each(images, np.where(flat[..., None], LEVELS, tables))


def equalize(images: Image) -> Image:
    """Flatten the histogram of each channel of each image; one with too few pixels for that stays."""
    found = _histograms(images)
    below = found.cumsum(-1) - found
    last = 255 - (found[..., ::-1] > 0).argmax(-1)
    step = np.take_along_axis(below, last[..., None], -1) // 255
    tables = np.minimum((step // 2 + below) // np.maximum(step, 1), 255)
    return _each(images, np.where(step == 0, LEVELS.astype(np.int64), tables))


def _same(images: Image, table: Pil.Image) -> Image:
    return look_up(np.asarray(images, np.uint8), np.asarray(table).ravel())


def _each(images: Image, tables: NDArray[Any]) -> Image:
    shown = np.ascontiguousarray(images, np.uint8)
    changed: Image = _through(shown.reshape(-1, *shown.shape[-3:]), tables.astype(np.uint8))
    return changed.reshape(shown.shape)


def _histograms(images: Image) -> NDArray[np.int64]:
    shown = np.ascontiguousarray(images, np.uint8)
    counts: NDArray[np.int64] = _counts(shown.reshape(-1, *shown.shape[-3:]))
    return counts


@compiled
def _counts(stack: Any) -> Any:
    count, height, width, channels = stack.shape
    out = np.zeros((count, channels, 256), np.int64)
    for i in range(count):
        for y in range(height):
            for x in range(width):
                for c in range(channels):
                    out[i, c, stack[i, y, x, c]] += 1
    return out


@compiled
def _through(stack: Any, tables: Any) -> Any:
    count, height, width, channels = stack.shape
    out = np.empty(stack.shape, np.uint8)
    for i in range(count):
        for y in range(height):
            for x in range(width):
                for c in range(channels):
                    out[i, y, x, c] = tables[i, c, stack[i, y, x, c]]
    return out
