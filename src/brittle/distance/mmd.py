"""Distance of means: how near an augmentation comes to a corruption on average."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from brittle.distance.rows import Rows, mean_row
from brittle.metrics.fraction import Floats


def mmd(augmentations: Rows | ArrayLike, corruptions: Rows | ArrayLike) -> float:
    """‖mean of f(a) − mean of f(c)‖₂, from features samples × dimensions: what the MSD paper calls MMD.

    It is the maximum mean discrepancy with a linear kernel. An augmentation that hits the corruption with one sample in
    ten is far by this and near by MSD. Like any distance of two noisy means it lies too high, most where it is small:
    two samples of one scheme are never 0 apart.
    """
    return float(mmd_to(augmentations, mean_row(corruptions)[np.newaxis])[0])


def mmd_to(augmentations: Rows | ArrayLike, means: ArrayLike) -> Floats:
    """The MMD to each of several mean corruptions, means × dimensions."""
    mine, theirs = mean_row(augmentations), np.asarray(means, np.float64)
    if theirs.ndim != 2 or theirs.shape[1] != mine.size:
        raise ValueError(
            f"features of {mine.size} dimensions cannot be compared with means of shape {theirs.shape}; both must come "
            "from the same model"
        )
    return np.asarray(np.linalg.norm(mine - theirs, axis=1))
