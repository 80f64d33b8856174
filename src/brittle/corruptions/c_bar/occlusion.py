"""Occlusion of C-bar."""

from __future__ import annotations

import math

import numpy as np

from brittle._types import Key, Pixels
from brittle.corruptions.images import Draws
from brittle.corruptions.kernels.arithmetic import compiled, inlined
from brittle.corruptions.kernels.noise import blue_noise
from brittle.corruptions.kernels.random_words import unit, word
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly


def draw_lines(image: Pixels, key: Key, count: int, angle: float, spread: float, reach: int, grey: int) -> Pixels:
    """Draw `count` lines through random places, `reach` to both sides, within ±spread·π of an angle.

    A pixel is covered by 1 minus its distance to the line between the two whole-numbered end points, inside the
    box that these span. Each line is blended and cut to 8 bit before the next.
    """
    return _draw_lines(image.copy(), key, count, angle, 2 * math.pi * spread, reach, np.float64(grey))


@inlined
def _clipped(low, high, length):
    """The part of an interval that lies in the frame, as a range."""
    return max(low, 0), min(high, length - 1) + 1


@compiled
def _draw_lines(image, key, count, angle, spread, reach, grey):
    height, width, channels = image.shape
    for line in range(count):
        row = np.float64(unit(word(key, 3 * line))) * height
        column = np.float64(unit(word(key, 3 * line + 1))) * width
        theta = angle + spread * (np.float64(unit(word(key, 3 * line + 2))) - 0.5)
        dr, dc = reach * math.cos(theta), reach * math.sin(theta)
        r0, c0, r1, c1 = int(row - dr), int(column - dc), int(row + dr), int(column + dc)
        steep = abs(r1 - r0) >= abs(c1 - c0)
        if not steep:  # walk along the longer axis: p runs, q crosses
            r0, c0, r1, c1 = c0, r0, c1, r1
        dp, dq = r1 - r0, c1 - c0
        length = max(math.sqrt(float(dp * dp + dq * dq)), 1.0)
        slope = dq / dp if dp else 0.0
        p_low, p_high = _clipped(min(r0, r1), max(r0, r1), height if steep else width)
        q_low, q_high = _clipped(min(c0, c1), max(c0, c1), width if steep else height)
        for p in range(p_low, p_high):
            near = math.floor(c0 + (p - r0) * slope)
            for q in range(max(near - 1, q_low), min(near + 3, q_high)):
                cover = 1 - abs(dp * (q - c0) - dq * (p - r0)) / length
                if cover > 0:
                    y, x = (p, q) if steep else (q, p)
                    for c in range(channels):
                        value = np.float64(image[y, x, c])
                        image[y, x, c] = value + cover * (grey - value)
    return image


def hide_squares(image: Pixels, key: Key, angle: float, cell: float, share: float, grey: int) -> Pixels:
    """Paint a share of the black squares of a board grey; which ones is drawn square by square.

    A square's flag is that of its coordinates cut towards 0, so the squares on both sides of 0 share theirs.
    """
    cells = int(4 * max(image.shape[:2]) // cell)
    return _hide_squares(image, key, np.cos(angle) / cell, np.sin(angle) / cell, cells, np.float32(share), grey)


@compiled
def _hide_squares(image, key, cosine, sine, cells, share, grey):
    height, width, channels = image.shape
    out = image.copy()
    for y in range(height):
        for x in range(width):
            u, v = y * cosine + x * sine, x * cosine - y * sine
            if (int(np.floor(u)) - int(np.floor(v))) % 2 == 0:
                square = int(u) % cells * cells + int(v) % cells
                if unit(word(key, square)) < share:
                    for c in range(channels):
                        out[y, x, c] = grey
    return out


@corruption(
    family="occlusion", source="c-bar", full_depth=True, fades=False, threshold=evenly(0.5, clean=-2.5, steps=10)
)
def blue_noise_sample(image: Pixels, rng: Draws, *, threshold: float) -> Pixels:
    """Pixels turn black, evenly scattered: those where blue noise is not above a threshold.

    Quirk kept: the threshold starts at −2.5 standard deviations, so just above severity 0 already 0.6 % are black.
    """
    height, width = image.shape[:2]
    kept = blue_noise(rng.key("phases"), height, width) > threshold
    return np.asarray(image * kept[:, :, np.newaxis], image.dtype)


@corruption(family="occlusion", source="c-bar", full_depth=True, fraction=evenly(1, clean=0, steps=10))
def checkerboard_cutout(image: Pixels, rng: Draws, *, fraction: float) -> Pixels:
    """Grey squares of a turned checkerboard hide parts of the picture; at the maximum every second square.

    Angle and size of the squares are drawn, and for each black square whether it is there. Quirk kept: the two
    squares next to 0 on either axis share their fate.
    """
    cell = max(rng.uniform("cell", 0.1, 0.25) * min(image.shape[:2]), 1.0)
    return hide_squares(image, rng.key("squares"), rng.uniform("angle", 0, 2 * math.pi), cell, fraction, 128)


@corruption(family="occlusion", source="c-bar", full_depth=True, line_count=evenly(224, clean=0, steps=10, px=1))
def lines(image: Pixels, rng: Draws, *, line_count: float) -> Pixels:
    """Thin grey lines cross the picture, more or less in one direction.

    Base angle and spread are drawn. Quirks kept: lines are one pixel wide at any size, and their number grows with
    the side instead; they end one side away from the point they go through; each is cut to 8 bit before the next.
    The coverage of a pixel is 1 minus its distance to the line, which is what scikit-image's `line_aa` gives.
    """
    angle, spread = rng.uniform("angle", 0, 2 * math.pi), rng.uniform("spread", 0.1, 1)
    count = math.floor(line_count + 1e-9)  # 0.1·s·side, free of rounding errors
    return draw_lines(image, rng.key("lines"), count, angle, spread, min(image.shape[:2]), 128)
