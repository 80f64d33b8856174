"""Two models on the same samples."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from brittle.metrics.bootstrap import Statistic, bootstrap, check_rows
from brittle.metrics.estimate import Estimate
from brittle.metrics.fraction import right_or_wrong


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
    a, b = right_or_wrong(first, "first"), right_or_wrong(second, "second")
    if a.shape != b.shape or a.ndim != 1:
        raise ValueError(f"two models are compared on the same vector of samples, got shapes {a.shape} and {b.shape}")
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
        raise ValueError(f"both models need the same samples and cells, got shapes {a.shape} and {b.shape}")
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
