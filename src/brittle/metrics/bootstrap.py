"""Draw the samples again, with replacement, to see how far a metric would wander."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brittle.corruptions.draws import check_seed
from brittle.metrics.estimate import Estimate
from brittle.metrics.fraction import Floats, check_level

Statistic = Callable[[Floats], ArrayLike]
"""From the means of the columns, on the last axis, to one number for each leading index."""

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
    resampled: Floats | None = None,
) -> Estimate:
    """A statistic of the column means of per-sample rows, with its percentile bootstrap interval over samples.

    A row is all that is known of one sample: right or wrong in each cell, for one model or for several side by
    side. Whole rows are drawn, so cells that share images stay together. Without a statistic it is the
    mean of the columns. `resampled` are the `resampled_means` with this seed, where several statistics share them.

        bootstrap(correct, lambda accuracy: mce(1 - accuracy.reshape(-1, 15, 5).mean(-1), alexnet), name="mCE")
    """
    table = check_rows(rows)
    statistic = statistic or (lambda means: means.mean(axis=-1))
    tail = (1 - check_level(level)) / 2
    value = float(np.asarray(statistic(means(table)[np.newaxis])).reshape(()))
    try:
        if resampled is None:
            resampled = resampled_means(table, seed=seed, resamples=resamples)
        drawn = np.asarray(statistic(resampled), dtype=np.float64)
    except ValueError as error:
        raise ValueError(f"{name} is undefined in a resample ({error}); it needs more samples") from error
    if drawn.shape != (resamples,):
        raise ValueError(f"the statistic must give one number for each resample, got shape {drawn.shape}")
    low, high = np.quantile(drawn, [tail, 1 - tail])
    method = f"bootstrap, {resamples} resamples, seed {seed}"
    return Estimate(name, value, float(low), float(high), level, len(table), method, percent)


def means(rows: ArrayLike) -> Floats:
    """The mean of each column; NaN marks a sample that was not measured there."""
    values, measured = _split(check_rows(rows))
    count = len(values) if measured is None else _measured(measured.sum(axis=0, dtype=np.float64))
    return np.asarray(values.sum(axis=0, dtype=np.float64) / count)


def resampled_means(rows: ArrayLike, *, seed: int = 0, resamples: int = 1000) -> Floats:
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
        raise ValueError(f"rows are samples × columns with at least one of each, got shape {np.shape(rows)}")
    return table


def _split(table: NDArray[np.generic]) -> tuple[Floats, Floats | None]:
    """Values with 0 for what was not measured, and where something was; float32 is exact for right and wrong."""
    if table.dtype == np.bool_ and len(table) < 2**24:
        return table.astype(np.float32), None
    values = table.astype(np.float64)
    missing = np.isnan(values)
    if not missing.any():
        return values, None
    return np.where(missing, 0.0, values), (~missing).astype(np.float64)


def _measured(count: Floats) -> Floats:
    if (count == 0).any():
        raise ValueError("a column has no measured sample")
    return count


def _weights(n: int, resamples: int, seed: int, dtype: np.dtype[np.float64]) -> Iterator[Floats]:
    """How often each sample is drawn, for a block of resamples at a time.

    Philox words are the same in every version of NumPy, which the numbers of `Generator.integers` need not be.
    """
    if resamples < 1:
        raise ValueError(f"a bootstrap needs at least one resample, got {resamples!r}")
    words = np.random.Philox(key=check_seed(seed) % 2**128)
    for start in range(0, resamples, BLOCK):
        size = min(BLOCK, resamples - start)
        weights = np.empty((size, n), dtype=dtype)
        for row in weights:
            drawn = (words.random_raw(n) >> np.uint64(32)) * np.uint64(n) >> np.uint64(32)
            row[:] = np.bincount(drawn.view(np.int64), minlength=n)
        yield weights
