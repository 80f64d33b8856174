"""Photon counts. There are only 256 grey levels, so there are only 256 Poisson distributions to invert."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brittle.arrays import Image, Key
from brittle.corruptions.kernels.bytes import to_byte
from brittle.corruptions.kernels.compiled import compiled
from brittle.corruptions.kernels.words import normal_table, word

NO_NOISE = 1e9
"""From here on no count differs from its mean by a grey level."""

MANY_PHOTONS = 2000.0
"""From here on a count is drawn as a rounded normal variate: the tables would only grow."""


def count_photons(image: Image, key: Key, photons: float) -> Image:
    """Poisson(photons·x)/photons for x in [0, 1], by inverting the distribution at one uniform per element.

    The uniform belongs to the element, so fewer photons make the same noise field stronger.
    """
    if photons > NO_NOISE:
        return image.copy()
    if photons > MANY_PHOTONS:
        return _normal_counts(image, key, photons, normal_table())
    return _poisson_counts(image, key, *_tables(photons))


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
def _normal_counts(image, key, photons, table):
    out = np.empty(image.shape, np.uint8)
    source, target = image.reshape(-1), out.reshape(-1)
    for i in range(source.size):
        u = (word(key, i // 2) >> np.uint64(32 * (i % 2))) & np.uint64(0xFFFFFFFF)
        rate = photons * source[i] / 255.0
        count = np.rint(rate + np.sqrt(rate) * table[u >> np.uint64(16)])
        target[i] = to_byte(np.float32(count / photons * 255.0))
    return out
