"""Is one sample of numbers smaller than another: by ranks, without assuming any distribution."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brittle.corruptions.draws import check_seed


def rank_test(first: ArrayLike, second: ArrayLike, *, permutations: int = 9999, seed: int = 0) -> float:
    """The one-sided p-value that `first` is smaller, from the sum of its ranks among both (Wilcoxon, Mann–Whitney).

    The share of random exchanges between the two whose rank sum is as small, the one that was measured counted in, so
    never below 1 / (permutations + 1). Ties share their ranks.
    """
    a, b = (np.asarray(values, np.float64).ravel() for values in (first, second))
    if not a.size or not b.size:
        raise ValueError(f"a rank test needs two samples, got {a.size} and {b.size} numbers")
    if permutations < 1:
        raise ValueError(f"permutations must be at least 1, got {permutations}")
    both = np.concatenate([a, b])
    ordered = np.sort(both)
    ranks = (np.searchsorted(ordered, both, "left") + np.searchsorted(ordered, both, "right") + 1) / 2
    rng = np.random.Generator(np.random.Philox(key=check_seed(seed) % 2**128))
    order = rng.random((permutations, both.size)).argsort(1)[:, : a.size]
    as_small = int((ranks[order].sum(1) <= ranks[: a.size].sum() + 1e-9).sum())
    return (1 + as_small) / (permutations + 1)


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """p-values corrected for being several (Holm 1979): calling all below α keeps the chance of any error at α."""
    p = np.asarray(p_values, np.float64)
    order = p.argsort(kind="stable")
    raised = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(raised, 1)
    return adjusted
