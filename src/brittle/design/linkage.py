"""Hierarchical clustering by average linkage (UPGMA): small, exact, for hundreds of items."""

from __future__ import annotations

import numpy as np

from brittle.metrics.fraction import Floats


def average_linkage(distance: Floats) -> Floats:
    """Merge the two clusters with the lowest mean distance between their members, until one is left.

    Row i of the (n−1) × 4 result merges two clusters at a height into cluster n + i of some size, as SciPy's
    `linkage(method="average")` writes it. Equal distances are merged in the order of the items.
    """
    n = len(distance)
    mean = np.array(distance, dtype=np.float64)
    np.fill_diagonal(mean, np.inf)
    label, size = np.arange(n), np.ones(n)
    merges = np.empty((max(n - 1, 0), 4))
    for step in range(n - 1):
        i, j = sorted(divmod(int(mean.argmin()), n))
        pair = sorted((label[i], label[j]))
        merges[step] = (*pair, mean[i, j], size[i] + size[j])
        joined = (size[i] * mean[i] + size[j] * mean[j]) / (size[i] + size[j])
        joined[i] = np.inf
        mean[i], mean[:, i] = joined, joined
        mean[j], mean[:, j] = np.inf, np.inf
        label[i], size[i] = n + step, size[i] + size[j]
    return merges


def cut(merges: Floats, count: int) -> list[list[int]]:
    """The clusters when `count` are left, each sorted, in the order of their first items."""
    n = len(merges) + 1
    clusters = {i: [i] for i in range(n)}
    for step, (a, b, _, _) in enumerate(merges[: n - count]):
        clusters[n + step] = clusters.pop(int(a)) + clusters.pop(int(b))
    return sorted(sorted(cluster) for cluster in clusters.values())


def leaf_order(merges: Floats, alike: Floats) -> list[int]:
    """The items in an order in which no two branches of the tree cross.

    At each merge the two branches are turned so that the ends which touch are as alike as they can be.
    """
    n = len(merges) + 1
    branches = {i: [i] for i in range(n)}
    for step, (a, b, _, _) in enumerate(merges):
        left, right = branches.pop(int(a)), branches.pop(int(b))
        turned = [(x, y) for x in (left, left[::-1]) for y in (right, right[::-1])]
        x, y = max(turned, key=lambda both: alike[both[0][-1], both[1][0]])
        branches[n + step] = x + y
    return branches[max(branches)]
