"""Intervals of means, differences and ratios of means that also hold for few samples and close to the bounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from brittle._types import FloatArray, check_level

UNSEEN = 0.1
"""The weight of an imagined sample at the bound, against variances that few samples make too small.

Chosen by simulation from 0.03, 0.1, 0.3 and 1; see docs/intervals.md.
"""
EQUAL = 1e-9
"""Values that differ by less than this share of their range differ by rounding only."""


def mean_interval(
    values: ArrayLike, lowest: ArrayLike, highest: ArrayLike, *, level: float = 0.95
) -> tuple[FloatArray, FloatArray]:
    """The interval of the mean of independent values between two bounds; the first axis is the sample.

    The values are split at their median into what lies above it and what lies below. Each part is a number from 0 to
    its own bound, and its mean gets Wilson's interval with continuity correction at the effective sample size: the
    number of right-or-wrong samples whose mean would vary as much (Korn and Graubard, 1998), and never less than the
    samples there are. The two are put together as in the intervals of differences of Newcombe and of Zou and Donner.
    Of values that lie only at the bounds, this is Wilson's interval with continuity correction itself.
    """
    table, floor, ceiling = np.asarray(values, dtype=np.float64), np.asarray(lowest), np.asarray(highest)
    check_level(level)
    middle = np.median(table, axis=0)
    gap = table - middle
    gap[np.abs(gap) < EQUAL * (ceiling - floor)] = 0
    above = np.maximum(gap, 0)
    up = _part(above, np.maximum(ceiling - middle, 0), level)
    down = _part(above - gap, np.maximum(middle - floor, 0), level)
    spread = up.spread * down.spread
    opposed = np.divide(up.mean * down.mean, spread, out=np.zeros_like(spread), where=spread > 0)  # their − correlation
    mean = table.mean(axis=0)
    low = mean - _reach(up.mean - up.low, down.high - down.mean, -opposed)
    high = mean + _reach(up.high - up.mean, down.mean - down.low, -opposed)
    return np.maximum(low, floor), np.minimum(high, ceiling)


def gap_interval(
    first: ArrayLike, second: ArrayLike, first_most: float, second_most: float, *, level: float = 0.95
) -> tuple[FloatArray, FloatArray]:
    """The interval of the mean of first − second, which belong to the same samples and lie between 0 and their bounds.

    It holds the interval of the mean of the differences, and that from the two means' own intervals with their
    correlation: the first misses what the noise of one of them hides, the second what they have in common.
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    low, high = mean_interval(a - b, -second_most, first_most, level=level)
    if first_most <= 0 or second_most <= 0:
        return low, high
    a_low, a_high = mean_interval(a, 0, first_most, level=level)
    b_low, b_high = mean_interval(b, 0, second_most, level=level)
    a_mean, b_mean = a.mean(axis=0), b.mean(axis=0)
    spread = a.std(axis=0) * b.std(axis=0)
    shared = ((a - a_mean) * (b - b_mean)).mean(axis=0)
    together = np.divide(shared, spread, out=np.zeros_like(spread), where=spread > EQUAL**2 * first_most * second_most)
    low = np.minimum(low, a_mean - b_mean - _reach(a_mean - a_low, b_high - b_mean, together))
    high = np.maximum(high, a_mean - b_mean + _reach(a_high - a_mean, b_mean - b_low, together))
    return np.maximum(low, -second_most), np.minimum(high, first_most)


@dataclass(frozen=True, eq=False)
class Fraction:
    """(a + w · x) / (b + v · x) as a function of column means x; without v it is linear."""

    constant: float
    weights: FloatArray
    below: float = 1.0
    below_weights: FloatArray | None = None

    def interval(self, rows: FloatArray, *, level: float = 0.95) -> tuple[float, float]:
        """The interval for rows between 0 and 1: of a ratio all values that Fieller's test does not reject."""
        if self.below_weights is None:
            low, high = _weighed(rows, self.weights, level)
            return _rounded(low + self.constant), _rounded(high + self.constant)
        x = rows.mean(axis=0)
        below = float(self.below + self.below_weights @ x)
        value = float(self.constant + self.weights @ x) / below

        def ends(ratio: float) -> tuple[float, float]:
            """How far numerator − ratio · denominator may lie from 0."""
            assert self.below_weights is not None
            low, high = _weighed(rows, self.weights - ratio * self.below_weights, level)
            offset = self.constant - ratio * self.below
            return (low + offset, high + offset) if below > 0 else (-high - offset, -low - offset)

        low, high = ends(value)
        step = max(high, -low, EQUAL) / abs(below)
        low = value - _farthest(lambda size: ends(value - size)[0] <= 0, step)
        if min(_least(self.constant, self.weights), _least(self.below, self.below_weights)) > -EQUAL:
            low = max(low, 0.0)  # both can only be positive
        return _rounded(low), _rounded(value + _farthest(lambda size: ends(value + size)[1] >= 0, step))


