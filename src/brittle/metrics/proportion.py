"""Intervals of a proportion: k of n samples."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from brittle.metrics.fraction import Floats, check_level


def wilson(right: ArrayLike, n: ArrayLike, *, level: float = 0.95) -> tuple[Floats, Floats]:
    """Wilson's score interval (1927), element by element: near the level on average, never outside 0 … 1."""
    k, n = _counts(right, n)
    z = NormalDist().inv_cdf((1 + check_level(level)) / 2)
    share = k / n
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return np.where(k == 0, 0.0, middle - half), np.where(k == n, 1.0, middle + half)


def clopper_pearson(right: ArrayLike, n: ArrayLike, *, level: float = 0.95) -> tuple[Floats, Floats]:
    """The exact interval of Clopper and Pearson (1934), element by element: never covers less than the level."""
    from scipy.special import betaincinv

    k, n = _counts(right, n)
    tail = (1 - check_level(level)) / 2
    low = betaincinv(np.maximum(k, 1), n - k + 1, tail)
    high = betaincinv(k + 1, np.maximum(n - k, 1), 1 - tail)
    return np.where(k == 0, 0.0, low), np.where(k == n, 1.0, high)


def _counts(right: ArrayLike, n: ArrayLike) -> tuple[Floats, Floats]:
    k, total = np.broadcast_arrays(np.asarray(right, dtype=np.float64), np.asarray(n, dtype=np.float64))
    if not ((total >= 1) & (k >= 0) & (k <= total)).all():
        raise ValueError(f"a proportion is k of n with 0 ≤ k ≤ n and n ≥ 1, got k = {right!r} and n = {n!r}")
    return k, total
