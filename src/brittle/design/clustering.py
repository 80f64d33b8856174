"""Split corruptions into categories by their overlaps: with k-means as Syn2Nat does, or with a tree."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brittle.design.agreement import mean_correlations, vector_correlations
from brittle.design.categories import Categories, Step
from brittle.design.draw import generator
from brittle.design.overlap_matrix import OverlapMatrix, average_linkage, distances
from brittle.metrics.fraction import Floats

Labels = NDArray[np.int64]

STEPS = 100
"""Steps of k-means from each start; a few dozens of corruptions settle within ten."""


def categories(
    overlap: OverlapMatrix, *, count: int | None = None, min_correlation: float = 0.5, starts: int = 100, seed: int = 0
) -> Categories:
    """Categories by k-means on the overlap vectors, as few as make same-category vectors alike.

    The vector of a corruption is its row of the matrix, its own 1 included. K grows from 2 until the mean Pearson
    correlation over all same-category pairs exceeds `min_correlation` (Syn2Nat, section 3: 0.5 gave K = 6), or is
    `count` if you give one. K-means is the best of `starts` k-means++ starts; the same seed gives the same categories.
    """
    vectors = _vectors(overlap)
    if starts < 1:
        raise ValueError(f"k-means needs at least one start, got {starts!r}")

    def split(k: int) -> Labels:
        return k_means(vectors, k, starts=starts, rng=generator(seed))

    return _grow(overlap, split, count, min_correlation, len(np.unique(vectors, axis=0)))


def hierarchical(
    overlap: OverlapMatrix, *, count: int | None = None, min_correlation: float | None = None
) -> Categories:
    """Categories by average linkage on 1 − overlap: `count` of them, or the first number whose correlation suffices.

    Beside Syn2Nat's k-means: it needs no seed, and two corruptions come together because they overlap with each other,
    not because they overlap with the same others.
    """
    _vectors(overlap)
    if (count is None) == (min_correlation is None):
        raise ValueError(f"give either count or min_correlation, got {count!r} and {min_correlation!r}")
    from scipy.cluster.hierarchy import cut_tree

    merges = average_linkage(distances(overlap.scores))

    def split(k: int) -> Labels:
        return _in_order(cut_tree(merges, n_clusters=k)[:, 0])

    return _grow(overlap, split, count, -1 if min_correlation is None else min_correlation, len(overlap))


def _grow(
    overlap: OverlapMatrix, split: Callable[[int], Labels], count: int | None, min_correlation: float, most: int
) -> Categories:
    """Try 2, 3, … categories until same-category vectors are alike, or as many as asked for."""
    if count is not None and not 1 <= count <= most:
        raise ValueError(f"{len(overlap)} corruptions ({most} different) make 1 to {most} categories, got {count!r}")
    correlations = vector_correlations(overlap.scores, overlap.names)
    path: list[Step] = []
    for k in range(min(2, count or 2), (count or min(most, len(overlap) - 1)) + 1):
        labels = split(k)
        path.append(Step(k, *mean_correlations(correlations, labels)))
        if k == count or (count is None and path[-1].scc > min_correlation):
            groups = {str(c + 1): tuple(np.asarray(overlap.names)[labels == c].tolist()) for c in range(k)}
            return Categories(groups, path[-1].scc, path[-1].dcc, tuple(path), overlap.candidates)
    best = max(path, key=lambda step: step.scc, default=None)
    found = f"the highest is {best.scc:.3f} at {best.count}" if best else "there are too few corruptions"
    raise ValueError(
        f"no number of categories brings the mean same-category correlation above {min_correlation:g} ({found}); "
        "lower min_correlation or give a count"
    )


def _vectors(overlap: OverlapMatrix) -> Floats:
    masked = overlap.masked()
    if masked:
        a, b = masked[0]
        raise ValueError(
            f"the overlap of {a} and {b} is masked ({len(masked)} pairs are), so they have no overlap vector; leave "
            "such corruptions out with overlap.subset(...)"
        )
    return overlap.scores


def k_means(points: Floats, count: int, *, starts: int, rng: np.random.Generator) -> Labels:
    """The cluster of each point, with the lowest sum of squared distances to the means over all k-means++ starts.

    No cluster is empty, and clusters are numbered in the order of their first points. It is SciPy's `kmeans2`, whose
    steps stop changing anything long before STEPS for the few dozens of points that corruptions are.
    """
    from scipy.cluster.vq import ClusterError, kmeans2

    different = len(np.unique(points, axis=0))
    if not 1 <= count <= different:
        raise ValueError(f"{different} different points cannot make {count} clusters")
    best, lowest = None, np.inf
    for _ in range(starts):
        try:
            means, labels = kmeans2(points, count, iter=STEPS, minit="++", missing="raise", rng=rng)
        except ClusterError:  # a cluster became empty; another start does better
            continue
        cost = float(((points - means[labels]) ** 2).sum())
        if cost < lowest * (1 - 1e-12):
            best, lowest = labels, cost
    if best is None:
        raise ValueError(
            f"none of {starts} starts of k-means made {count} clusters; give more starts or fewer clusters"
        )
    return _in_order(best)


def _in_order(labels: NDArray[Any]) -> Labels:
    """Labels numbered in the order in which they first occur."""
    _, first, cluster = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[first.argsort()] = np.arange(len(first))
    return np.asarray(rank[cluster])
