"""How a minimum falls with the number of samples."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray


def expected_minimum(distances: ArrayLike, sizes: Sequence[int]) -> NDArray[np.float64]:
    """The mean, over all subsets of a size, of the smallest distance in the subset; sizes × columns.

    Exact, from the sorted distances d₁ ≤ d₂ ≤ …: the k-th is the smallest of a subset of m out of n with probability
    C(n−k, m−1) / C(n, m). At m = n it is the minimum itself, at m = 1 the mean. `distances` are samples, or
    samples × columns.
    """
    table = np.sort(np.asarray(distances, np.float64), axis=0)
    if np.isnan(table).any():
        raise ValueError("distances must be numbers, and some are NaN; look at the features")
    n = len(table)
    found = []
    for size in sizes:
        if not 1 <= size <= n:
            raise ValueError(f"a subset of {n} samples has 1 to {n} of them, got {size}")
        k = np.arange(1, n - size + 1)
        weights = size / n * np.concatenate([[1.0], np.cumprod((n - k - size + 1) / (n - k))])
        found.append(weights @ table[: len(weights)])
    return np.array(found)


def sizes_up_to(count: int, *, per_decade: int = 3) -> list[int]:
    """1, 2, 5, 10 … and the count itself: sizes evenly spaced on a logarithmic scale."""
    steps = int(np.ceil(np.log10(max(count, 1)) * per_decade))
    return sorted({min(count, round(10 ** (i / per_decade))) for i in range(steps)} | {count})
