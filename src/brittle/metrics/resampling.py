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


Statistic = Callable[[FloatArray], ArrayLike]
"""From the means of the columns, on the last axis, to one number for each leading index."""

WIDENED = ", widened for few samples"
"""Ends the method of an interval that is at least the one of `widened`."""

BLOCK = 32
"""How many resamples are weighed in one matrix product."""


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

    A row is all that is known of one sample: right or wrong in each cell, for one model or for several side by
    side. Whole rows are drawn, so cells that share images stay together. Without a statistic it is the
    mean of the columns. `resampled` are the `resampled_means` with this seed, where several statistics share them.

        bootstrap(correct, lambda accuracy: mce(1 - accuracy.reshape(-1, 15, 5).mean(-1), alexnet), name="mCE")

    It is ours and not `scipy.stats.bootstrap`, because one set of draws serves all scores and pairs all models, as one
    matrix product.

    A percentile bootstrap alone is too narrow for few samples, and has no width where all are right or all wrong. So
    the interval also holds the one of `mean_interval` for statistics that are linear in the means, the one by Fieller's
    method for ratios of such, and that of the tangent for all others; which it is, is found by trying the statistic
    out. Rows other than right or wrong (1 or 0) are not `bounded`: the interval of their mean holds Student's.
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
        drawn = np.asarray(statistic(resampled), dtype=np.float64)
    except ValueError:
        if not bounded or linear_fraction(statistic, table.shape[1]) is None:
            with _undefined_in_a_resample(name):
                raise
        drawn, method = np.full(resamples, value), "Fieller's"  # a ratio that divides by 0 in some resample
    if drawn.shape != (resamples,):
        raise BrittleError(f"the statistic must give one number for each resample, got shape {drawn.shape}")
    low, high = np.quantile(drawn, [tail, 1 - tail])
    wide = widened(table, statistic, level=level) if bounded else _t_interval(table, statistic, level)
    if wide is not None:
        low, high, method = min(low, wide[0]), max(high, wide[1]), method + WIDENED
    return Estimate(name, value, float(low), float(high), level, len(table), method, percent)


def widened(rows: ArrayLike, statistic: Statistic, *, level: float = 0.95) -> tuple[float, float] | None:
    """The interval of a statistic of rows of right or wrong that holds for few samples and close to the bounds, too.

    None if the statistic has no tangent there.
    """
    table = check_rows(rows)
    known = linear_fraction(statistic, table.shape[1]) or linearised(statistic, means(table), len(table))
    return None if known is None else known.interval(table.astype(np.float64), level=level)


def share_intervals(
    shares: ArrayLike, *, resampled: FloatArray | None = None, level: float = 0.95, seed: int = 0, resamples: int = 1000
) -> tuple[FloatArray, FloatArray]:
    """The intervals of the means of the columns, for values from 0 to 1, such as each image's share of right cells.

    They are those of `bootstrap` for many columns at once; `resampled` are the `resampled_means` of these columns.
    """
    table = np.asarray(check_rows(shares), dtype=np.float64)
    tail = (1 - check_level(level)) / 2
    drawn = resampled_means(table, seed=seed, resamples=resamples) if resampled is None else resampled
    low, high = np.quantile(drawn, [tail, 1 - tail], axis=0)
    wide = mean_interval(table, 0, 1, level=level)
    return np.minimum(low, wide[0]), np.maximum(high, wide[1])


def means(rows: ArrayLike) -> FloatArray:
    """The mean of each column; NaN marks a sample that was not measured there."""
    values, measured = _split(check_rows(rows))
    count = len(values) if measured is None else _measured(measured.sum(axis=0, dtype=np.float64))
    return np.asarray(values.sum(axis=0, dtype=np.float64) / count)


def resampled_means(rows: ArrayLike, *, seed: int = 0, resamples: int = 1000) -> FloatArray:
    """The column means of many resamples of the rows, resamples × columns.

    The same seed and number of samples give the same resamples, so means of two models on the same images are
    paired, and a longer list begins with the shorter one.
    """
    table = check_rows(rows)
    values, measured = _split(table)
    out = np.empty((resamples, table.shape[1]))
    start = 0
    for weights in _weights(len(table), resamples, seed, values.dtype):
        total = (weights @ values).astype(np.float64)
        count = len(table) if measured is None else _measured((weights @ measured).astype(np.float64))
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
    off = values - centre if measured is None else (values - centre) * measured * (len(table) / measured.sum(axis=0))
    half = off.mean(axis=1).std(ddof=1) / len(table) ** 0.5 * float(stdtrit(len(table) - 1, (1 + level) / 2))
    return value - half, value + half


def _split(table: NDArray[np.generic]) -> tuple[FloatArray, FloatArray | None]:
    """Values with 0 for what was not measured, and where something was; float32 is exact for right and wrong."""
    if table.dtype == np.bool_ and len(table) < 2**24:
        return table.astype(np.float32), None
    values = table.astype(np.float64)
    missing = np.isnan(values)
    if not missing.any():
        return values, None
    return np.where(missing, 0.0, values), (~missing).astype(np.float64)


def _measured(count: FloatArray) -> FloatArray:
    if (count == 0).any():
        raise BrittleError("a column has no measured sample")
    return count


def _weights(n: int, resamples: int, seed: int, dtype: np.dtype[np.float64]) -> Iterator[FloatArray]:
    """How often each sample is drawn, for a block of resamples at a time.

    Philox words are the same in every version of NumPy, which the numbers of `Generator.integers` need not be.
    """
    if resamples < 1:
        raise BrittleError(f"a bootstrap needs at least one resample, got {resamples!r}")
    words = np.random.Philox(key=check_seed(seed) % 2**128)
    for start in range(0, resamples, BLOCK):
        size = min(BLOCK, resamples - start)
        weights = np.empty((size, n), dtype=dtype)
        for row in weights:
            drawn = (words.random_raw(n) >> np.uint64(32)) * np.uint64(n) >> np.uint64(32)
            row[:] = np.bincount(drawn.view(np.int64), minlength=n)
        yield weights
