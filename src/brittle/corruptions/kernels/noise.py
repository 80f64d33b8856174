"""Noise: one draw a pixel, Poisson counts, and noise with a spectrum."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brittle._types import Field, Image, Key, Pixels
from brittle.corruptions.kernels.arithmetic import PI, compiled, cosine, inlined, level, sine, to_byte
from brittle.corruptions.kernels.layers import enlarge
from brittle.corruptions.kernels.random_words import normal_table, quarter, unit, word


def add_normal(image: Pixels, key: Key, *, constant: float = 0.0, gain: float = 0.0) -> Pixels:
    """image + (constant + gain·image)·n with standard normal n for every element; `constant` in grey levels."""
    return _add_normal(image, key, np.float32(constant), np.float32(gain), normal_table())


@compiled
def _add_normal(image, key, constant, gain, table):
    out = np.empty(image.shape, image.dtype)
    source, target = image.reshape(-1), out.reshape(-1)
    count = source.size
    for block in range(count // 4):
        bits = word(key, block)
        for q in range(4):
            grey = _noisy(source[4 * block + q], table[quarter(bits, q)], constant, gain)
            target[4 * block + q] = level(grey)
    for i in range(count // 4 * 4, count):
        target[i] = level(_noisy(source[i], table[quarter(word(key, i // 4), i % 4)], constant, gain))
    return out


@inlined
def _noisy(value, normal, constant, gain):
    grey = np.float32(value)
    return grey + (constant + gain * grey) * normal


def replace_with_extremes(image: Pixels, key: Key, amount: float) -> Pixels:
    """Replace each element with probability `amount` by 0 or 255, at even odds."""
    return _replace_with_extremes(image, key, np.uint64(round(amount * 2**31)))


@compiled
def _replace_with_extremes(image, key, threshold):
    out = np.empty(image.shape, image.dtype)
    source, target = image.reshape(-1), out.reshape(-1)
    count = source.size
    for i in range(count):
        half = (word(key, i // 2) >> np.uint64(32 * (i % 2))) & np.uint64(0xFFFFFFFF)
        extreme = np.uint8(255) if half & np.uint64(1) else np.uint8(0)
        target[i] = extreme if (half >> np.uint64(1)) < threshold else source[i]
    return out


def multiply_pixels(image: Pixels, key: Key, low: float, high: float) -> Pixels:
    """Scale each pixel by its own factor, uniform on [low, high)."""
    return _multiply_pixels(image, key, np.float32(low), np.float32(high - low))


@compiled
def _multiply_pixels(image, key, low, span):
    height, width, channels = image.shape
    out = np.empty(image.shape, image.dtype)
    for y in range(height):
        for x in range(width):
            factor = low + span * unit(word(key, y * width + x))
            for c in range(channels):
                out[y, x, c] = level(np.float32(image[y, x, c]) * factor)
    return out


def sensor_noise(image: Image, key: Key, *, rate: float, hue: float) -> Image:
    """Noise of a sensor at high ISO, in HLS: photons lift the lightness, and the hue trembles.

    L ← L + n/255·(1 − L) with n drawn from Poisson(255·rate·σ_L), σ_L the standard deviation of L over the image;
    H ← H + normal(0, hue) in degrees. Takes colour images.
    """
    photons = 255 * rate * _lightness_deviation(image)
    count = int(photons + 8 * math.sqrt(photons)) + 12
    cumulative, start = np.empty(count, np.uint32), np.empty(256, np.uint16)
    _poisson(photons, np.zeros(count), cumulative, start)
    out = np.empty_like(image)
    _sensor_noise(image, key, cumulative, start, np.float32(hue / 60), normal_table(), out)
    return out


@compiled
def _sensor_noise(image, key, cumulative, start, hue, table, out):
    height, width, _ = image.shape
    last = len(cumulative) - 1
    for y in range(height):
        for x in range(width):
            bits = word(key, y * width + x)
            u = np.uint32(bits >> np.uint64(32))
            count = np.int64(start[u >> np.uint32(24)])
            while count < last and cumulative[count] <= u:
                count += 1
            turn = hue * table[quarter(bits, 0)]
            out[y, x, 0], out[y, x, 1], out[y, x, 2] = _shifted(image[y, x], np.float32(count), turn)


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
def _poisson(rate, weights, cumulative, start):
    """2³²·P(count ≤ k), and at which k to start for each top byte; `weights` are zeros to work with."""
    count = len(weights)
    mode = int(rate)
    weights[mode] = 1.0
    for k in range(mode, 0, -1):
        weights[k - 1] = weights[k] * k / rate
    for k in range(mode + 1, count):
        weights[k] = weights[k - 1] * rate / k
    total = 0.0
    for k in range(count):
        total += weights[k]
    share = 4294967296.0 / total
    running = 0.0
    for k in range(count):
        running += weights[k] * share
        cumulative[k] = np.uint32(min(running, 4294967295.0))
    cumulative[count - 1] = np.uint32(4294967295)
    k = 0
    for top in range(256):
        while k < count - 1 and cumulative[k] <= np.uint32(top << 24):
            k += 1
        start[top] = k


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


NO_NOISE = 1e9
"""From here on no count differs from its mean by a grey level."""

MANY_PHOTONS = 2000.0
"""From here on a count is drawn as a rounded normal variate: the tables would only grow."""


def count_photons(image: Pixels, key: Key, photons: float) -> Pixels:
    """Poisson(photons·x)/photons for x in [0, 1], by inverting the distribution at one uniform per element.

    The uniform belongs to the element, so fewer photons make the same noise field stronger.
    """
    if photons > NO_NOISE:
        return image.copy()
    if photons > MANY_PHOTONS:
        return _normal_counts(image, key, photons, normal_table())
    if image.dtype == np.uint8:
        return _poisson_counts(image, key, *_tables(photons))
    return _poisson_sums(image, key, *_tables(photons)[:3], photons / 255)


@lru_cache(maxsize=64)
def _tables(photons: float) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], NDArray[Any]]:
    half_width = math.ceil(7 * math.sqrt(photons) + 7)
    tables: tuple[NDArray[Any], ...] = _invert(photons, 2 * half_width + 1, half_width)
    greys = np.minimum(np.arange(256 + 4 * half_width + int(photons)) / photons, 1) * 255
    return tables[0], tables[1], tables[2], greys.astype(np.uint8)


@compiled
def _invert(photons, width, half_width):
    """Per grey level: the smallest count considered, 2³²·P(count ≤ k), and where to start for each top byte."""
    first = np.empty(256, np.int32)
    cumulative = np.empty((256, width), np.uint32)
    start = np.empty((256, 256), np.uint16)
    weights = np.empty(width, np.float64)
    for grey in range(256):
        rate = photons * grey / 255.0
        mode = int(rate)
        low = max(0, mode - half_width)
        first[grey] = low
        weights[:] = 0.0
        weights[mode - low] = 1.0
        for k in range(mode, low, -1):
            weights[k - 1 - low] = weights[k - low] * k / rate
        for k in range(mode + 1, low + width):
            weights[k - low] = weights[k - 1 - low] * rate / k
        total = weights.sum()
        running = 0.0
        for j in range(width):
            running += weights[j]
            cumulative[grey, j] = np.uint32(min(running / total * 4294967296.0, 4294967295.0))
        cumulative[grey, width - 1] = np.uint32(4294967295)
        j = 0
        for top in range(256):
            while cumulative[grey, j] <= np.uint32(top << 24) and j < width - 1:
                j += 1
            start[grey, top] = j
    return first, cumulative, start


@compiled
def _poisson_counts(image, key, first, cumulative, start, greys):
    out = np.empty(image.shape, np.uint8)
    source, target = image.reshape(-1), out.reshape(-1)
    last = cumulative.shape[1] - 1
    for i in range(source.size):
        half = (word(key, i // 2) >> np.uint64(32 * (i % 2))) & np.uint64(0xFFFFFFFF)
        u = np.uint32(min(half, np.uint64(0xFFFFFFFE)))  # less than the end of every table
        grey = source[i]
        j = np.int64(start[grey, u >> np.uint32(24)])
        while j < last and cumulative[grey, j] <= u:
            j += 1
        target[i] = greys[first[grey] + j]
    return out


@compiled
def _poisson_sums(image, key, first, cumulative, start, photons_per_grey):
    """As `_poisson_counts`, and for the fraction of a grey level the few photons of a second draw, which add up."""
    out = np.empty(image.shape, image.dtype)
    source, target = image.reshape(-1), out.reshape(-1)
    last = cumulative.shape[1] - 1
    for i in range(source.size):
        half = (word(key, i // 2) >> np.uint64(32 * (i % 2))) & np.uint64(0xFFFFFFFF)
        u = np.uint32(min(half, np.uint64(0xFFFFFFFE)))
        grey = np.int64(source[i])
        j = np.int64(start[grey, u >> np.uint32(24)])
        while j < last and cumulative[grey, j] <= u:
            j += 1
        count = first[grey] + j
        rate = (source[i] - grey) * photons_per_grey
        if rate > 0:
            left = (word(key, (np.uint64(1) << np.uint64(40)) + np.uint64(i)) >> np.uint64(11)) * 2.0**-53
            share = math.exp(-rate)
            more = 0
            while left >= share and more < 200:
                left -= share
                more += 1
                share *= rate / more
            count += more
        target[i] = level(np.float32(count / (photons_per_grey * 255.0) * 255.0))
    return out


@compiled
def _normal_counts(image, key, photons, table):
    out = np.empty(image.shape, image.dtype)
    source, target = image.reshape(-1), out.reshape(-1)
    for i in range(source.size):
        u = (word(key, i // 2) >> np.uint64(32 * (i % 2))) & np.uint64(0xFFFFFFFF)
        rate = photons * source[i] / 255.0
        count = np.rint(rate + np.sqrt(rate) * table[u >> np.uint64(16)])
        target[i] = level(np.float32(count / photons * 255.0))
    return out


LARGEST = 1024
"""The longest side of a field that is drawn as it is, which is what keeps 12 megapixels below a second."""


def blue_noise(key: Key, height: int, width: int) -> Field:
    """Amplitude ∝ frequency. Longer images see a tile again: the field is periodic, and has no large structure."""
    tile = _draw(key, min(height, LARGEST), min(width, LARGEST), True)
    repeats = (-(-height // LARGEST), -(-width // LARGEST))
    return tile if repeats == (1, 1) else np.ascontiguousarray(np.tile(tile, repeats)[:height, :width])


def brown_noise(key: Key, height: int, width: int) -> Field:
    """Amplitude 1/(1 + frequency²). Larger images see it enlarged: it has next to no fine structure."""
    field = _draw(key, min(height, LARGEST), min(width, LARGEST), False)
    if field.shape == (height, width):
        return field
    return enlarge(field, height, width)


def _draw(key: Key, height: int, width: int, blue: bool) -> Field:
    """One field, divided by its standard deviation; its mean is not removed."""
    field = np.fft.irfft2(_spectrum(key, height, width, blue), s=(height, width))
    return _standardise(np.asarray(field, np.float32))


@compiled
def _spectrum(key, height, width, blue):
    """The Hermitian part of the published spectrum, columns 0 … W/2: its transform is the real part of theirs.

    The published array holds the phases with frequency 0 in its middle, and its right half is the left half turned
    by 180° about the middle of the *array*, with the same sign. So it is not Hermitian, nor is a phase shared
    by opposite frequencies.
    """
    half, middle = width // 2, height // 2
    columns = half + width % 2
    real, imaginary = np.empty((height, columns)), np.empty((height, columns))
    for y in range(height):
        for x in range(columns):
            real[y, x] = 2 * PI * unit(word(key, y * columns + x))
    if width % 2:
        real[middle, half] = 0 if height % 2 else real[middle, half]
        for y in range(height - middle, height):
            real[y, half] = real[height - 1 - y, half]
    for y in range(height):
        phases, heights = real[y], imaginary[y]
        for x in range(columns):
            heights[x] = sine(phases[x])
            phases[x] = cosine(phases[x])
    out = np.empty((height, half + 1), np.complex64)
    for ky in range(height):
        y = (ky + middle) % height
        dy = y - middle
        opposite_y = (2 * middle - y) % height
        for kx in range(half + 1):
            x = (kx + half) % width
            dx = x - half
            opposite_x = (2 * half - x) % width
            square = float(dy * dy + dx * dx)
            size = np.sqrt(square) if blue else 1 / (square + 1)
            a, b = _at(y, x, height, width, columns)
            p, q = _at(opposite_y, opposite_x, height, width, columns)
            out[ky, kx] = complex(size * (real[a, b] + real[p, q]), size * (imaginary[a, b] - imaginary[p, q]))
    return out


@inlined
def _at(y, x, height, width, columns):
    """Where the left half, with the middle column of an odd width, holds the phase of an element."""
    return (y, x) if x < columns else (height - 1 - y, width - 1 - x)


@compiled
def _standardise(field):
    height, width = field.shape
    total = 0.0
    for y in range(height):
        part = 0.0
        for x in range(width):
            part += field[y, x]
        total += part
    mean = total / (height * width)
    total = 0.0
    for y in range(height):
        part = 0.0
        for x in range(width):
            part += (field[y, x] - mean) ** 2
        total += part
    deviation = np.sqrt(total / (height * width))
    scale = np.float32(1 / deviation) if deviation > 0 else np.float32(0)
    for y in range(height):
        row = field[y]
        for x in range(width):
            row[x] *= scale
    return field
