"""Minimal sample distance: how near the nearest sampled augmentation comes to a corruption."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brittle.distance.rows import Rows, blocks, mean_row
from brittle.metrics.fraction import Floats


def msd(augmentations: Rows | ArrayLike, corruptions: Rows | ArrayLike) -> float:
    """min over a of ‖f(a) − mean of f(c)‖₂, from features samples × dimensions (Mintun et al. 2021, equation 1).

    Not symmetric: the nearest single augmentation, the mean corruption. It falls with the number of augmentations, so
    compare schemes at equal numbers.
    """
    return float(msd_to(augmentations, mean_row(corruptions)[np.newaxis])[0])


def msd_to(augmentations: Rows | ArrayLike, means: ArrayLike) -> Floats:
    """The MSD to each of several mean corruptions, means × dimensions."""
    return np.asarray(sample_distances(augmentations, means).min(0), np.float64)


def sample_distances(augmentations: Rows | ArrayLike, means: ArrayLike) -> NDArray[np.float32]:
    """‖f(a) − m‖₂ of every augmentation to every mean m, samples × means; features are read a block at a time."""
    targets = np.asarray(means, np.float64)
    found = []
    for block in blocks(augmentations):
        rows = np.asarray(block, np.float64)
        if targets.ndim != 2 or rows.shape[1] != targets.shape[1]:
            raise ValueError(
                f"features of {rows.shape[1]} dimensions cannot be compared with means of shape {targets.shape}; both "
                "must come from the same model"
            )
        found.append(np.stack([_lengths(rows - target) for target in targets], 1).astype(np.float32))
    return np.concatenate(found)


def _lengths(rows: Floats) -> Floats:
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", rows, rows)))