def linear_fraction(statistic: Callable[[FloatArray], ArrayLike], columns: int) -> Fraction | None:
    """The statistic as a ratio of linear functions of the columns, found by trying it out; None if it is no such ratio.

    Along each column such a ratio is (f + n h) / (1 + d h), which two steps h and 2 h determine.
    """

    def tried(points: FloatArray) -> FloatArray:
        return np.asarray(statistic(points), dtype=np.float64)

    start = np.asarray(0.35 + 0.3 * (np.arange(1, columns + 1) * 0.6180339887498949 % 1), dtype=np.float64)
    step = 0.1
    try:
        (origin,) = tried(start[np.newaxis])
        one, two = (_each_column(tried, start, size) for size in (step, 2 * step))
        bend, fall = origin - 2 * one + two, one - two
        scale = max(1.0, abs(origin))
        bent = np.abs(bend) > EQUAL * scale
        if (bent & (fall == 0)).any():
            return None
        d = np.divide(bend, 2 * step * fall, out=np.zeros(columns), where=bent)
        n = (one * (1 + step * d) - origin) / step
        other = np.modf((np.arange(1, 9)[:, np.newaxis] * 0.7548776662466927 + start * 7.3) % 1)[0] * 0.9 + 0.05
        below = 1 + (other - start) @ d
        good = np.abs(tried(other) * below - (origin + (other - start) @ n)) <= 1e-7 * scale * np.maximum(1, abs(below))
    except (ValueError, IndexError, FloatingPointError):
        return None
    if not good.all():
        return None
    constant, base = float(origin - start @ n), float(1 - start @ d)
    return Fraction(constant, n, base, d) if bent.any() else Fraction(constant, n)


def linearised(statistic: Callable[[FloatArray], ArrayLike], means: FloatArray, samples: int) -> Fraction | None:
    """The tangent of any other statistic near these means of columns between 0 and 1."""
    near = (samples * means + 0.5) / (samples + 1)
    step = 1e-4 / (samples + 1)

    def tried(points: FloatArray) -> FloatArray:
        return np.asarray(statistic(points), dtype=np.float64)

    try:
        slope = (_each_column(tried, near, step) - _each_column(tried, near, -step)) / (2 * step)
        (value,) = tried(means[np.newaxis])
    except ValueError:
        return None
    return Fraction(float(value - slope @ means), slope) if np.isfinite(slope).all() else None


@dataclass(frozen=True, eq=False)
class _Part:
    mean: FloatArray
    low: FloatArray
    high: FloatArray
    spread: FloatArray


def _part(values: FloatArray, most: FloatArray, level: float) -> _Part:
    """The mean of values from 0 to a bound, with its interval and their standard deviation."""
    n = len(values)
    unit = np.where(most > 0, most, 1.0)
    share, variance = values.mean(axis=0) / unit, values.var(axis=0) / unit**2
    z = NormalDist().inv_cdf((1 + level) / 2)
    known = _known(n, level)
    largest = share * (1 - share)

    def effective(unseen: FloatArray) -> FloatArray:
        wide = variance / known + UNSEEN * unseen**2 / n
        return np.asarray(n * np.maximum(1, np.divide(largest, wide, out=np.ones_like(wide), where=wide > 0)))

    low, high = _lower(share, effective(share), z), 1 - _lower(1 - share, effective(1 - share), z)
    high = np.where(most > 0, high, 0)
    return _Part(share * unit, low * unit, high * unit, np.sqrt(variance) * unit)


@cache
def _known(n: int, level: float) -> float:
    """The share of the effective sample size that is left when the variance is estimated from n samples."""
    if n == 1:
        return 1.0
    from scipy.special import stdtrit

    return (n - 1) / n * (NormalDist().inv_cdf((1 + level) / 2) / float(stdtrit(n - 1, (1 + level) / 2))) ** 2


def _lower(share: FloatArray, n: FloatArray, z: float) -> FloatArray:
    """The lower end of Wilson's interval with continuity correction."""
    root = np.sqrt(np.maximum(z**2 - 2 - 1 / n + 4 * share * (n * (1 - share) + 1), 0))
    low = (2 * n * share + z**2 - 1 - z * root) / (2 * (n + z**2))
    return np.where(share <= 0, 0.0, np.clip(low, 0, np.maximum(share, 0)))


def _reach(first: FloatArray, second: FloatArray, correlation: FloatArray) -> FloatArray:
    together = np.clip(correlation, -1, 1)
    return np.asarray(np.sqrt(np.maximum(first**2 + second**2 - 2 * together * first * second, 0)))


def _weighed(rows: FloatArray, weights: FloatArray, level: float) -> tuple[float, float]:
    up, down = np.maximum(weights, 0), np.maximum(-weights, 0)
    low, high = gap_interval(rows @ up, rows @ down, up.sum(), down.sum(), level=level)
    return float(low), float(high)


def _least(constant: float, weights: FloatArray) -> float:
    """The least value of a linear function of columns between 0 and 1."""
    return float(constant + np.minimum(weights, 0).sum())


def _rounded(value: float) -> float:
    """Without the rounding errors of sums of weights, so that a bound is the bound and 0 is not −0."""
    return round(float(value), 12) + 0.0


def _farthest(inside: Callable[[float], bool], step: float) -> float:
    """The largest size that is still inside, to a ten-thousandth; infinite if nothing is outside."""
    near, far = 0.0, step
    for _ in range(60):
        if not inside(far):
            break
        near, far = far, 2 * far
    else:
        return float("inf")
    for _ in range(14):
        middle = (near + far) / 2
        near, far = (middle, far) if inside(middle) else (near, middle)
    return far


def _each_column(tried: Callable[[FloatArray], FloatArray], start: FloatArray, step: float) -> FloatArray:
    """The statistic with one column moved, for each column; blocks keep it small."""
    found = []
    for first in range(0, len(start), 256):
        many = np.tile(start, (min(256, len(start) - first), 1))
        many[np.arange(len(many)), first + np.arange(len(many))] += step
        found.append(tried(many))
    return np.concatenate(found)
