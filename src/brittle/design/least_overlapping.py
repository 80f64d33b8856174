"""The benchmark whose representatives differ most (Syn2Nat, section 4.4)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from brittle.design.categories import Categories
from brittle.design.overlap_matrix import OverlapMatrix, check_names
from brittle.metrics.fraction import Floats


def least_overlapping(
    benchmarks: Sequence[Sequence[str]], overlap: OverlapMatrix, categories: Categories
) -> tuple[str, ...]:
    """Of many benchmarks the one whose same-category corruptions overlap least, on average over such pairs.

    This is how ImageNet-Syn2Nat was picked from the benchmarks of n = 6, k = 3. A benchmark with a masked pair of the
    same category is passed over; the first of equals is taken.
    """
    means = same_category_overlaps(benchmarks, overlap, categories)
    if np.isnan(means).all():
        raise ValueError(
            f"none of {len(benchmarks)} benchmarks has two corruptions of a category whose overlaps are all known; "
            "take k of 2 or more and corruptions that are not masked"
        )
    return tuple(benchmarks[int(np.nanargmin(means))])


def same_category_overlaps(
    benchmarks: Sequence[Sequence[str]], overlap: OverlapMatrix, categories: Categories
) -> Floats:
    """The mean overlap of the same-category pairs of each benchmark; NaN if there are none or one is masked."""
    if not benchmarks:
        raise ValueError("give at least one benchmark to choose from")
    inside = np.zeros((len(benchmarks), len(overlap)))
    for row, benchmark in zip(inside, benchmarks, strict=True):
        row[overlap.positions(check_names(benchmark))] = 1
    used = inside.max(axis=0, initial=0)
    labels = np.array([categories.of(name) if one else "" for name, one in zip(overlap.names, used, strict=True)])
    same = (labels[:, np.newaxis] == labels) & (labels != "") & ~np.eye(len(overlap), dtype=bool)
    masked = same & np.isnan(overlap.scores)
    total, pairs, unknown = (
        np.einsum("bi,ij,bj->b", inside, weights.astype(np.float64), inside, optimize=True)
        for weights in (np.where(same, np.nan_to_num(overlap.scores), 0), same, masked)
    )
    good = (pairs > 0) & (unknown == 0)
    return np.where(good, total / np.where(good, pairs, 1), np.nan)
