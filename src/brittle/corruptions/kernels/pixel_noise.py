"""Noise with one draw for all channels of a pixel."""

from __future__ import annotations

import numpy as np

from brittle.arrays import Image, Key
from brittle.corruptions.kernels.bytes import to_byte
from brittle.corruptions.kernels.compiled import compiled, inlined
from brittle.corruptions.kernels.words import normal_table, quarter, unit, word


def multiply_pixels(image: Image, key: Key, low: float, high: float) -> Image:
    """Scale each pixel by its own factor, uniform on [low, high)."""
    return _multiply_pixels(image, key, np.float32(low), np.float32(high - low))


@compiled
def _multiply_pixels(image, key, low, span):
    height, width, channels = image.shape
    out = np.empty(image.shape, np.uint8)
    for y in range(height):
        for x in range(width):
            factor = low + span * unit(word(key, y * width + x))
            for c in range(channels):
                out[y, x, c] = to_byte(np.float32(image[y, x, c]) * factor)
    return out


def sensor_noise(image: Image, key: Key, *, rate: float, hue: float) -> Image:
    """Noise of a sensor at high ISO, in HLS: photons lift the lightness, and the hue trembles.

    L ← L + n/255·(1 − L) with n drawn from Poisson(255·rate·σ_L), σ_L the standard deviation of L over the image;
    H ← H + normal(0, hue) in degrees. Takes colour images.
    """
    return _sensor_noise(image, key, rate, np.float32(hue / 60), normal_table())


@compiled
def _sensor_noise(image, key, rate, hue, table):
    height, width, _ = image.shape
    cumulative, start = _poisson(255 * rate * _lightness_deviation(image))
    last = len(cumulative) - 1
    out = np.empty(image.shape, np.uint8)
    for y in range(height):
        for x in range(width):
            bits = word(key, y * width + x)
            u = np.uint32(bits >> np.uint64(32))
            count = np.int64(start[u >> np.uint32(24)])
            while count < last and cumulative[count] <= u:
                count += 1
            turn = hue * table[quarter(bits, 0)]
            out[y, x, 0], out[y, x, 1], out[y, x, 2] = _shifted(image[y, x], np.float32(count), turn)
    return out


@compiled
def _lightness_deviation(image):
    """From sums of whole numbers, so that the order of summation cannot matter."""
    height, width, _ = image.shape
    total, squares = np.int64(0), np.int64(0)
    for y in range(height):
        for x in range(width):
            r, g, b = np.int64(image[y, x, 0]), np.int64(image[y, x, 1]), np.int64(image[y, x, 2])
            double = max(r, max(g, b)) + min(r, min(g, b))
            total += double
            squares += double * double
    mean = total / (height * width)
    return np.sqrt(max(squares / (height * width) - mean * mean, 0.0)) / 510


@compiled
def _poisson(rate):
    """2³²·P(count ≤ k), and at which k to start for each top byte."""
    count = int(rate + 8 * np.sqrt(rate)) + 12
    weights = np.zeros(count)
    mode = int(rate)
    weights[mode] = 1.0
    for k in range(mode, 0, -1):
        weights[k - 1] = weights[k] * k / rate
    for k in range(mode + 1, count):
        weights[k] = weights[k - 1] * rate / k
    share = 4294967296.0 / weights.sum()
    cumulative = np.empty(count, np.uint32)
    running = 0.0
    for k in range(count):
        running += weights[k] * share
        cumulative[k] = np.uint32(min(running, 4294967295.0))
    cumulative[count - 1] = np.uint32(4294967295)
    start = np.empty(256, np.uint16)
    k = 0
    for top in range(256):
        while k < count - 1 and cumulative[k] <= np.uint32(top << 24):
            k += 1
        start[top] = k
    return cumulative, start


@inlined
def _shifted(pixel, photons, turn):
    """One pixel through HLS, truncated; the hue in sixths of the circle."""
    one, six = np.float32(1), np.float32(6)
    scale = np.float32(1 / 255)
    r, g, b = np.float32(pixel[0]) * scale, np.float32(pixel[1]) * scale, np.float32(pixel[2]) * scale
    high, low = max(r, max(g, b)), min(r, min(g, b))
    chroma = high - low
    light = (high + low) * np.float32(0.5)
    lifted = min(light + photons * scale * (one - light), one)
    if chroma > 0:
        if high == r:
            h = (g - b) / chroma
        elif high == g:
            h = (b - r) / chroma + np.float32(2)
        else:
            h = (r - g) / chroma + np.float32(4)
        h += turn
        h -= six * np.floor(h / six)
        saturation = chroma / (one - abs(np.float32(2) * light - one))
        chroma = saturation * (one - abs(np.float32(2) * lifted - one))
    else:
        h = np.float32(0)
    base = lifted - chroma * np.float32(0.5)
    grey = np.float32(255.001)  # a hair more, so that a whole number is not truncated to the one below
    return (
        to_byte(grey * (base + chroma * _ramp(h, np.float32(0)))),
        to_byte(grey * (base + chroma * _ramp(h, np.float32(4)))),
        to_byte(grey * (base + chroma * _ramp(h, np.float32(2)))),
    )


@inlined
def _ramp(h, offset):
    """The share of the chroma that a channel has: red 1 at hue 0 and 6, green at 2, blue at 4."""
    at = h + offset
    if at >= np.float32(6):
        at -= np.float32(6)
    return min(max(abs(at - np.float32(3)) - np.float32(1), np.float32(0)), np.float32(1))
