"""Several models against one: intervals that hold together, and p-values that are honest about how many were tried."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from brittle.metrics.bootstrap import Statistic, check_rows, means, resampled_means
from brittle.metrics.estimate import Estimate
from brittle.metrics.fraction import Floats, check_level
from brittle.metrics.paired import difference


def differences(
    models: Sequence[ArrayLike],
    statistic: Statistic | None = None,
    *,
    names: Sequence[str],
    seed: int = 0,
    resamples: int = 1000,
    level: float = 0.95,
    percent: bool = True,
) -> list[Estimate]:
    """A statistic of each further model minus that of the first, with intervals that all hold at once.

    Rows and statistic are those of `bootstrap`; row i of every model is the same sample. Intervals are as wide as the
    largest |t| of the differences of *all* pairs of models in a resample (Tukey's way, by bootstrap), so they also hold
    if the first model was picked for being the best. Two models have just the one difference, that of `difference`.
    """
    tables = [check_rows(rows) for rows in models]
    if len(tables) < 2 or len(names) != len(tables) - 1:
        raise ValueError(
            f"differences to the first of several models need a name for each further one, got {len(tables)} models "
            f"and {len(names)} names"
        )
    if len({table.shape for table in tables}) > 1:
        shapes = ", ".join(str(table.shape) for table in tables)
        raise ValueError(f"all models need the same samples and cells, got shapes {shapes}")
    if len(tables) == 2:
        how = {"seed": seed, "resamples": resamples, "percent": percent}
        return [difference(tables[1], tables[0], statistic, name=names[0], level=level, **how)]  # type: ignore[arg-type]
    of = statistic or (lambda columns: columns.mean(axis=-1))
    value = np.array([float(np.asarray(of(means(table)[np.newaxis])).reshape(())) for table in tables])
    drawn = np.stack([np.asarray(of(resampled_means(t, seed=seed, resamples=resamples))) for t in tables], axis=1)
    widest = largest_t(drawn - value, level)
    off = ((drawn - drawn[:, :1]) - (value - value[0])).std(axis=0) * widest
    method = f"bootstrap, {resamples} resamples, seed {seed}; together for all pairs of {len(tables)} models"
    return [
        Estimate(name, gap, gap - half, gap + half, level, len(tables[0]), method, percent)
        for name, gap, half in zip(names, (value - value[0])[1:].tolist(), off[1:].tolist(), strict=True)
    ]


def largest_t(errors: Floats, level: float) -> float:
    """How many standard errors all differences of two columns stay within, in so many of the resamples (rows)."""
    check_level(level)
    most = np.zeros(len(errors))
    for first in range(errors.shape[1] - 1):
        gaps = errors[:, first + 1 :] - errors[:, first : first + 1]
        spread = gaps.std(axis=0)
        t = np.abs(gaps[:, spread > 0]) / spread[spread > 0]
        most = np.maximum(most, t.max(axis=1, initial=0.0))
    return float(np.quantile(most, level))


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values: of several tests, those below 0.05 are wrong together at most once in twenty times."""
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1 or not ((p >= 0) & (p <= 1)).all():
        raise ValueError(f"p-values are a row of numbers from 0 to 1, got {p_values!r}")
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(1, np.maximum.accumulate((len(p) - np.arange(len(p))) * p[order]))
    return [float(x) for x in adjusted]
