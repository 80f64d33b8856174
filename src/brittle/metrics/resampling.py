"""Intervals of means over images and cells: the bootstrap, and bounds that hold at its edges."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brittle._errors import BrittleError
from brittle._types import FloatArray, check_level, check_seed
from brittle.metrics.intervals import Estimate

PSEUDO_WEIGHT = 0.1
"""The weight of a pseudo-sample at the bound, which corrects variances that few samples underestimate.

Chosen by simulation from 0.03, 0.1, 0.3 and 1; see docs/explanation/intervals.md.
"""
TOLERANCE = 1e-9
"""Values that differ by less than this fraction of their range are equal up to rounding."""


def mean_interval(
    values: ArrayLike, lowest: ArrayLike, highest: ArrayLike, *, level: float = 0.95
) -> tuple[FloatArray, FloatArray]:
    """The interval of the mean of independent values between two bounds; the first axis is the sample.

    The values are split at their median into the parts above and below it. Each part is a number from 0 to its own
    bound, and its mean gets Wilson's interval with continuity correction at the effective sample size: the number of
    binary samples with a mean of the same variance (Korn and Graubard, 1998), at least the number of samples. The two
    are combined as in the intervals of differences of Newcombe and of Zou and Donner. For values that lie only at the
    bounds, this is Wilson's interval with continuity correction.
    """
    table, floor, ceiling = np.asarray(values, dtype=np.float64), np.asarray(lowest), np.asarray(highest)
    check_level(level)
    median = np.median(table, axis=0)
    deviation = table - median
    deviation[np.abs(deviation) < TOLERANCE * (ceiling - floor)] = 0
    above = np.maximum(deviation, 0)
    up = _part_interval(above, np.maximum(ceiling - median, 0), level)
    down = _part_interval(above - deviation, np.maximum(median - floor, 0), level)
    std_product = up.std * down.std
    negative_correlation = np.divide(
        up.mean * down.mean, std_product, out=np.zeros_like(std_product), where=std_product > 0
    )  # of the two parts
    mean = table.mean(axis=0)
    low = mean - _combined_width(up.mean - up.low, down.high - down.mean, -negative_correlation)
    high = mean + _combined_width(up.high - up.mean, down.mean - down.low, -negative_correlation)
    return np.maximum(low, floor), np.minimum(high, ceiling)


def gap_interval(
    first: ArrayLike, second: ArrayLike, first_most: float, second_most: float, *, level: float = 0.95
) -> tuple[FloatArray, FloatArray]:
    """The interval of the mean of first − second, which belong to the same samples and lie between 0 and their bounds.

    It contains the interval of the mean of the differences, and the one combined from the intervals of the two means
    and their correlation: each of them alone can be too narrow.
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    low, high = mean_interval(a - b, -second_most, first_most, level=level)
    if first_most <= 0 or second_most <= 0:
        return low, high
    a_low, a_high = mean_interval(a, 0, first_most, level=level)
    b_low, b_high = mean_interval(b, 0, second_most, level=level)
    a_mean, b_mean = a.mean(axis=0), b.mean(axis=0)
    std_product = a.std(axis=0) * b.std(axis=0)
    covariance = ((a - a_mean) * (b - b_mean)).mean(axis=0)
    correlation = np.divide(
        covariance,
        std_product,
        out=np.zeros_like(std_product),
        where=std_product > TOLERANCE**2 * first_most * second_most,
    )
    low = np.minimum(low, a_mean - b_mean - _combined_width(a_mean - a_low, b_high - b_mean, correlation))
    high = np.maximum(high, a_mean - b_mean + _combined_width(a_high - a_mean, b_mean - b_low, correlation))
    return np.maximum(low, -second_most), np.minimum(high, first_most)


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

        def numerator_interval(ratio: float) -> tuple[float, float]:
            """The interval of numerator − ratio · denominator, for a positive denominator."""
            assert self.below_weights is not None
            low, high = _weighted_interval(rows, self.weights - ratio * self.below_weights, level)
            offset = self.constant - ratio * self.below
            return (low + offset, high + offset) if denominator > 0 else (-high - offset, -low - offset)

        low, high = numerator_interval(value)
        step = max(high, -low, TOLERANCE) / abs(denominator)
        low = value - _largest_inside(lambda size: numerator_interval(value - size)[0] <= 0, step)
        if min(_minimum(self.constant, self.weights), _minimum(self.below, self.below_weights)) > -TOLERANCE:
            low = max(low, 0.0)  # numerator and denominator are never negative
        return _rounded(low), _rounded(
            value + _largest_inside(lambda size: numerator_interval(value + size)[1] >= 0, step)
        )


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


