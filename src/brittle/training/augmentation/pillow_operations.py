"""Operations on stacks of images with the same pixels as Pillow's."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pil
from PIL import ImageEnhance, ImageOps

from brittle._types import Image
from brittle.corruptions.kernels.arithmetic import compiled
from brittle.corruptions.kernels.colour import look_up


def contrast(images: Image, factor: float) -> Image:
    """Blend away from (factor above 1) or towards (below 1) the mean grey of each image."""
    tall = _tall(images)
    shape = np.shape(images)
    grey = np.asarray(tall.convert("L"), np.int64).reshape(-1, shape[-3] * shape[-2])
    mean = (grey.sum(1) / grey.shape[1] + 0.5).astype(np.uint8)
    flat = np.broadcast_to(mean[:, None, None, None], (len(mean), *shape[-3:]))
    return _unstack(Pil.blend(_tall(np.ascontiguousarray(flat)), tall, factor), images)


def colour(images: Image, factor: float) -> Image:
    """Blend away from or towards the grey image."""
    return _unstack(ImageEnhance.Color(_tall(images)).enhance(factor), images)


def sharpness(images: Image, factor: float) -> Image:
    """Blend away from or towards a smoothed image; the outermost pixels are unchanged, as in Pillow."""
    out = _unstack(ImageEnhance.Sharpness(_tall(images)).enhance(factor), images).copy()
    pixels = np.asarray(images, np.uint8)
    out[..., 0, :, :], out[..., -1, :, :] = pixels[..., 0, :, :], pixels[..., -1, :, :]  # of each image in the tall one
    return out


def _tall(images: Image) -> Pil.Image:
    pixels = np.ascontiguousarray(images, np.uint8)
    return Pil.fromarray(pixels.reshape(-1, *pixels.shape[-2:]))


def _unstack(tall: Pil.Image, images: Image) -> Image:
    return np.asarray(tall, np.uint8).reshape(np.shape(images))


RAMP = Pil.fromarray(np.arange(256, dtype=np.uint8)[np.newaxis])
"""Every grey level once: Pillow's result on it is the lookup table for all images."""

LEVELS: NDArray[np.float64] = np.arange(256, dtype=np.float64)


def posterize(images: Image, bits: int) -> Image:
    """Keep the highest bits."""
    return _one_table(images, ImageOps.posterize(RAMP, bits))


def solarize(images: Image, threshold: float) -> Image:
    """Invert values from a threshold upwards."""
    return _one_table(images, ImageOps.solarize(RAMP, threshold))  # type: ignore[arg-type]  # only compared


def invert(images: Image) -> Image:
    """255 − x."""
    return _one_table(images, ImageOps.invert(RAMP))


def brightness(images: Image, factor: float) -> Image:
    """Scale, saturating."""
    return _one_table(images, ImageEnhance.Brightness(RAMP).enhance(factor))


def autocontrast(images: Image) -> Image:
    """Stretch each channel of each image to the full range; a channel of one grey level is unchanged."""
    present = _histograms(images) > 0
    low, high = present.argmax(-1), 255 - present[..., ::-1].argmax(-1)
    flat = high <= low
    scale = 255.0 / np.where(flat, 1, high - low)
    tables = np.clip(LEVELS * scale[..., None] + (-low * scale)[..., None], 0, 255)
    return _table_per_channel(images, np.where(flat[..., None], LEVELS, tables))


def equalize(images: Image) -> Image:
    """Flatten the histogram of each channel of each image; one with too few pixels is unchanged."""
    counts = _histograms(images)
    below = counts.cumsum(-1) - counts
    last = 255 - (counts[..., ::-1] > 0).argmax(-1)
    step = np.take_along_axis(below, last[..., None], -1) // 255
    tables = np.minimum((step // 2 + below) // np.maximum(step, 1), 255)
    return _table_per_channel(images, np.where(step == 0, LEVELS.astype(np.int64), tables))


def _one_table(images: Image, table: Pil.Image) -> Image:
    return look_up(np.asarray(images, np.uint8), np.asarray(table).ravel())


def _table_per_channel(images: Image, tables: NDArray[Any]) -> Image:
    pixels = np.ascontiguousarray(images, np.uint8)
    changed: Image = _apply_tables(pixels.reshape(-1, *pixels.shape[-3:]), tables.astype(np.uint8))
    return changed.reshape(pixels.shape)


def _histograms(images: Image) -> NDArray[np.int64]:
    pixels = np.ascontiguousarray(images, np.uint8)
    counts: NDArray[np.int64] = _counts(pixels.reshape(-1, *pixels.shape[-3:]))
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
def _apply_tables(stack: Any, tables: Any) -> Any:
    count, height, width, channels = stack.shape
    out = np.empty(stack.shape, np.uint8)
    for i in range(count):
        for y in range(height):
            for x in range(width):
                for c in range(channels):
                    out[i, y, x, c] = tables[i, c, stack[i, y, x, c]]
    return out


Matrix = tuple[float, float, float, float, float, float]
"""(a, b, c, d, e, f): the output at (x, y) is read at (ax + by + c, dx + ey + f), pixels from the top left corner."""


def affine(images: Image, matrix: Matrix) -> Image:
    """Warp one image H×W×C, or each of a stack N×H×W×C, by one matrix; grey levels are truncated."""
    pixels = np.ascontiguousarray(images, np.uint8)
    warped: Image = _affine(pixels.reshape(-1, *pixels.shape[-3:]), np.array(matrix, np.float64))
    return warped.reshape(pixels.shape)


def rotate(images: Image, degrees: float) -> Image:
    """Rotate counter-clockwise about the centre."""
    height, width = np.shape(images)[-3:-1]
    angle = -math.radians(degrees)
    cos, sin = round(math.cos(angle), 15), round(math.sin(angle), 15)
    x, y = width / 2, height / 2
    return affine(images, (cos, sin, x - cos * x - sin * y, -sin, cos, y + sin * x - cos * y))


@compiled
def _affine(stack: Any, matrix: Any) -> Any:
    count, height, width, channels = stack.shape
    out = np.zeros(stack.shape, np.uint8)
    for y in range(height):
        for x in range(width):
            sx = matrix[0] * (x + 0.5) + matrix[1] * (y + 0.5) + matrix[2]
            sy = matrix[3] * (x + 0.5) + matrix[4] * (y + 0.5) + matrix[5]
            if not (0 <= sx < width and 0 <= sy < height):
                continue
            sx -= 0.5
            sy -= 0.5
            left, top = int(np.floor(sx)), int(np.floor(sy))
            u, v = sx - left, sy - top
            right, bottom = min(left + 1, width - 1), min(top + 1, height - 1)
            left, top = max(left, 0), max(top, 0)
            for i in range(count):
                for c in range(channels):
                    a, b = np.float64(stack[i, top, left, c]), np.float64(stack[i, top, right, c])
                    p, q = np.float64(stack[i, bottom, left, c]), np.float64(stack[i, bottom, right, c])
                    upper, lower = a + (b - a) * u, p + (q - p) * u
                    out[i, y, x, c] = np.uint8(upper + (lower - upper) * v)
    return out
