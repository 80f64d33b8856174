"""Intervals of means of values between two bounds, and of ratios of such means: they hold for few samples too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brittle._types import FloatArray, check_level

PSEUDO_WEIGHT = 0.1
"""The weight of a pseudo-sample at the bound, which corrects variances that few samples underestimate.

Chosen by simulation from 0.03, 0.1, 0.3 and 1; see docs/explanation/intervals.md.
"""
FEW = 1000
"""Among fewer different images than this, many ratios are tried at once."""
TOLERANCE = 1e-9
"""Values that differ by less than this fraction of their range are equal up to rounding."""


def mean_interval(
    values: ArrayLike, lowest: ArrayLike, highest: ArrayLike, *, level: float = 0.95, counts: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """The interval of the mean of independent values between two bounds; the first axis is the sample.

    The values are split at their median into the parts above and below it. Each part is a number from 0 to its own
    bound, and its mean gets Wilson's interval with continuity correction at the effective sample size: the number of
    binary samples with a mean of the same variance (Korn and Graubard, 1998), at least the number of samples. The two
    are combined as in the intervals of differences of Newcombe and of Zou and Donner. For values that lie only at the
    bounds, this is Wilson's interval with continuity correction. `counts` are how often each of different values, in
    one column, occurs.
    """
    table, floor, ceiling = np.asarray(values, dtype=np.float64), np.asarray(lowest), np.asarray(highest)
    check_level(level)
    median = np.median(table, axis=0) if counts is None else _median_of_counted(table, counts)
    deviation = table - median
    deviation[np.abs(deviation) < TOLERANCE * (ceiling - floor)] = 0
    above = np.maximum(deviation, 0)
    up = _part_interval(above, np.maximum(ceiling - median, 0), level, counts)
    down = _part_interval(above - deviation, np.maximum(median - floor, 0), level, counts)
    std_product = up.std * down.std
    negative_correlation = np.divide(
        up.mean * down.mean, std_product, out=np.zeros_like(std_product), where=std_product > 0
    )  # of the two parts
    mean = _mean(table, counts)
    low = mean - _combined_width(up.mean - up.low, down.high - down.mean, -negative_correlation)
    high = mean + _combined_width(up.high - up.mean, down.mean - down.low, -negative_correlation)
    return np.maximum(low, floor), np.minimum(high, ceiling)


def gap_interval(
    first: ArrayLike,
    second: ArrayLike,
    first_most: ArrayLike,
    second_most: ArrayLike,
    *,
    level: float = 0.95,
    counts: FloatArray | None = None,
) -> tuple[FloatArray, FloatArray]:
    """The interval of the mean of first − second, which belong to the same samples and lie between 0 and their bounds.

    It contains the interval of the mean of the differences, and the one combined from the intervals of the two means
    and their correlation: each of them alone can be too narrow.
    """
    a, b = np.broadcast_arrays(np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64))
    a_most, b_most = np.broadcast_arrays(np.asarray(first_most, dtype=np.float64), second_most)
    if (a_most <= 0).all() or (b_most <= 0).all():
        return mean_interval(a - b, -b_most, a_most, level=level, counts=counts)
    bounds = np.stack([-b_most, 0 * b_most, 0 * b_most], axis=-1), np.stack([a_most, a_most, b_most], axis=-1)
    sides = np.moveaxis(np.stack([a - b, a, b]), 0, -1)
    ends = mean_interval(sides, *bounds, level=level, counts=counts)  # all three at once
    (low, a_low, b_low), (high, a_high, b_high) = (np.moveaxis(end, -1, 0) for end in ends)
    (a_mean, a_variance), (b_mean, b_variance) = _moments(a, counts), _moments(b, counts)
    std_product = np.sqrt(a_variance * b_variance)
    covariance = _mean((a - a_mean) * (b - b_mean), counts)
    correlation = np.divide(
        covariance,
        std_product,
        out=np.zeros_like(std_product),
        where=std_product > TOLERANCE**2 * a_most * b_most,
    )
    low = np.minimum(low, a_mean - b_mean - _combined_width(a_mean - a_low, b_high - b_mean, correlation))
    high = np.maximum(high, a_mean - b_mean + _combined_width(a_high - a_mean, b_mean - b_low, correlation))
    return np.maximum(low, -b_most), np.minimum(high, a_most)


@dataclass(frozen=True, eq=False)
class Fraction:
    """(a + w · x) / (b + v · x) as a function of column means x; without v it is linear."""

    constant: float
    weights: FloatArray
    below: float = 1.0
    below_weights: FloatArray | None = None

    def interval(self, rows: FloatArray, *, level: float = 0.95) -> tuple[float, float]:
        """The interval for rows between 0 and 1; for a ratio, all values that Fieller's test does not reject."""
        if self.below_weights is None:
            low, high = _weighted_interval(rows, self.weights, level)
            return _rounded(low + self.constant), _rounded(high + self.constant)
        x = rows.mean(axis=0)
        denominator = float(self.below + self.below_weights @ x)
        value = float(self.constant + self.weights @ x) / denominator
        both, above = self.below_weights != 0, np.where(self.below_weights == 0, self.weights, 0)
        most = np.maximum(above, 0).sum(), np.maximum(-above, 0).sum()
        fixed = np.column_stack([rows @ np.maximum(above, 0), rows @ np.maximum(-above, 0), rows[:, both]])
        different, counts = _counted(fixed)  # images that are alike are weighed once, however often the search asks
        first, second, shared = different[:, :1], different[:, 1:2], different[:, 2:]

        def numerator_intervals(ratios: FloatArray) -> tuple[FloatArray, FloatArray]:
            """The intervals of numerator − ratio · denominator, for a positive denominator."""
            assert self.below_weights is not None
            weights = self.weights[both, np.newaxis] - ratios * self.below_weights[both, np.newaxis]
            up, down = np.maximum(weights, 0), np.maximum(-weights, 0)
            sides, bounds = (first + shared @ up, second + shared @ down), (most[0] + up.sum(0), most[1] + down.sum(0))
            low, high = gap_interval(*sides, *bounds, level=level, counts=counts)
            offset = self.constant - ratios * self.below
            return (low + offset, high + offset) if denominator > 0 else (-high - offset, -low - offset)

        (low,), (high,) = numerator_intervals(np.array([value]))
        step = max(float(high), -float(low), TOLERANCE) / abs(denominator)
        parts = 128 if len(different) < FEW else 2
        lower = value - _largest_inside(lambda sizes: numerator_intervals(value - sizes)[0] <= 0, step, parts)
        upper = value + _largest_inside(lambda sizes: numerator_intervals(value + sizes)[1] >= 0, step, parts)
        if min(_minimum(self.constant, self.weights), _minimum(self.below, self.below_weights)) > -TOLERANCE:
            lower = max(lower, 0.0)  # numerator and denominator are never negative
        return _rounded(lower), _rounded(upper)


