"""Operations that give the pixels of Pillow's."""

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
    """Away from (above 1) or towards (below 1) the mean grey of each image."""
    tall = _tall(images)
    shape = np.shape(images)
    grey = np.asarray(tall.convert("L"), np.int64).reshape(-1, shape[-3] * shape[-2])
    mean = (grey.sum(1) / grey.shape[1] + 0.5).astype(np.uint8)
    flat = np.broadcast_to(mean[:, None, None, None], (len(mean), *shape[-3:]))
    return _back(Pil.blend(_tall(np.ascontiguousarray(flat)), tall, factor), images)


def colour(images: Image, factor: float) -> Image:
    """Away from or towards grey."""
    return _back(ImageEnhance.Color(_tall(images)).enhance(factor), images)


def sharpness(images: Image, factor: float) -> Image:
    """Away from or towards a smoothed image; the outermost pixels stay, as in Pillow."""
    out = _back(ImageEnhance.Sharpness(_tall(images)).enhance(factor), images).copy()
    shown = np.asarray(images, np.uint8)
    out[..., 0, :, :], out[..., -1, :, :] = shown[..., 0, :, :], shown[..., -1, :, :]  # of every image of the tall one
    return out


def _tall(images: Image) -> Pil.Image:
    shown = np.ascontiguousarray(images, np.uint8)
    return Pil.fromarray(shown.reshape(-1, *shown.shape[-2:]))


def _back(tall: Pil.Image, images: Image) -> Image:
    return np.asarray(tall, np.uint8).reshape(np.shape(images))


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


Matrix = tuple[float, float, float, float, float, float]
"""(a, b, c, d, e, f): the output at (x, y) is read at (ax + by + c, dx + ey + f), pixels from the top left corner."""


def affine(images: Image, matrix: Matrix) -> Image:
    """Read one image H×W×C, or each of a stack N×H×W×C, through one matrix; fractions of a grey level are cut off."""
    shown = np.ascontiguousarray(images, np.uint8)
    warped: Image = _affine(shown.reshape(-1, *shown.shape[-3:]), np.array(matrix, np.float64))
    return warped.reshape(shown.shape)


def rotate(images: Image, degrees: float) -> Image:
    """Turn counter-clockwise about the centre."""
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
