"""Several models against one: intervals that hold together, and p-values that are honest about how many were tried."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from brittle.metrics.bootstrap import WIDENED, Statistic, check_rows, means, resampled_means, widened
from brittle.metrics.estimate import Estimate
from brittle.metrics.fraction import Floats, check_level
from brittle.metrics.paired import difference, gap_of


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
    if the first model was picked for being the best, and no narrower than those of `bootstrap` at the level that goes
    with it. Two models have just the one difference, that of `difference`.
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
    alone = level_alone(widest, level, len(tables))
    method = f"bootstrap, {resamples} resamples, seed {seed}; together for all pairs of {len(tables)} models"
    found = []
    for name, table, gap, half in zip(names, tables[1:], value[1:] - value[0], off[1:], strict=True):
        low, high = gap - half, gap + half
        wide = widened(np.hstack([table, tables[0]]), gap_of(of, table.shape[1]), level=alone)
        if wide is not None:
            low, high = min(low, wide[0]), max(high, wide[1])
        found.append(
            Estimate(name, float(gap), float(low), float(high), level, len(table), f"{method}{WIDENED}", percent)
        )
    return found


def level_alone(widest: float, level: float, models: int) -> float:
    """The level of one difference that is as wide as so many standard errors, at most Bonferroni's for all pairs.

    That is also the level where no resample shows a difference.
    """
    most = 1 - (1 - level) / (models * (models - 1) / 2)
    return most if widest == 0 else min(max(2 * NormalDist().cdf(widest) - 1, level), most)


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
