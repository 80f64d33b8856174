"""Two or more models on the same images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from brittle._errors import BrittleError
from brittle._types import FloatArray, as_bool_array, check_level
from brittle.metrics.intervals import Estimate
from brittle.metrics.resampling import WIDENED, Statistic, bootstrap, check_rows, means, resampled_means, widened


@dataclass(frozen=True)
class McNemar:
    """Samples only the first model gets right, samples only the second does, and the exact two-sided p-value."""

    only_first: int
    only_second: int
    p: float

    def __str__(self) -> str:
        return f"{self.only_first} right by the first only, {self.only_second} by the second only, p = {self.p:.3g}"


def mcnemar(first: ArrayLike, second: ArrayLike) -> McNemar:
    """McNemar's exact test: do two models differ on these samples? Only samples on which they disagree count.

    It is the two-sided binomial test of a fair coin. Samples must be independent, so test one cell, not
    several corrupted copies of the same images; for those there is `difference`.
    """
    a, b = as_bool_array(first, "first"), as_bool_array(second, "second")
    if a.shape != b.shape or a.ndim != 1:
        raise BrittleError(f"two models are compared on the same vector of samples, got shapes {a.shape} and {b.shape}")
    only_a, only_b = int((a & ~b).sum()), int((b & ~a).sum())
    few, many = sorted((only_a, only_b))
    if few == many:
        return McNemar(only_a, only_b, 1.0)
    from scipy.special import bdtr

    return McNemar(only_a, only_b, min(1.0, 2 * float(bdtr(few, few + many, 0.5))))


def difference(
    first: ArrayLike,
    second: ArrayLike,
    statistic: Statistic | None = None,
    *,
    name: str = "difference",
    seed: int = 0,
    resamples: int = 1000,
    level: float = 0.95,
    percent: bool = True,
) -> Estimate:
    """A statistic of the first model minus that of the second, with its paired bootstrap interval.

    Rows and statistic are those of `bootstrap`; row i of both is the same sample.
    """
    a, b = check_rows(first), check_rows(second)
    if a.shape != b.shape:
        raise BrittleError(f"both models need the same samples and cells, got shapes {a.shape} and {b.shape}")
    of = statistic or (lambda means: means.mean(axis=-1))
    return bootstrap(
        np.hstack([a, b]),
        gap_of(of, a.shape[1]),
        name=name,
        seed=seed,
        resamples=resamples,
        level=level,
        percent=percent,
    )


def gap_of(statistic: Statistic, columns: int) -> Statistic:
    """The statistic of the first columns minus that of the others."""
    return lambda means: np.asarray(statistic(means[..., :columns])) - np.asarray(statistic(means[..., columns:]))


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
        raise BrittleError(
            f"differences to the first of several models need a name for each further one, got {len(tables)} models "
            f"and {len(names)} names"
        )
    if len({table.shape for table in tables}) > 1:
        shapes = ", ".join(str(table.shape) for table in tables)
        raise BrittleError(f"all models need the same samples and cells, got shapes {shapes}")
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


def largest_t(errors: FloatArray, level: float) -> float:
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
        raise BrittleError(f"p-values are a row of numbers from 0 to 1, got {p_values!r}")
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(1, np.maximum.accumulate((len(p) - np.arange(len(p))) * p[order]))
    return [float(x) for x in adjusted]
