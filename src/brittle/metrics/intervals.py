"""Scores with a name and an interval: of proportions, and of means over images and cells by the bootstrap.

The bootstrap is widened where samples are few.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brittle._errors import BrittleError
from brittle._types import FloatArray, as_bool_array, check_level, check_seed
from brittle.metrics.bounded_means import linear_fraction, linearised, mean_interval


@dataclass(frozen=True)
class Estimate:
    """One metric of one model: a value and, unless it is a published number, its confidence interval.

    Values are plain numbers; with `percent` they are fractions and print as percents. `method` is the
    method of the interval, `n` the number of samples.
    """

    name: str
    value: float
    low: float | None = None
    high: float | None = None
    level: float = 0.95
    n: int | None = None
    method: str = ""
    percent: bool = True

    def __post_init__(self) -> None:
        if not self.name or self.name.upper() == "CE":
            raise BrittleError(f"{self.name!r} is ambiguous; name it mCE, relative mCE, unnormalised error, …")
        if (self.low is None) != (self.high is None):
            raise BrittleError(f"an interval has two ends, got low={self.low!r} and high={self.high!r}")

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        text = f"{self.name} {self._number(self.value)}{' %' if self.percent else ''}"
        if self.low is None or self.high is None:
            return text
        return f"{text} [{self._number(self.low)}, {self._number(self.high)}]"

    def _number(self, value: float) -> str:
        return f"{100 * value:.1f}" if self.percent else f"{value:.3f}"


def wilson(right: ArrayLike, n: ArrayLike, *, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
    """Wilson's score interval (1927), element by element: covers the level on average, never outside 0 … 1."""
    k, n = _counts(right, n)
    z = NormalDist().inv_cdf((1 + check_level(level)) / 2)
    share = k / n
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return np.where(k == 0, 0.0, middle - half), np.where(k == n, 1.0, middle + half)


def clopper_pearson(right: ArrayLike, n: ArrayLike, *, level: float = 0.95) -> tuple[FloatArray, FloatArray]:
    """The exact interval of Clopper and Pearson (1934), element by element: never covers less than the level."""
    from scipy.special import betaincinv

    k, n = _counts(right, n)
    tail = (1 - check_level(level)) / 2
    low = betaincinv(np.maximum(k, 1), n - k + 1, tail)
    high = betaincinv(k + 1, np.maximum(n - k, 1), 1 - tail)
    return np.where(k == 0, 0.0, low), np.where(k == n, 1.0, high)


def _counts(right: ArrayLike, n: ArrayLike) -> tuple[FloatArray, FloatArray]:
    k, total = np.broadcast_arrays(np.asarray(right, dtype=np.float64), np.asarray(n, dtype=np.float64))
    if not ((total >= 1) & (k >= 0) & (k <= total)).all():
        raise BrittleError(f"a proportion is k of n with 0 ≤ k ≤ n and n ≥ 1, got k = {right!r} and n = {n!r}")
    return k, total


Method = Literal["wilson", "clopper-pearson"]


def accuracy(correct: ArrayLike) -> FloatArray:
    """The fraction of right samples; the first axis is the sample, further axes are kept."""
    return np.asarray(as_bool_array(correct).mean(axis=0))


def error(correct: ArrayLike) -> FloatArray:
    """The fraction of wrong samples; the first axis is the sample, further axes are kept."""
    return np.asarray(1 - accuracy(correct))


def accuracy_estimate(
    correct: ArrayLike, *, name: str = "accuracy", level: float = 0.95, method: Method = "wilson"
) -> Estimate:
    """The accuracy of one cell with its interval.

    Wilson's covers the level on average; Clopper–Pearson's covers at least the level, and is wider for that.
    """
    right = as_bool_array(correct)
    if right.ndim != 1:
        raise BrittleError(f"an estimate is of one cell, a vector of samples; got shape {right.shape}")
    if method not in ("wilson", "clopper-pearson"):
        raise BrittleError(f'the interval is "wilson" or "clopper-pearson", got {method!r}')
    interval = wilson if method == "wilson" else clopper_pearson
    low, high = interval(right.sum(), right.size, level=level)
    return Estimate(name, float(right.mean()), float(low), float(high), level, right.size, method)


