"""Noise, blur and weather of NOC's candidates."""

from __future__ import annotations

import numpy as np

from brittle._types import Field, Key, Pixels
from brittle.corruptions.images import Draws
from brittle.corruptions.kernels.arithmetic import compiled, level, mix, rounding
from brittle.corruptions.kernels.noise import replace_with_extremes
from brittle.corruptions.kernels.random_words import normal_table, quarter, word
from brittle.corruptions.kernels.shapes import DISC, stamp_whitening
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly, integers, levels


def mean_filter(image: Pixels, width: float, passes: int) -> Field:
    """Average over a width×width square `passes` times, in grey levels.

    What a pass spreads beyond the frame is lost, and the next pass finds black there again. The width is a real
    number of at least 1: the outermost pixels of the square then count in part.
    """
    height, columns, channels = image.shape
    half = (width - 1) / 2
    reach = int(half)
    edge, share = np.float32(half - reach), np.float32(1 / width**passes)
    rows = image.reshape(height, columns * channels)
    return _mean_filter(rows, channels, reach, edge, share, passes).reshape(image.shape)


@compiled
def _mean_filter(rows, channels, reach, edge, share, passes):
    height, length = rows.shape
    above = reach + 1
    margin = above * channels
    one = np.zeros((height + 2 * above, length), np.float32)
    other = np.zeros((height + 2 * above, length), np.float32)
    line = np.zeros(length + 2 * margin, np.float32)
    total = np.empty(length, np.float32)
    for y in range(height):
        middle = line[margin : margin + length]
        source = rows[y]
        for x in range(length):
            middle[x] = np.float32(source[x])
        for _ in range(passes):
            for x in range(length):
                total[x] = middle[x]
            for k in range(1, reach + 1):
                _add(total, line[margin - k * channels :], line[margin + k * channels :])
            if edge > 0:
                _add_part(total, edge, line, line[2 * margin :])
            for x in range(length):
                middle[x] = total[x]
        target = one[y + above]
        for x in range(length):
            target[x] = middle[x] * share
    for _ in range(passes):
        for y in range(above, above + height):
            source, target = one[y], other[y]
            for x in range(length):
                target[x] = source[x]
            for k in range(1, reach + 1):
                _add(target, one[y - k], one[y + k])
            if edge > 0:
                _add_part(target, edge, one[y - above], one[y + above])
        one, other = other, one
    out = np.empty((height, length), np.float32)
    for y in range(height):
        source, target = one[y + above], out[y]
        for x in range(length):
            target[x] = source[x] * share
    return out


@compiled
def _add(target, before, after):
    for i in range(len(target)):
        target[i] += before[i] + after[i]


@compiled
def _add_part(target, part, before, after):
    for i in range(len(target)):
        target[i] += part * (before[i] + after[i])


def add_half_normal(image: Pixels, key: Key, scale: float) -> Pixels:
    """image + scale·|n| with standard normal n for every element; `scale` in grey levels."""
    return _add_half_normal(image, key, np.float32(scale), normal_table())


@compiled
def _add_half_normal(image, key, scale, table):
    out = np.empty(image.shape, image.dtype)
    source, target = image.reshape(-1), out.reshape(-1)
    count, half = source.size, rounding(out)
    for block in range(count // 4):
        bits = word(key, block)
        for q in range(4):
            i = 4 * block + q
            target[i] = level(np.float32(source[i]) + scale * abs(table[quarter(bits, q)])) + half
    for i in range(count // 4 * 4, count):
        normal = table[quarter(word(key, i // 4), i % 4)]
        target[i] = level(np.float32(source[i]) + scale * abs(normal)) + half
    return out


@corruption(
    family="blur",
    source="noc",
    full_depth=True,
    weight=evenly(0.95, first=0.4, clean=0, furthest=1),
    width=levels(3, 3, 3, 3, 3, clean=None, px=1),
)
def blur(image: Pixels, rng: Draws, *, weight: float, width: float) -> Pixels:  # noqa: ARG001
    """A haze of blur: the picture mixed with a copy of itself that went through a 3×3 mean filter five times.

    Severity is the weight of the blurred copy. Quirk kept: outside the frame it is black, in each of the five passes,
    so a dark rim appears. On images larger than 224 px the filter grows with the shorter side; on smaller ones it
    stays 3×3.
    """
    return mix(image, mean_filter(image, max(width, 3.0), passes=5), weight)


@corruption(
    family="noise", source="noc", full_depth=True, channels="any", sigma=evenly(0.18, first=0.05, clean=0, furthest=1)
)
def gaussian(image: Pixels, rng: Draws, *, sigma: float) -> Pixels:
    """Noise that only brightens: |n| with n normal of standard deviation σ, for every pixel and channel.

    Quirk kept: the paper says zero-mean noise, the code takes the absolute value, so the picture also gets brighter,
    by 0.8 σ on average.
    """
    return add_half_normal(image, rng.key("noise"), 255 * sigma)


@corruption(
    family="noise",
    source="noc",
    full_depth=True,
    channels="any",
    amount=evenly(0.032, first=0.003, clean=0, furthest=1),
)
def salt_pepper(image: Pixels, rng: Draws, *, amount: float) -> Pixels:
    """Sparse specks: a share of all values becomes 0 or 255, at even odds; at most 3 of 100.

    Channels are hit separately, so the specks are coloured.
    """
    return replace_with_extremes(image, rng.key("specks"), amount)


@corruption(
    family="weather",
    source="noc",
    full_depth=True,
    count=integers(12, 120, clean=0, furthest=1000),
    pixel=levels(1, 1, 1, 1, 1, clean=None, px=1),
)
def rain(image: Pixels, rng: Draws, *, count: float, pixel: float) -> Pixels:
    """Drops on the lens: discs that draw what they cover half-way to white.

    Quirks kept: where drops overlap, each halves the rest again; they are 13 pixels across, the paper says radius 7.
    Lengths grow with the shorter side of the image, the number stays.
    """
    return stamp_whitening(image, DISC, rng.key("drops"), int(count), pixel)