def linear_fraction(statistic: Callable[[FloatArray], ArrayLike], columns: int) -> Fraction | None:
    """The statistic as a ratio of linear functions of the columns, found numerically; None if it is no such ratio.

    Along each column such a ratio is (f + n h) / (1 + d h), which two steps h and 2 h determine.
    """

    def evaluate(points: FloatArray) -> FloatArray:
        return np.asarray(statistic(points), dtype=np.float64)

    start = np.asarray(0.35 + 0.3 * (np.arange(1, columns + 1) * 0.6180339887498949 % 1), dtype=np.float64)
    step = 0.1
    try:
        (origin,) = evaluate(start[np.newaxis])
        at_step, at_two_steps = (_shift_each_column(evaluate, start, size) for size in (step, 2 * step))
        second_difference, difference = origin - 2 * at_step + at_two_steps, at_step - at_two_steps
        scale = max(1.0, abs(origin))
        nonlinear = np.abs(second_difference) > TOLERANCE * scale
        if (nonlinear & (difference == 0)).any():
            return None
        d = np.divide(second_difference, 2 * step * difference, out=np.zeros(columns), where=nonlinear)
        n = (at_step * (1 + step * d) - origin) / step
        test_points = np.modf((np.arange(1, 9)[:, np.newaxis] * 0.7548776662466927 + start * 7.3) % 1)[0] * 0.9 + 0.05
        denominator = 1 + (test_points - start) @ d
        error = np.abs(evaluate(test_points) * denominator - (origin + (test_points - start) @ n))
        matches = error <= 1e-7 * scale * np.maximum(1, abs(denominator))
    except (ValueError, IndexError, FloatingPointError):
        return None
    if not matches.all():
        return None
    constant, denominator_constant = float(origin - start @ n), float(1 - start @ d)
    return Fraction(constant, n, denominator_constant, d) if nonlinear.any() else Fraction(constant, n)