Statistic = Callable[[FloatArray], ArrayLike]
"""From the means of the columns, on the last axis, to one number for each leading index."""

WIDENED = ", widened for few samples"
"""Suffix of the method of an interval that contains the one of `widened`."""

BLOCK = 32
"""Number of resamples per matrix product."""

KEPT_DRAWS = 20_000_000
"""Up to so many draws (40 MB) are kept for the next interval of as many samples."""

MANY, GROUPS = 200_000, 20_000
"""Beyond this number of samples they are resampled in groups: a thousand draws of a million each take half a minute."""


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
    _check_draws(resamples, seed)
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
    paired, and more resamples extend fewer. More than `MANY` samples are first dealt at random into `GROUPS` groups,
    which are resampled as wholes: that has the same spread, to about half a percent of its width.
    """
    table = check_rows(rows)
    _check_draws(resamples, seed)
    values, measured = _split(table)
    if len(table) > MANY:
        groups = deal_into_groups(len(table), GROUPS, seed=seed)
        measured = np.ones((len(table), 1)) if measured is None else measured
        values, measured = _by_group(values, groups), _by_group(measured, groups)
    out = np.empty((resamples, table.shape[1]))
    start = 0
    for weights in _weights(len(values), resamples, seed, values.dtype):
        total = (weights @ values).astype(np.float64)
        count = len(table) if measured is None else _check_measured((weights @ measured).astype(np.float64))
        out[start : start + len(weights)] = total / count
        start += len(weights)
    return out


def deal_into_groups(n: int, count: int, *, seed: int = 0) -> NDArray[np.int64]:
    """The group of each sample: all groups have as many, but for one, and none has more of a class than by chance."""
    drawn = np.random.Philox(key=check_seed(seed) % 2**128).random_raw(n)
    groups = np.empty(n, dtype=np.int64)
    groups[np.argsort(drawn, kind="stable")] = np.arange(n) % count
    return groups


def _by_group(values: FloatArray, groups: NDArray[np.int64]) -> FloatArray:
    return np.stack([np.bincount(groups, weights=column) for column in values.T], axis=1)


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
        column = int(np.flatnonzero((count == 0).reshape(-1, count.shape[-1]).any(axis=0))[0])
        raise BrittleError(f"column {column} has no measured sample")
    return count


def _check_draws(resamples: int, seed: int) -> int:
    """The seed; raises if there is nothing to draw."""
    if resamples < 1:
        raise BrittleError(f"resamples must be at least 1, got {resamples!r}")
    return check_seed(seed)


def _weights(n: int, resamples: int, seed: int, dtype: np.dtype[np.float64]) -> Iterator[FloatArray]:
    """How often each sample is drawn, for a block of resamples at a time.

    Raw Philox output is the same in every version of NumPy; `Generator.integers` may change.
    """
    seed = _check_draws(resamples, seed)
    if n * resamples <= KEPT_DRAWS:
        counts = _kept_counts(n, resamples, seed)
        for start in range(0, resamples, BLOCK):
            yield counts[start : start + BLOCK].astype(dtype)
        return
    philox = np.random.Philox(key=seed % 2**128)
    for start in range(0, resamples, BLOCK):
        yield _drawn_counts(philox, n, min(BLOCK, resamples - start), dtype)


@lru_cache(maxsize=2)
def _kept_counts(n: int, resamples: int, seed: int) -> NDArray[np.generic]:
    """All weights in two bytes each: every interval of a report is of the same number of samples."""
    return _drawn_counts(np.random.Philox(key=seed % 2**128), n, resamples, np.dtype(np.uint16))


def _drawn_counts(philox: np.random.Philox, n: int, size: int, dtype: np.dtype[Any]) -> NDArray[Any]:
    counts = np.empty((size, n), dtype=dtype)
    for row in counts:
        drawn = (philox.random_raw(n) >> np.uint64(32)) * np.uint64(n) >> np.uint64(32)
        row[:] = np.bincount(drawn.view(np.int64), minlength=n)
    return counts
