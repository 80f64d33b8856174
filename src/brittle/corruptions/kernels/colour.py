"""Colour: brightness, saturation, colour spaces, tables of grey levels, hue."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from brittle._types import Image, Pixels
from brittle.corruptions.kernels.arithmetic import compiled, mix, nearest_bytes, to_byte, to_nearest_byte


def shift_value(image: Pixels, shift: float) -> Pixels:
    """Add to V of HSV: each pixel is scaled so that its largest channel grows by `shift`; black becomes grey."""
    if image.dtype != np.uint8:
        value = image.max(axis=2, keepdims=True)
        target = np.clip(value + np.float32(255 * shift), 0, 255)
        gain = np.divide(target, value, out=np.zeros_like(value), where=value > 0)
        return np.where(image == value, target, image * gain)
    return _shift_value(image, shift)


@compiled
def _shift_value(image, shift):
    height, width, channels = image.shape
    out = np.empty(image.shape, np.uint8)
    target = np.empty(256)
    ratio = np.empty(256)
    for v in range(256):
        target[v] = min(max(v / 255.0 + shift, 0.0), 1.0) * 255.0
        ratio[v] = target[v] / v if v else 0.0
    source, result, one, two, three = image.reshape(-1), out.reshape(-1), np.uint64(1), np.uint64(2), np.uint64(3)
    for i in range(np.uint64(height * width)):
        if channels == 3:
            r, g, b = source[three * i], source[three * i + one], source[three * i + two]
            v = max(r, max(g, b))
            high, gain = target[v], ratio[v]
            result[three * i] = np.uint8(np.int32(high if r == v else r * gain))
            result[three * i + one] = np.uint8(np.int32(high if g == v else g * gain))
            result[three * i + two] = np.uint8(np.int32(high if b == v else b * gain))
        else:
            result[i] = np.uint8(np.int32(target[source[i]]))
    return out


def change_saturation(image: Pixels, factor: float, shift: float) -> Pixels:
    """S ← clip(S·factor + shift) of HSV. A neutral grey counts as red, so a shift colours it."""
    return _change_saturation(image, factor, shift)


@compiled
def _change_saturation(image, factor, shift):
    height, width, _ = image.shape
    out = np.empty(image.shape, image.dtype)
    for y in range(height):
        for x in range(width):
            r, g, b = np.float64(image[y, x, 0]), np.float64(image[y, x, 1]), np.float64(image[y, x, 2])
            v, low = max(r, max(g, b)), min(r, min(g, b))
            spread = v - low
            saturation = spread / v if v > 0 else 0.0
            changed = min(max(saturation * factor + shift, 0.0), 1.0)
            if spread > 0:
                gain = changed / saturation
                r, g, b = v - (v - r) * gain, v - (v - g) * gain, v - (v - b) * gain
            else:
                g = b = v * (1 - changed)
            out[y, x, 0] = max(r, 0.0)
            out[y, x, 1] = max(g, 0.0)
            out[y, x, 2] = max(b, 0.0)
    return out


def convert(image: Image, code: int) -> Image:
    """From one colour space to another, such as cv2.COLOR_RGB2HSV: hue 0 … 179, the others 0 … 255."""
    return np.asarray(cv2.cvtColor(image, code), np.uint8)


def hsv_to_rgb(image: Image) -> Image:
    """From OpenCV's 8-bit HSV back to RGB, truncated as OpenCV does it, but the same on every CPU."""
    return _hsv_to_rgb(image)


@compiled
def _hsv_to_rgb(image):
    height, width, _ = image.shape
    out = np.empty(image.shape, np.uint8)
    for y in range(height):
        for x in range(width):
            hue = np.float32(image[y, x, 0]) * np.float32(6.0 / 180.0)
            fall = np.float32(image[y, x, 1]) / np.float32(255)
            value = np.float32(image[y, x, 2]) + np.float32(1e-3)  # whole values are not cut to the one below
            sector = int(hue)
            part = hue - np.float32(sector)
            low = value * (np.float32(1) - fall)
            falling = value * (np.float32(1) - fall * part)
            rising = value * (np.float32(1) - fall * (np.float32(1) - part))
            sector %= 6
            if sector == 0:
                r, g, b = value, rising, low
            elif sector == 1:
                r, g, b = falling, value, low
            elif sector == 2:
                r, g, b = low, value, rising
            elif sector == 3:
                r, g, b = low, falling, value
            elif sector == 4:
                r, g, b = rising, low, value
            else:
                r, g, b = value, low, falling
            out[y, x, 0], out[y, x, 1], out[y, x, 2] = to_byte(r), to_byte(g), to_byte(b)
    return out


GREYS: NDArray[np.float64] = np.arange(256, dtype=np.float64)


def through_table(image: Image, values: NDArray[Any]) -> Image:
    """Replace grey level g by values[g], clipped and truncated; `values` is 256, or 256×C for a table a channel."""
    table = np.clip(values, 0, 255).astype(np.uint8)
    if table.ndim == 2:
        table = np.ascontiguousarray(table[np.newaxis] if table.shape[1] > 1 else table[:, 0])
    return np.asarray(cv2.LUT(image, table), np.uint8).reshape(image.shape)


def through_curve(image: Pixels, curve: Callable[[NDArray[Any]], NDArray[Any]]) -> Pixels:
    """Replace grey level g by curve(g), clipped; bytes are truncated."""
    if image.dtype == np.uint8:
        return through_table(image, curve(GREYS))
    return np.clip(curve(image), 0, 255).astype(image.dtype)


