"""Paired comparisons of two or more models on the same images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from brittle._errors import BrittleError
from brittle._types import FloatArray, as_bool_array, check_level
from brittle.metrics.intervals import (
    WIDENED,
    Estimate,
    Statistic,
    bootstrap,
    check_rows,
    means,
    resampled_means,
    widened,
)


@dataclass(frozen=True)
class McNemar:
    """Numbers of samples that only the first or only the second model gets right; the exact two-sided p-value."""

    only_first: int
    only_second: int
    p: float

    def __str__(self) -> str:
        return f"{self.only_first} right by the first only, {self.only_second} by the second only, p = {self.p:.3g}"


def mcnemar(first: ArrayLike, second: ArrayLike) -> McNemar:
    """McNemar's exact test: do two models differ on these samples? Only samples on which they disagree count.

    It is the two-sided binomial test with p = 1/2. Samples must be independent, so test one cell, not several
    corrupted copies of the same images; for those use `difference`.
    """
    a, b = as_bool_array(first, "first"), as_bool_array(second, "second")
    if a.shape != b.shape or a.ndim != 1:
        raise BrittleError(f"two models are compared on the same vector of samples, got shapes {a.shape} and {b.shape}")
    only_a, only_b = int((a & ~b).sum()), int((b & ~a).sum())
    fewer, more = sorted((only_a, only_b))
    if fewer == more:
        return McNemar(only_a, only_b, 1.0)
    from scipy.special import bdtr

    return McNemar(only_a, only_b, min(1.0, 2 * float(bdtr(fewer, fewer + more, 0.5))))


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
    statistic_of = statistic or (lambda means: means.mean(axis=-1))
    return bootstrap(
        np.hstack([a, b]),
        gap_of(statistic_of, a.shape[1]),
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
    """A statistic of each further model minus that of the first, with simultaneous confidence intervals.

    Rows and statistic are those of `bootstrap`; row i of every model is the same sample. The critical value is the
    quantile of the largest |t| over the differences of *all* pairs of models in a resample (Tukey's method by
    bootstrap), so the intervals also hold if the first model was selected as the best. They are no narrower than those
    of `bootstrap` at the corresponding level. For two models it is `difference`.
    """
    if len(models) < 2 or len(names) != len(models) - 1:
        raise BrittleError(
            f"differences to the first model need a name for each further one, got {len(models)} models "
            f"and {len(names)} names"
        )
    pairs = [(place, 0) for place in range(1, len(models))]
    options = {"seed": seed, "resamples": resamples, "level": level, "percent": percent}
    return _of_pairs(models, pairs, statistic, names=names, **options)  # type: ignore[arg-type]


def pairwise_differences(
    models: Sequence[ArrayLike],
    statistic: Statistic | None = None,
    *,
    seed: int = 0,
    resamples: int = 1000,
    level: float = 0.95,
    percent: bool = True,
) -> dict[tuple[int, int], Estimate]:
    """A statistic of each model minus that of each later one, by their places, with simultaneous confidence intervals.

    The intervals are those of `differences`, whichever model stands first there.
    """
    pairs = list(combinations(range(len(models)), 2))
    names = [f"model {first + 1} − model {second + 1}" for first, second in pairs]
    options = {"seed": seed, "resamples": resamples, "level": level, "percent": percent}
    gaps = _of_pairs(models, pairs, statistic, names=names, **options) if pairs else []  # type: ignore[arg-type]
    return dict(zip(pairs, gaps, strict=True))


def indistinguishable_groups(distinct: ArrayLike) -> list[tuple[int, ...]]:
    """The largest groups of models of which no two are known to differ, the group of the first model first.

    `distinct` says of each pair whether it differs, models × models. A model stands in as many groups as it takes; two
    models differ exactly if they share none: the letters of a compact letter display (Piepho, 2004).

    >>> from brittle.metrics import indistinguishable_groups
    >>> indistinguishable_groups([[0, 0, 1], [0, 0, 0], [1, 0, 0]])  # only the first and the last differ
    [(0, 1), (1, 2)]
    """
    apart = np.asarray(distinct, dtype=bool)
    if apart.ndim != 2 or apart.shape[0] != apart.shape[1] or (apart != apart.T).any() or apart.diagonal().any():
        raise BrittleError(
            f"which models differ is a symmetric matrix in which none differs from itself, got {apart.shape}"
        )
    groups: list[frozenset[int]] = [frozenset(range(len(apart)))] if len(apart) else []
    for first, second in zip(*(ends.tolist() for ends in np.nonzero(np.triu(apart))), strict=True):
        together = [group for group in groups if first in group and second in group]
        halves = [group - {place} for group in together for place in (first, second)]
        groups = [group for group in groups if group not in together]
        for half in sorted(set(halves), key=len, reverse=True):  # one that another holds says nothing new
            if not any(half <= group for group in groups):
                groups.append(half)
    return sorted(tuple(sorted(group)) for group in groups)


def _of_pairs(
    models: Sequence[ArrayLike],
    pairs: Sequence[tuple[int, int]],
    statistic: Statistic | None,
    *,
    names: Sequence[str],
    seed: int,
    resamples: int,
    level: float,
    percent: bool,
) -> list[Estimate]:
    """A statistic of the first model of each pair minus that of the second."""
    tables = [check_rows(rows) for rows in models]
    if len({table.shape for table in tables}) > 1:
        shapes = ", ".join(str(table.shape) for table in tables)
        raise BrittleError(f"all models need the same samples and cells, got shapes {shapes}")
    if len(tables) == 2:
        [(first, second)] = pairs
        options = {"seed": seed, "resamples": resamples, "level": level, "percent": percent}
        return [difference(tables[first], tables[second], statistic, name=names[0], **options)]  # type: ignore[arg-type]
    statistic_of = statistic or (lambda columns: columns.mean(axis=-1))
    values = np.array([float(np.asarray(statistic_of(means(table)[np.newaxis])).reshape(())) for table in tables])
    resampled = np.stack(
        [np.asarray(statistic_of(resampled_means(t, seed=seed, resamples=resamples))) for t in tables], axis=1
    )
    critical_t = largest_t(resampled - values, level)
    single_level = level_alone(critical_t, level, len(tables))
    method = f"bootstrap, {resamples} resamples, seed {seed}; simultaneous for all pairs of {len(tables)} models"
    estimates = []
    for name, (first, second) in zip(names, pairs, strict=True):
        gap = values[first] - values[second]
        half_width = ((resampled[:, first] - resampled[:, second]) - gap).std() * critical_t
        low, high = gap - half_width, gap + half_width
        table = tables[first]
        wider = widened(np.hstack([table, tables[second]]), gap_of(statistic_of, table.shape[1]), level=single_level)
        if wider is not None:
            low, high = min(low, wider[0]), max(high, wider[1])
        estimates.append(
            Estimate(name, float(gap), float(low), float(high), level, len(table), f"{method}{WIDENED}", percent)
        )
    return estimates


def level_alone(critical_t: float, level: float, models: int) -> float:
    """The level of a single interval of ± `critical_t` standard errors, at most Bonferroni's level for all pairs.

    Bonferroni's level also applies if no resample shows a difference.
    """
    bonferroni = 1 - (1 - level) / (models * (models - 1) / 2)
    return bonferroni if critical_t == 0 else min(max(2 * NormalDist().cdf(critical_t) - 1, level), bonferroni)


def largest_t(errors: FloatArray, level: float) -> float:
    """The `level` quantile over resamples (rows) of the largest |t| of all differences of two columns."""
    check_level(level)
    largest = np.zeros(len(errors))
    for first in range(errors.shape[1] - 1):
        gaps = errors[:, first + 1 :] - errors[:, first : first + 1]
        std = gaps.std(axis=0)
        t = np.abs(gaps[:, std > 0]) / std[std > 0]
        largest = np.maximum(largest, t.max(axis=1, initial=0.0))
    return float(np.quantile(largest, level))


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values: rejecting those below α keeps the family-wise false-positive rate at α."""
    p = np.asarray(p_values, dtype=np.float64)
    if p.ndim != 1 or not ((p >= 0) & (p <= 1)).all():
        raise BrittleError(f"p-values are a row of numbers from 0 to 1, got {p_values!r}")
    order = np.argsort(p, kind="stable")
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(1, np.maximum.accumulate((len(p) - np.arange(len(p))) * p[order]))
    return [float(x) for x in adjusted]
