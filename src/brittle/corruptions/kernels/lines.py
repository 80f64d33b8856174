"""Thin straight lines, anti-aliased."""

from __future__ import annotations

import math

import numpy as np

from brittle.arrays import Image, Key
from brittle.corruptions.kernels.compiled import compiled, inlined
from brittle.corruptions.kernels.words import unit, word


def draw_lines(image: Image, key: Key, count: int, angle: float, spread: float, reach: int, grey: int) -> Image:
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
                        image[y, x, c] = np.uint8(np.int32(value + cover * (grey - value)))
    return image
