"""Kendall's τ-b and its p-value."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from brittle.metrics.fraction import Floats

EXACT = 100
"""The largest number of models without ties for which all orders are counted."""


def kendall_tau(x: Floats, y: Floats) -> float:
    """(agreeing − disagreeing pairs) / √(pairs untied in x · pairs untied in y)."""
    a, b = _signs(x), _signs(y)
    return float(np.clip((a * b).sum() / math.sqrt(np.abs(a).sum() * np.abs(b).sum()), -1, 1))


def kendall_p(x: Floats, y: Floats) -> float:
    """Two-sided: exact without ties, else normal with the variance corrected for ties."""
    n, balance = len(x), round(float((_signs(x) * _signs(y)).sum() / 2))
    ties = [np.unique(v, return_counts=True)[1].astype(np.float64) for v in (x, y)]
    if n <= EXACT and all((t == 1).all() for t in ties):
        return _exact(n, balance)
    pairs = n * (n - 1)
    v = [float((t * (t - 1) * (2 * t + 5)).sum()) for t in ties]
    two = [float((t * (t - 1)).sum()) for t in ties]
    three = [float((t * (t - 1) * (t - 2)).sum()) for t in ties]
    variance = (pairs * (2 * n + 5) - v[0] - v[1]) / 18 + two[0] * two[1] / (2 * pairs)
    if n > 2:
        variance += three[0] * three[1] / (9 * pairs * (n - 2))
    return min(1.0, 2 * NormalDist().cdf(-abs(balance) / math.sqrt(variance)))


def _exact(n: int, balance: int) -> float:
    """The share of the n! orders that are at least as far from balance, counted by their inversions."""
    orders = np.array([1.0])
    for k in range(2, n + 1):  # adding a k-th item adds 0 … k−1 inversions, each equally likely
        orders = np.convolve(orders, np.full(k, 1 / k))
    inversions = (n * (n - 1) // 2 - abs(balance)) // 2
    return min(1.0, 2 * float(orders[: inversions + 1].sum()))


def _signs(x: Floats) -> Floats:
    return np.asarray(np.sign(x[:, np.newaxis] - x))