def _part_interval(values: FloatArray, bound: FloatArray, level: float) -> _PartInterval:
    """The mean of values from 0 to a bound, with its interval and their standard deviation."""
    n = len(values)
    unit = np.where(bound > 0, bound, 1.0)
    share, variance = values.mean(axis=0) / unit, values.var(axis=0) / unit**2
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


def _largest_inside(inside: Callable[[float], bool], step: float) -> float:
    """The largest size that is still inside, to a relative 1e-4, by bisection; infinite if nothing is outside."""
    lower, upper = 0.0, step
    for _ in range(60):
        if not inside(upper):
            break
        lower, upper = upper, 2 * upper
    else:
        return float("inf")
    for _ in range(14):
        middle = (lower + upper) / 2
        lower, upper = (middle, upper) if inside(middle) else (lower, middle)
    return upper


def _shift_each_column(evaluate: Callable[[FloatArray], FloatArray], start: FloatArray, step: float) -> FloatArray:
    """The statistic with one column shifted by a step, for each column; in blocks, to save memory."""
    blocks = []
    for first in range(0, len(start), 256):
        points = np.tile(start, (min(256, len(start) - first), 1))
        points[np.arange(len(points)), first + np.arange(len(points))] += step
        blocks.append(evaluate(points))
    return np.concatenate(blocks)


Statistic = Callable[[FloatArray], ArrayLike]
"""From the means of the columns, on the last axis, to one number for each leading index."""

WIDENED = ", widened for few samples"
"""Suffix of the method of an interval that contains the one of `widened`."""

BLOCK = 32
"""Number of resamples per matrix product."""


def bootstrap(
    rows: ArrayLike,
    statistic: Statistic | None = None,
    *,
    name: str,
    seed: int = 0,
    resamples: int = 1000,
    level: float = 0.95,
    percent: bool = True,
    resampled: FloatArray | None = None,
    bounded: bool | None = None,
) -> Estimate:
    """A statistic of the column means of per-sample rows, with its bootstrap interval over samples.

    A row holds one sample: right or wrong in each cell, for one model or for several side by side. Rows are resampled,
    so cells that share images stay together. The default statistic is the mean of the columns. `resampled` are the
    `resampled_means` with this seed, if several statistics share them.

        bootstrap(correct, lambda accuracy: mce(1 - accuracy.reshape(-1, 15, 5).mean(-1), alexnet), name="mCE")

    It replaces `scipy.stats.bootstrap`, because one set of draws serves all scores and pairs all models, as one matrix
    product.

    A percentile bootstrap alone is too narrow for few samples, and has zero width if all are right or all wrong. So the
    interval also contains the one of `mean_interval` for statistics that are linear in the means, the one by Fieller's
    method for ratios of such, and that of the first-order approximation for all others; the case is found numerically.
    Rows other than right or wrong (1 or 0) are not `bounded`: the interval of their mean contains Student's.
    """
    table = check_rows(rows)
    bounded = _is_right_or_wrong(table) if bounded is None else bounded
    statistic = statistic or _mean
    tail = (1 - check_level(level)) / 2
    centre = means(table)
    value = float(np.asarray(statistic(centre[np.newaxis])).reshape(()))
    if resampled is None:
        with _undefined_in_a_resample(name):
            resampled = resampled_means(table, seed=seed, resamples=resamples)
    method = f"bootstrap, {resamples} resamples, seed {seed}"
    try:
        values = np.asarray(statistic(resampled), dtype=np.float64)
    except ValueError:
        if not bounded or linear_fraction(statistic, table.shape[1]) is None:
            with _undefined_in_a_resample(name):
                raise
        values, method = np.full(resamples, value), "Fieller's"  # a ratio that divides by 0 in some resample
    if values.shape != (resamples,):
        raise BrittleError(f"the statistic must give one number for each resample, got shape {values.shape}")
    low, high = np.quantile(values, [tail, 1 - tail])
    wider = widened(table, statistic, level=level) if bounded else _t_interval(table, statistic, level)
    if wider is not None:
        low, high, method = min(low, wider[0]), max(high, wider[1]), method + WIDENED
    return Estimate(name, value, float(low), float(high), level, len(table), method, percent)


def widened(rows: ArrayLike, statistic: Statistic, *, level: float = 0.95) -> tuple[float, float] | None:
    """The interval of a statistic of binary rows that also holds for few samples and close to the bounds.

    None if the statistic has no finite derivative there.
    """
    table = check_rows(rows)
    fraction = linear_fraction(statistic, table.shape[1]) or linearised(statistic, means(table), len(table))
    return None if fraction is None else fraction.interval(table.astype(np.float64), level=level)


