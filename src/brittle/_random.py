"""Seeded choices that are the same in every version of NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from brittle._types import check_seed

Item = TypeVar("Item")


def generator(seed: int) -> np.random.Generator:
    """A generator of which only `random` is used: its doubles never change, the other draws may."""
    return np.random.Generator(np.random.Philox(key=check_seed(seed) % 2**128))


def choose(items: Sequence[Item], count: int, rng: np.random.Generator) -> list[Item]:
    """Some different items, every set of them equally likely."""
    left = list(items)
    for i, fraction in enumerate(rng.random(count)):
        j = i + int(fraction * (len(left) - i))
        left[i], left[j] = left[j], left[i]
    return left[:count]
