"""Distance of means: how near an augmentation comes to a corruption on average."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from brittle.distance.rows import Rows, mean_row


def mmd(augmentations: Rows | ArrayLike, corruptions: Rows | ArrayLike) -> float:
    """‖mean of f(a) − mean of f(c)‖₂, from features samples × dimensions: what the MSD paper calls MMD.

    It is the maximum mean discrepancy with a linear kernel. An augmentation that hits the corruption with one sample in
    ten is far by this and near by MSD, and training on it helps as MSD says.
    """
    mine, theirs = mean_row(augmentations), mean_row(corruptions)
    if mine.shape != theirs.shape:
        raise ValueError(
            f"features of {mine.size} and {theirs.size} dimensions cannot be compared; both must come from one model"
        )
    return float(np.linalg.norm(mine - theirs))