def linearised(statistic: Callable[[FloatArray], ArrayLike], means: FloatArray, samples: int) -> Fraction | None:
    """The first-order approximation of a statistic near these means of columns between 0 and 1."""
    point = (samples * means + 0.5) / (samples + 1)
    step = 1e-4 / (samples + 1)

    def evaluate(points: FloatArray) -> FloatArray:
        return np.asarray(statistic(points), dtype=np.float64)

    try:
        slope = (_shift_each_column(evaluate, point, step) - _shift_each_column(evaluate, point, -step)) / (2 * step)
        (value,) = evaluate(means[np.newaxis])
    except ValueError:
        return None
    return Fraction(float(value - slope @ means), slope) if np.isfinite(slope).all() else None


@dataclass(frozen=True, eq=False)
class _PartInterval:
    mean: FloatArray
    low: FloatArray
    high: FloatArray
    std: FloatArray


def _part_interval(values: FloatArray, bound: FloatArray, level: float, counts: FloatArray | None) -> _PartInterval:
    """The mean of values from 0 to a bound, with its interval and their standard deviation."""
    n = len(values) if counts is None else int(counts.sum())
    unit = np.where(bound > 0, bound, 1.0)
    mean, variance = _moments(values, counts)
    share, variance = mean / unit, variance / unit**2
    z = NormalDist().inv_cdf((1 + level) / 2)
    correction = _t_correction(n, level)
    bernoulli_variance = share * (1 - share)

    def effective(distance: FloatArray) -> FloatArray:
        inflated = variance / correction + PSEUDO_WEIGHT * distance**2 / n
        ratio = np.divide(bernoulli_variance, inflated, out=np.ones_like(inflated), where=inflated > 0)
        return np.asarray(n * np.maximum(1, ratio))

    low, high = _lower(share, effective(share), z), 1 - _lower(1 - share, effective(1 - share), z)
    high = np.where(bound > 0, high, 0)
    return _PartInterval(share * unit, low * unit, high * unit, np.sqrt(variance) * unit)


def _moments(values: FloatArray, counts: FloatArray | None) -> tuple[FloatArray, FloatArray]:
    """Mean and variance over the first axis."""
    mean = _mean(values, counts)
    return mean, _mean((values - mean) ** 2, counts)


def _mean(values: FloatArray, counts: FloatArray | None) -> FloatArray:
    if counts is None:
        return np.asarray(values.mean(axis=0))
    return np.asarray((counts @ values.reshape(len(counts), -1) / counts.sum()).reshape(values.shape[1:]))


