"""How well two overlap matrices of the same corruptions agree: another seed, a cheaper training, other data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from brittle.design.overlap_matrix import OverlapMatrix
from brittle.metrics import Estimate
from brittle.metrics.correlation import correlate, mean_ranks
from brittle.metrics.fraction import Floats

FEWEST = 4


@dataclass(frozen=True)
class MatrixAgreement:
    """Spearman's correlation and the mean absolute difference over the `pairs` that both matrices know."""

    spearman: Estimate
    mean_absolute: Estimate
    pairs: int

    def __str__(self) -> str:
        return f"{self.spearman}, {self.mean_absolute} ({self.pairs} pairs)"


def compare_overlaps(
    first: OverlapMatrix, second: OverlapMatrix, *, resamples: int = 1000, seed: int = 0
) -> MatrixAgreement:
    """The agreement of two matrices, whose corruptions may stand in another order.

    Pairs that share a corruption are not independent, so intervals draw whole corruptions again, not pairs. Pairs that
    one of the matrices masks are left out.
    """
    if set(first.names) != set(second.names):
        odd = sorted(set(first.names) ^ set(second.names))
        raise ValueError(f"both matrices need the same corruptions; only one of them has {', '.join(odd[:3])}")
    a, b = first.scores, second.subset(first.names).scores
    known = ~(np.isnan(a) | np.isnan(b)) & ~np.eye(len(a), dtype=bool)
    if known.sum() // 2 < FEWEST:
        raise ValueError(f"both matrices know only {known.sum() // 2} pairs; an agreement needs at least {FEWEST}")
    rng = np.random.Generator(np.random.Philox(seed))
    everyone = np.arange(len(a))
    value = _agreement(a, b, known, everyone)
    drawn = np.array([_agreement(a, b, known, rng.choice(everyone, len(a))) for _ in range(resamples)])
    low, high = np.nanquantile(drawn, [0.025, 0.975], axis=0)
    method = f"bootstrap over corruptions, {resamples} resamples, seed {seed}"
    both = [
        Estimate(name, float(value[i]), float(low[i]), float(high[i]), n=len(a), method=method, percent=False)
        for i, name in enumerate(("Spearman", "mean absolute difference"))
    ]
    return MatrixAgreement(both[0], both[1], int(known.sum()) // 2)


def _agreement(a: Floats, b: Floats, known: NDArray[np.bool_], chosen: NDArray[np.int64]) -> tuple[float, float]:
    """Of the pairs among chosen corruptions; one that was drawn twice makes no pair with itself."""
    rows, columns = np.triu_indices(len(chosen), 1)
    i, j = chosen[rows], chosen[columns]
    pairs = known[i, j]
    x, y = a[i, j][pairs], b[i, j][pairs]
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return float("nan"), float("nan")
    return float(correlate(mean_ranks(x), mean_ranks(y))), float(np.abs(x - y).mean())
