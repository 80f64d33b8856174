"""Noise that only brightens."""

from __future__ import annotations

import numpy as np

from brittle.arrays import Image, Key
from brittle.corruptions.kernels.compiled import compiled
from brittle.corruptions.kernels.rounding import to_nearest_byte
from brittle.corruptions.kernels.words import normal_table, quarter, word


def add_half_normal(image: Image, key: Key, scale: float) -> Image:
    """image + scale·|n| with standard normal n for every element, rounded; `scale` in grey levels."""
    return _add_half_normal(image, key, np.float32(scale), normal_table())


@compiled
def _add_half_normal(image, key, scale, table):
    out = np.empty(image.shape, np.uint8)
    source, target = image.reshape(-1), out.reshape(-1)
    count = source.size
    for block in range(count // 4):
        bits = word(key, block)
        for q in range(4):
            i = 4 * block + q
            target[i] = to_nearest_byte(np.float32(source[i]) + scale * abs(table[quarter(bits, q)]))
    for i in range(count // 4 * 4, count):
        target[i] = to_nearest_byte(np.float32(source[i]) + scale * abs(table[quarter(word(key, i // 4), i % 4)]))
    return out