def through_curves(image: Pixels, curve: Callable[[NDArray[Any]], NDArray[Any]]) -> Pixels:
    """Likewise with one curve for each channel: C numbers in it meet all grey levels as 256×1, or an image H×W×C."""
    if image.dtype == np.uint8:
        return through_table(image, curve(GREYS[:, np.newaxis]))
    return np.clip(curve(image), 0, 255).astype(image.dtype)


def through_nearest(image: Pixels, curve: Callable[[NDArray[Any]], NDArray[Any]]) -> Pixels:
    """As `through_curve`, but bytes are rounded to nearest, halves up."""
    if image.dtype == np.uint8:
        return look_up(image, nearest_bytes(curve(GREYS)))
    return np.clip(curve(image), 0, 255).astype(image.dtype)


def look_up(image: Image, table: Image) -> Image:
    """Replace every grey level by its entry in a table of 256 bytes."""
    if image.size == 0:
        return image.copy()
    return np.asarray(cv2.LUT(image.reshape(len(image), -1), table), np.uint8).reshape(image.shape)


def map_lightness(image: Image, values: NDArray[Any], where: Image | None = None) -> Image:
    """Replace lightness L by values[L], clipped and truncated, everywhere or where the mask is not 0.

    The way to 8-bit HLS and back costs a colour image about a grey level; a grey one loses nothing.
    """
    if image.shape[2] == 1:
        changed = through_table(image, values)
        return changed if where is None else np.where(where[:, :, np.newaxis] > 0, changed, image)
    hls = convert(image, cv2.COLOR_RGB2HLS)
    lightness = hls[:, :, 1]
    changed = through_table(np.ascontiguousarray(lightness), values)
    hls[:, :, 1] = changed if where is None else np.where(where > 0, changed, lightness)
    return convert(hls, cv2.COLOR_HLS2RGB)


def rotate_hue(image: Image, steps: int) -> Image:
    """Rotate the hue by steps/256 of the circle, on the way through HSV of 8 bits each.

    Hue and saturation are cut to whole 255ths on the way there and the colours rounded on the way back, so that a
    rotation by 0 also changes colours a little.
    """
    return _rotate_hue(image, steps % 256)


@compiled
def _rotate_hue(image, steps):
    height, width, _ = image.shape
    out = np.empty(image.shape, np.uint8)
    for y in range(height):
        source, target = image[y], out[y]
        for x in range(width):
            r, g, b = np.int32(source[x, 0]), np.int32(source[x, 1]), np.int32(source[x, 2])
            value, low = max(r, max(g, b)), min(r, min(g, b))
            if value == low:
                target[x, 0] = target[x, 1] = target[x, 2] = value
                continue
            spread = np.float32(value - low)
            saturation = np.int32(np.float64(spread / np.float32(value)) * 255.0)
            red = np.float32(value - r) / spread
            green = np.float32(value - g) / spread
            blue = np.float32(value - b) / spread
            if r == value:
                hue = np.float64(blue - green)
            elif g == value:
                hue = 2.0 + np.float64(red) - np.float64(blue)
            else:
                hue = 4.0 + np.float64(green) - np.float64(red)
            turn = np.float64(np.float32(hue)) / 6.0 + 1.0
            turn = np.float64(np.float32(turn - np.floor(turn)))
            angle = (np.int32(turn * 255.0) + steps) & 255
            sextant = angle * 6 // 255
            part = np.float64(np.float32(angle * 6.0 / 255.0 - sextant))
            strength = np.float64(np.float32(saturation / 255.0))
            p = np.int32(value * (1.0 - strength) + 0.5)
            q = np.int32(value * (1.0 - strength * part) + 0.5)
            t = np.int32(value * (1.0 - strength * (1.0 - part)) + 0.5)
            sextant %= 6
            if saturation == 0:
                p = q = t = value
            if sextant == 0:
                target[x, 0], target[x, 1], target[x, 2] = value, t, p
            elif sextant == 1:
                target[x, 0], target[x, 1], target[x, 2] = q, value, p
            elif sextant == 2:
                target[x, 0], target[x, 1], target[x, 2] = p, value, t
            elif sextant == 3:
                target[x, 0], target[x, 1], target[x, 2] = p, q, value
            elif sextant == 4:
                target[x, 0], target[x, 1], target[x, 2] = t, p, value
            else:
                target[x, 0], target[x, 1], target[x, 2] = value, p, q
    return out


def mix_with_luma(image: Pixels, weight: float) -> Pixels:
    """(1−w)·image + w·luma with the Rec. 601 luma; of bytes it is the whole number that Pillow's mode L has."""
    if image.dtype != np.uint8:
        luma = image @ (np.array([19595, 38470, 7471], np.float32) / np.float32(65536))
        return mix(image, np.repeat(luma[:, :, np.newaxis], 3, axis=2), weight)
    return _mix_with_luma(image, np.float32(weight))


@compiled
def _mix_with_luma(image, weight):
    height, width, _ = image.shape
    out = np.empty(image.shape, np.uint8)
    kept = np.float32(1) - weight
    for y in range(height):
        source, target = image[y], out[y]
        for x in range(width):
            r, g, b = np.int32(source[x, 0]), np.int32(source[x, 1]), np.int32(source[x, 2])
            luma = weight * np.float32((19595 * r + 38470 * g + 7471 * b + 32768) >> 16)
            target[x, 0] = to_nearest_byte(kept * np.float32(r) + luma)
            target[x, 1] = to_nearest_byte(kept * np.float32(g) + luma)
            target[x, 2] = to_nearest_byte(kept * np.float32(b) + luma)
    return out