def _median_of_counted(values: FloatArray, counts: FloatArray) -> FloatArray:
    order = np.argsort(values, axis=0)
    before, n = np.cumsum(counts[order], axis=0), counts.sum()
    middle = np.stack([(before <= half).sum(axis=0) for half in ((n - 1) // 2, n // 2)])
    return np.asarray(np.take_along_axis(values, np.take_along_axis(order, middle, axis=0), axis=0).mean(axis=0))


def _counted(rows: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The different rows, up to rounding, and how many there are of each."""
    keys = np.zeros(len(rows), np.int64)
    for column in rows.T:
        values, place = np.unique(np.round(column, 12), return_inverse=True)
        keys = np.unique(keys * len(values) + place, return_inverse=True)[1]
    _, first, counts = np.unique(keys, return_index=True, return_counts=True)
    return rows[first], counts.astype(np.float64)


@cache
def _t_correction(n: int, level: float) -> float:
    """The factor on the effective sample size for a variance estimated from n samples: normal over Student's t."""
    if n == 1:
        return 1.0
    from scipy.special import stdtrit

    return (n - 1) / n * (NormalDist().inv_cdf((1 + level) / 2) / float(stdtrit(n - 1, (1 + level) / 2))) ** 2


def _lower(share: FloatArray, n: FloatArray, z: float) -> FloatArray:
    """The lower end of Wilson's interval with continuity correction."""
    root = np.sqrt(np.maximum(z**2 - 2 - 1 / n + 4 * share * (n * (1 - share) + 1), 0))
    low = (2 * n * share + z**2 - 1 - z * root) / (2 * (n + z**2))
    return np.where(share <= 0, 0.0, np.clip(low, 0, np.maximum(share, 0)))


def _combined_width(first: FloatArray, second: FloatArray, correlation: FloatArray) -> FloatArray:
    clipped = np.clip(correlation, -1, 1)
    return np.asarray(np.sqrt(np.maximum(first**2 + second**2 - 2 * clipped * first * second, 0)))


def _weighted_interval(rows: FloatArray, weights: FloatArray, level: float) -> tuple[float, float]:
    positive, negative = np.maximum(weights, 0), np.maximum(-weights, 0)
    low, high = gap_interval(rows @ positive, rows @ negative, positive.sum(), negative.sum(), level=level)
    return float(low), float(high)


def _minimum(constant: float, weights: FloatArray) -> float:
    """The least value of a linear function of columns between 0 and 1."""
    return float(constant + np.minimum(weights, 0).sum())


def _rounded(value: float) -> float:
    """The value without rounding errors of sums of weights, so that bounds are exact and 0 is not −0."""
    return round(float(value), 12) + 0.0


def _largest_inside(inside: Callable[[FloatArray], NDArray[np.bool_]], step: float, parts: int) -> float:
    """The largest size that is still inside, to a relative 1e-4; infinite if nothing is outside.

    Where the step ends is doubled until it is outside, and divided again and again into so many parts, a power of two.
    """
    lower, upper = 0.0, step
    for _ in range(0, 60, at_once := parts // 2):
        sizes = np.array([lower, *(upper * 2.0**power for power in range(at_once))])
        outside = ~inside(sizes[1:])
        place = int(outside.argmax())
        if outside[place]:
            lower, upper = float(sizes[place]), float(sizes[place + 1])
            break
        lower, upper = float(sizes[-1]), 2 * float(sizes[-1])
    else:
        return float("inf")
    for _ in range(14 // (parts.bit_length() - 1)):
        sizes = np.array([*(lower + (upper - lower) / parts * part for part in range(parts)), upper])
        place = int(np.append(~inside(sizes[1:-1]), True).argmax())
        lower, upper = float(sizes[place]), float(sizes[place + 1])
    return upper


def _shift_each_column(evaluate: Callable[[FloatArray], FloatArray], start: FloatArray, step: float) -> FloatArray:
    """The statistic with one column shifted by a step, for each column; in blocks, to save memory."""
    blocks = []
    for first in range(0, len(start), 256):
        points = np.tile(start, (min(256, len(start) - first), 1))
        points[np.arange(len(points)), first + np.arange(len(points))] += step
        blocks.append(evaluate(points))
    return np.concatenate(blocks)
