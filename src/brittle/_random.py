"""Seeded random choices that are the same in every version of NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from brittle._types import check_seed

Item = TypeVar("Item")


def generator(seed: int) -> np.random.Generator:
    """A seeded generator; use only its `random`, since other draws may change between versions of NumPy."""
    return np.random.Generator(np.random.Philox(key=check_seed(seed) % 2**128))


def choose(items: Sequence[Item], count: int, rng: np.random.Generator) -> list[Item]:
    """A uniform sample of `count` items without replacement, by a partial Fisher–Yates shuffle."""
    shuffled = list(items)
    for i, fraction in enumerate(rng.random(count)):
        j = i + int(fraction * (len(shuffled) - i))
        shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
    return shuffled[:count]
