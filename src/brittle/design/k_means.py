"""K-means clustering: k-means++ seeding, Lloyd's steps, the best of many starts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from brittle.metrics.fraction import Floats

STEPS = 1000
"""Lloyd's steps end by themselves; this bound is the paper's."""


def k_means(points: Floats, count: int, *, starts: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """The cluster of each point, with the lowest sum of squared distances to the means over all starts.

    No cluster is empty, and clusters are numbered in the order of their first points.
    """
    if not 1 <= count <= len(np.unique(points, axis=0)):
        raise ValueError(f"{len(np.unique(points, axis=0))} different points cannot make {count} clusters")
    best, lowest = np.zeros(len(points), dtype=np.int64), np.inf
    for _ in range(starts):
        labels, cost = _lloyd(points, _spread_seeds(points, count, rng))
        if cost < lowest * (1 - 1e-12):
            best, lowest = labels, cost
    _, first, cluster = np.unique(best, return_index=True, return_inverse=True)
    return np.asarray(first.argsort().argsort()[cluster], dtype=np.int64)


def _spread_seeds(points: Floats, count: int, rng: np.random.Generator) -> Floats:
    """k-means++: each new seed is drawn in proportion to its squared distance from the seeds so far."""
    chosen = [int(rng.random() * len(points))]
    nearest = _squared(points, points[chosen])[:, 0]
    while len(chosen) < count:
        total = np.cumsum(nearest)
        new = int(np.searchsorted(total, rng.random() * total[-1], side="right"))
        chosen.append(new)
        nearest = np.minimum(nearest, _squared(points, points[[new]])[:, 0])
    return points[chosen]


def _lloyd(points: Floats, means: Floats) -> tuple[NDArray[np.int64], float]:
    """Assign and average in turns until no point changes its cluster."""
    count, labels = len(means), np.full(len(points), -1)
    for _ in range(STEPS):
        distance = _squared(points, means)
        new = distance.argmin(axis=1)
        own = distance[np.arange(len(points)), new]
        for empty in np.flatnonzero(np.bincount(new, minlength=count) == 0):  # the farthest point starts it anew
            crowded = np.bincount(new, minlength=count)[new] > 1
            far = int(np.where(crowded, own, -1).argmax())
            new[far], own[far] = empty, 0
        if (new == labels).all():
            break
        labels = new
        member = (labels == np.arange(count)[:, np.newaxis]).astype(np.float64)
        means = member @ points / member.sum(axis=1, keepdims=True)
    return labels, float(((points - means[labels]) ** 2).sum())


def _squared(points: Floats, means: Floats) -> Floats:
    return np.asarray(((points[:, np.newaxis] - means) ** 2).sum(axis=-1))
