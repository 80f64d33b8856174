"""MSD and MMD of many bootstrap resamples of the sampled augmentations and corruptions."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brittle.corruptions.draws import check_seed
from brittle.distance.corruption_features import CorruptionFeatures
from brittle.distance.rows import Rows, blocks, take
from brittle.metrics.bootstrap import resampled_means
from brittle.metrics.fraction import Floats

SHARE = 0.1
"""The share of the augmentations that is in a resample."""

GROUPS = 1000
"""Means of so many groups of augmentations stand for all of them in the resamples of MMD."""

TOGETHER = 16
"""Resamples that are measured at once, to bound the memory."""


def resampled_distances(
    augmentations: Rows | ArrayLike,
    corruptions: CorruptionFeatures,
    distances: NDArray[np.float32],
    *,
    resamples: int,
    seed: int,
) -> tuple[Floats, Floats]:
    """MSD and MMD of each resample, resamples × cells.

    A resample draws as many corruption samples as there are, with replacement, the same sample numbers in every cell
    (levels of a corruption share their draws). For MMD it draws as many augmentations, with replacement. For MSD it
    takes a random tenth of them, the same in every cell: a minimum does not vary enough between resamples of
    full size, which contain the nearest augmentation 63 times in 100. `distances` are those of the augmentations to the
    mean corruptions.
    """
    if resamples < 1:
        raise ValueError(f"intervals need at least one resample, got {resamples}")
    # another seed for the groups: their number may be that of the corruption samples, and then the draws would agree
    groups = resampled_means(_group_means(augmentations, len(distances)), seed=seed + 1, resamples=resamples)
    present = _present(len(distances), resamples, seed)
    minimal, mean = np.empty((2, resamples, len(corruptions.cells)))
    for cell, samples in enumerate(corruptions.values):
        moved = resampled_means(samples, seed=seed, resamples=resamples)
        mean[:, cell] = np.linalg.norm(groups - moved, axis=1)
        steps = moved - corruptions.means[cell]
        near = _can_be_nearest(distances[:, cell], present, np.linalg.norm(steps, axis=1))
        rows = take(augmentations, near) - corruptions.means[cell]
        minimal[:, cell] = _nearest(rows, steps, present[:, near])
    return minimal, mean


def _can_be_nearest(distances: NDArray[np.float32], present: NDArray[np.bool_], moves: Floats) -> NDArray[np.int64]:
    """The augmentations that can be the nearest one in any resample, so that only these are measured again.

    A mean that moves by r changes a distance by at most r: whatever is 2 r farther than the nearest one that is there
    stays behind it.
    """
    order = distances.argsort()
    first = distances[order[present[:, order].argmax(1)]]
    return np.flatnonzero(distances <= (first + 2 * moves).max() * (1 + 1e-6))


def _nearest(rows: Floats, targets: Floats, present: NDArray[np.bool_]) -> Floats:
    """The distance of each target to the nearest row that is present for it."""
    squares = np.einsum("ij,ij->i", rows, rows)
    found = np.empty(len(targets))
    for start in range(0, len(targets), TOGETHER):
        some = targets[start : start + TOGETHER]
        squared = np.einsum("ij,ij->i", some, some)[:, None] + squares - 2 * some @ rows.T
        squared[~present[start : start + TOGETHER]] = np.inf
        found[start : start + TOGETHER] = squared.min(1)
    return np.sqrt(np.maximum(found, 0))


def _present(count: int, resamples: int, seed: int) -> NDArray[np.bool_]:
    """Which augmentations are in which resample, resamples × samples."""
    rng = np.random.Generator(np.random.Philox(key=(check_seed(seed) + 2) % 2**128))
    there = np.empty((resamples, count), bool)
    for row in there:
        drawn = rng.random(count)
        row[:] = drawn < SHARE
        row[drawn.argmin()] = True  # a resample is never empty
    return there


def _group_means(rows: Rows | ArrayLike, count: int) -> Floats:
    """Means of consecutive groups of rows, as even as they can be."""
    dimensions = next(blocks(rows)).shape[1]
    sums, sizes = np.zeros((min(count, GROUPS), dimensions)), np.zeros(min(count, GROUPS))
    start = 0
    for block in blocks(rows):
        group = np.arange(start, start + len(block)) * len(sums) // count
        np.add.at(sums, group, block)
        np.add.at(sizes, group, 1)
        start += len(block)
    return np.asarray(sums / sizes[:, None])
