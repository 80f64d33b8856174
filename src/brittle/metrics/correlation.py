"""Do two benchmarks rank models alike? Pearson, Spearman and Kendall, with interval and p-value."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from brittle.metrics.estimate import Estimate
from brittle.metrics.fraction import Floats, check_level

EXACT = 100
"""The largest number of models for which Kendall's p-value is exact; SciPy counts all their orders."""


@dataclass(frozen=True)
class Correlation(Estimate):
    """A correlation over models, with its interval and the two-sided p-value of no correlation."""

    p: float = math.nan

    def __str__(self) -> str:
        return f"{super().__str__()}, p = {self.p:.3g}, n = {self.n}"


def pearson(x: ArrayLike, y: ArrayLike, *, level: float = 0.95) -> Correlation:
    """Pearson's correlation; the interval is Fisher's, the p-value Student's."""
    a, b = _pairs(x, y)
    r = float(correlate(a, b))
    return _estimate("Pearson correlation", r, 1.0, 3, _student(r, len(a)), len(a), level)


def spearman(x: ArrayLike, y: ArrayLike, *, level: float = 0.95) -> Correlation:
    """Spearman's rank correlation, ties sharing their mean rank; the interval is Bonett and Wright's (2000)."""
    a, b = _pairs(x, y)
    r = float(correlate(mean_ranks(a), mean_ranks(b)))
    return _estimate("Spearman correlation", r, 1 + r * r / 2, 3, _student(r, len(a)), len(a), level)


def kendall(x: ArrayLike, y: ArrayLike, *, level: float = 0.95) -> Correlation:
    """Kendall's τ-b; the interval is Fieller's (1957), the p-value exact unless there are ties or many models."""
    from scipy.stats import kendalltau

    a, b = _pairs(x, y)
    ties = len(np.unique(a)) < len(a) or len(np.unique(b)) < len(b)
    tau = kendalltau(a, b, method="asymptotic" if ties or len(a) > EXACT else "exact")
    return _estimate("Kendall correlation", float(tau.statistic), 0.437, 4, float(tau.pvalue), len(a), level)


def correlate(x: Floats, y: Floats) -> Floats:
    """Pearson's correlation along the last axis."""
    a, b = x - x.mean(axis=-1, keepdims=True), y - y.mean(axis=-1, keepdims=True)
    scale = np.sqrt((a * a).sum(axis=-1) * (b * b).sum(axis=-1))
    return np.asarray(np.clip((a * b).sum(axis=-1) / scale, -1, 1))


def mean_ranks(x: Floats) -> Floats:
    """Ranks from 1, ties sharing their mean, along the last axis."""
    from scipy.stats import rankdata

    return np.asarray(rankdata(x, axis=-1))


def _pairs(x: ArrayLike, y: ArrayLike) -> tuple[Floats, Floats]:
    a, b = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if a.ndim != 1 or a.shape != b.shape or len(a) < 3:
        raise ValueError(f"a correlation needs three or more pairs, got shapes {a.shape} and {b.shape}")
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise ValueError("a correlation needs finite numbers; leave out models that lack one of the two")
    if (a == a[0]).all() or (b == b[0]).all():
        raise ValueError("all values of one side are equal, so there is no correlation")
    return a, b


def _student(r: float, n: int) -> float:
    """Student's two-sided p-value: n − 2 degrees of freedom, t = r √((n − 2) / (1 − r²))."""
    from scipy.special import stdtr

    return 0.0 if abs(r) == 1 else 2 * float(stdtr(n - 2, -abs(r) * math.sqrt((n - 2) / (1 - r * r))))


def _estimate(name: str, r: float, spread: float, lost: int, p: float, n: int, level: float) -> Correlation:
    """The interval in Fisher's z = artanh r, whose variance is about spread / (n − lost)."""
    quantile = NormalDist().inv_cdf((1 + check_level(level)) / 2)
    if n <= lost:
        low, high = -1.0, 1.0
    elif abs(r) == 1:
        low = high = r
    else:
        half = quantile * math.sqrt(spread / (n - lost))
        low, high = math.tanh(math.atanh(r) - half), math.tanh(math.atanh(r) + half)
    return Correlation(name, r, low, high, level, n, "Fisher z", percent=False, p=p)
