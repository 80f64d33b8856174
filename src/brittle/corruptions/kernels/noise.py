"""Noise that is drawn and added in one pass over the image."""

from __future__ import annotations

import numpy as np

from brittle.arrays import Image, Key
from brittle.corruptions.kernels.bytes import to_byte
from brittle.corruptions.kernels.compiled import compiled, inlined
from brittle.corruptions.kernels.words import normal_table, quarter, word


def add_normal(image: Image, key: Key, *, constant: float = 0.0, gain: float = 0.0) -> Image:
    """image + (constant + gain·image)·n with standard normal n for every element; `constant` in grey levels."""
    return _add_normal(image, key, np.float32(constant), np.float32(gain), normal_table())


@compiled
def _add_normal(image, key, constant, gain, table):
    out = np.empty(image.shape, np.uint8)
    source, target = image.reshape(-1), out.reshape(-1)
    count = source.size
    for block in range(count // 4):
        bits = word(key, block)
        for q in range(4):
            target[4 * block + q] = _noisy(source[4 * block + q], table[quarter(bits, q)], constant, gain)
    for i in range(count // 4 * 4, count):
        target[i] = _noisy(source[i], table[quarter(word(key, i // 4), i % 4)], constant, gain)
    return out


@inlined
def _noisy(value, normal, constant, gain):
    grey = np.float32(value)
    return to_byte(grey + (constant + gain * grey) * normal)


def replace_with_extremes(image: Image, key: Key, amount: float) -> Image:
    """Replace each element with probability `amount` by 0 or 255, at even odds."""
    return _replace_with_extremes(image, key, np.uint64(round(amount * 2**31)))


@compiled
def _replace_with_extremes(image, key, threshold):
    out = np.empty(image.shape, np.uint8)
    source, target = image.reshape(-1), out.reshape(-1)
    count = source.size
    for i in range(count):
        half = (word(key, i // 2) >> np.uint64(32 * (i % 2))) & np.uint64(0xFFFFFFFF)
        extreme = np.uint8(255) if half & np.uint64(1) else np.uint8(0)
        target[i] = extreme if (half >> np.uint64(1)) < threshold else source[i]
    return out
