"""Is one sample of numbers smaller than another: by ranks, without assuming any distribution."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from brittle.corruptions.draws import check_seed


def rank_test(first: ArrayLike, second: ArrayLike, *, permutations: int = 9999, seed: int = 0) -> float:
    """The one-sided p-value that `first` is smaller, from the sum of its ranks among both (Wilcoxon, Mann–Whitney).

    The share of random exchanges between the two whose rank sum is as small, the one that was measured counted in, so
    never below 1 / (permutations + 1). Ties share their ranks.
    """
    from scipy.stats import permutation_test, rankdata

    a, b = (np.asarray(values, np.float64).ravel() for values in (first, second))
    if not a.size or not b.size:
        raise ValueError(f"a rank test needs two samples, got {a.size} and {b.size} numbers")
    if permutations < 1:
        raise ValueError(f"permutations must be at least 1, got {permutations}")
    ranks = rankdata(np.concatenate([a, b]))
    found = permutation_test(
        (ranks[: a.size], ranks[a.size :]),
        lambda x, _, axis: x.sum(axis=axis),
        alternative="less",
        n_resamples=permutations,
        vectorized=True,
        rng=np.random.Generator(np.random.Philox(key=check_seed(seed) % 2**128)),
    )
    return float(found.pvalue)