def share_intervals(
    shares: ArrayLike, *, resampled: FloatArray | None = None, level: float = 0.95, seed: int = 0, resamples: int = 1000
) -> tuple[FloatArray, FloatArray]:
    """The intervals of the means of the columns, for values from 0 to 1, such as each image's share of right cells.

    They equal those of `bootstrap`, for many columns at once; `resampled` are the `resampled_means` of these columns.
    """
    table = np.asarray(check_rows(shares), dtype=np.float64)
    tail = (1 - check_level(level)) / 2
    column_means = resampled_means(table, seed=seed, resamples=resamples) if resampled is None else resampled
    low, high = np.quantile(column_means, [tail, 1 - tail], axis=0)
    wider = mean_interval(table, 0, 1, level=level)
    return np.minimum(low, wider[0]), np.maximum(high, wider[1])


def means(rows: ArrayLike) -> FloatArray:
    """The mean of each column; NaN marks a missing sample."""
    values, measured = _split(check_rows(rows))
    count = len(values) if measured is None else _check_measured(measured.sum(axis=0, dtype=np.float64))
    return np.asarray(values.sum(axis=0, dtype=np.float64) / count)


def resampled_means(rows: ArrayLike, *, seed: int = 0, resamples: int = 1000) -> FloatArray:
    """The column means of many resamples of the rows, resamples × columns.

    The same seed and number of samples give the same resamples, so means of two models on the same images are
    paired, and more resamples extend fewer.
    """
    table = check_rows(rows)
    values, measured = _split(table)
    out = np.empty((resamples, table.shape[1]))
    start = 0
    for weights in _weights(len(table), resamples, seed, values.dtype):
        total = (weights @ values).astype(np.float64)
        count = len(table) if measured is None else _check_measured((weights @ measured).astype(np.float64))
        out[start : start + len(weights)] = total / count
        start += len(weights)
    return out


def check_rows(rows: ArrayLike) -> NDArray[np.generic]:
    """Rows as samples × columns."""
    table = np.asarray(rows)
    table = table[:, np.newaxis] if table.ndim == 1 else table
    if table.ndim != 2 or 0 in table.shape:
        raise BrittleError(f"rows are samples × columns with at least one of each, got shape {np.shape(rows)}")
    return table


def _mean(columns: FloatArray) -> FloatArray:
    return np.asarray(columns.mean(axis=-1))


@contextmanager
def _undefined_in_a_resample(name: str) -> Iterator[None]:
    try:
        yield
    except ValueError as error:
        raise BrittleError(f"{name} is undefined in a resample ({error}); it needs more samples") from error


def _is_right_or_wrong(table: NDArray[np.generic]) -> bool:
    return table.dtype == np.bool_ or bool(np.isin(table, (0, 1)).all())


def _t_interval(table: NDArray[np.generic], statistic: Statistic, level: float) -> tuple[float, float] | None:
    """Student's t interval of the mean of the columns; other statistics of unbounded rows have the bootstrap alone."""
    if statistic is not _mean or len(table) < 2:
        return None
    from scipy.special import stdtrit

    values, measured = _split(table)
    centre = means(table)
    value = float(centre.mean())
    deviations = (
        values - centre if measured is None else (values - centre) * measured * (len(table) / measured.sum(axis=0))
    )
    half = deviations.mean(axis=1).std(ddof=1) / len(table) ** 0.5 * float(stdtrit(len(table) - 1, (1 + level) / 2))
    return value - half, value + half


def _split(table: NDArray[np.generic]) -> tuple[FloatArray, FloatArray | None]:
    """Values with 0 where missing, and the mask of measured values; float32 is exact for right and wrong."""
    if table.dtype == np.bool_ and len(table) < 2**24:
        return table.astype(np.float32), None
    values = table.astype(np.float64)
    missing = np.isnan(values)
    if not missing.any():
        return values, None
    return np.where(missing, 0.0, values), (~missing).astype(np.float64)


def _check_measured(count: FloatArray) -> FloatArray:
    if (count == 0).any():
        raise BrittleError("a column has no measured sample")
    return count


def _weights(n: int, resamples: int, seed: int, dtype: np.dtype[np.float64]) -> Iterator[FloatArray]:
    """How often each sample is drawn, for a block of resamples at a time.

    Raw Philox output is the same in every version of NumPy; `Generator.integers` may change.
    """
    if resamples < 1:
        raise BrittleError(f"a bootstrap needs at least one resample, got {resamples!r}")
    philox = np.random.Philox(key=check_seed(seed) % 2**128)
    for start in range(0, resamples, BLOCK):
        size = min(BLOCK, resamples - start)
        weights = np.empty((size, n), dtype=dtype)
        for row in weights:
            drawn = (philox.random_raw(n) >> np.uint64(32)) * np.uint64(n) >> np.uint64(32)
            row[:] = np.bincount(drawn.view(np.int64), minlength=n)
        yield weights
