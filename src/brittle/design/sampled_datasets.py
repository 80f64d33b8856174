"""Many small data sets of candidate corruptions whose error is a target (C-bar, step 5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brittle.corruptions.draws import check_seed
from brittle.corruptions.kernels.compiled import compiled
from brittle.metrics.fraction import Floats

MOST = 5
"""The largest half of a data set: 5 of 30 candidates have 142,506 combinations of 7,776 choices each."""


@dataclass(frozen=True, eq=False)
class Halves:
    """Combinations of candidates that can have the target error, and one choice of severity sets for each."""

    members: NDArray[np.int64]
    sets: NDArray[np.int64]
    errors: Floats

    def __len__(self) -> int:
        return len(self.members)


def sampled_halves(
    errors: Sequence[Sequence[float]], target: float, size: int, *, tolerance: float = 0.01, seed: int = 0
) -> Halves:
    """For each combination of `size` candidates, one random choice of severity sets with about the target error.

    `errors` are the mean errors of each candidate's severity sets. About the target is within `tolerance` of it,
    relatively. Combinations that cannot be so are left out.
    """
    if not 1 <= size <= min(MOST, len(errors)):
        raise ValueError(f"half a data set has 1 to {min(MOST, len(errors))} of {len(errors)} corruptions, got {size}")
    if not (0 < target < 1 and 0 < tolerance < 1):
        raise ValueError(f"target and tolerance are fractions between 0 and 1, got {target!r} and {tolerance!r}")
    most = max(map(len, errors))
    table = np.full((len(errors), most), np.nan)
    for row, mine in zip(table, errors, strict=True):
        row[: len(mine)] = mine
    counts = np.array([len(mine) for mine in errors], np.int64)
    members = np.array(list(combinations(range(len(errors)), size)), np.int64)
    rng = np.random.Generator(np.random.Philox(key=check_seed(seed) % 2**128))
    sets, found = _choices(
        table, counts, members, target * (1 - tolerance), target * (1 + tolerance), rng.random(len(members))
    )
    there = ~np.isnan(found)
    if not there.any():
        raise ValueError(
            f"no {size} of {len(errors)} corruptions have a mean error within {100 * tolerance:g} % of {target:.3f}; "
            f"their severity sets have {np.nanmin(table):.3f} to {np.nanmax(table):.3f}: take other levels or a wider "
            "tolerance"
        )
    return Halves(members[there], sets[there], found[there])


@compiled
def _choices(table: Any, counts: Any, members: Any, low: float, high: float, uniform: Any) -> Any:
    """For each combination, one of the choices strictly between low and high, picked by its uniform; NaN if none is."""
    number, size = members.shape
    sets = np.zeros((number, size), np.int64)
    errors = np.full(number, np.nan)
    sums = np.zeros(counts.max() ** size)
    for i in range(number):
        total = 1  # the sums over all choices of the first members, one member more at a time
        sums[0] = 0.0
        for j in range(size):
            mine = table[members[i, j]]
            count = counts[members[i, j]]
            for k in range(total - 1, -1, -1):  # from the end, so that nothing is overwritten before it is read
                for c in range(count - 1, -1, -1):
                    sums[k * count + c] = sums[k] + mine[c]
            total *= count
        fitting = 0
        for k in range(total):
            if low * size < sums[k] < high * size:
                fitting += 1
        wanted = int(uniform[i] * fitting)
        for k in range(total):
            if low * size < sums[k] < high * size:
                if wanted == 0:
                    errors[i] = sums[k] / size
                    rest = k
                    for j in range(size - 1, -1, -1):
                        sets[i, j] = rest % counts[members[i, j]]
                        rest //= counts[members[i, j]]
                    break
                wanted -= 1
    return sets, errors


def disjoint_pairs(members: NDArray[np.int64], count: int, *, seed: int = 0) -> NDArray[np.int64]:
    """So many random pairs of combinations without a common member, pairs × 2; pairs may repeat."""
    if count < 1:
        raise ValueError(f"count must be at least 1, got {count}")
    rng = np.random.Generator(np.random.Philox(key=check_seed(seed) % 2**128))
    found: list[NDArray[np.int64]] = []
    have, tried = 0, 0
    while have < count:
        drawn = (rng.random((2 * count, 2)) * len(members)).astype(np.int64)
        first, second = members[drawn[:, 0]], members[drawn[:, 1]]
        good = drawn[~(first[:, :, np.newaxis] == second[:, np.newaxis]).any((1, 2))]
        found.append(good)
        have, tried = have + len(good), tried + 1
        if tried == 50 and not have:
            raise ValueError(
                "no two halves without a common corruption were found; give more candidates, ask for fewer corruptions "
                "or widen the tolerance"
            )
    return np.concatenate(found)[:count]
