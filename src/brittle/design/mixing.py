"""What a distance says about an augmentation that does the right thing only now and then (the paper's Figure 2b)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.distance import CorruptionFeatures, mmd_to, msd_to
from brittle.training.augmentation import Mixture, Scheme
from brittle.training.augmentation.fixed import ADDRESS


def mixture_of(near: Scheme, far: Scheme, share: float) -> Mixture:
    """A mixture with a share of `near`, the rest `far`."""
    if not 0 <= share <= 1:
        raise ValueError(f"a share lies between 0 and 1, got {share}")
    return Mixture((near, far), (share, 1 - share))


def mixing_points(
    near: ArrayLike, far: ArrayLike, corruptions: CorruptionFeatures, shares: Sequence[float], *, seed: int = 0
) -> pl.DataFrame:
    """MSD and MMD of mixtures, means over corruptions and levels, one row a share: share, msd, mmd, picked.

    `near` and `far` are features of the first samples of two schemes, drawn with this seed; `picked` of a mixture's
    samples are of the near one. Its i-th sample is the i-th of the scheme that it picks, so nothing has to be looked at
    again.
    """
    mine, other = np.asarray(near), np.asarray(far)
    if mine.shape != other.shape:
        raise ValueError(f"both schemes need features of one shape, got {mine.shape} and {other.shape}")
    rows = []
    for share in shares:
        picked = _picked(share, len(mine), seed)
        mixed = np.where(picked[:, None], mine, other)
        msd, mmd = (corruptions.over_levels(each(mixed, corruptions.means)).mean() for each in (msd_to, mmd_to))
        rows.append((float(share), float(msd), float(mmd), int(picked.sum())))
    return pl.DataFrame(rows, schema=["share", "msd", "mmd", "picked"], orient="row")


def _picked(share: float, count: int, seed: int) -> NDArray[np.bool_]:
    """Which of a mixture's first samples are of the near scheme."""
    near, far = _Stand(), _Stand()
    mixture = mixture_of(near, far, share)
    return np.array([mixture.picked(Draws(seed, ADDRESS, i)) is near for i in range(count)])


class _Stand:
    """Stands for a scheme where only the pick matters."""

    def __call__(self, image: Image, _draws: Draws, /) -> Image:
        """Never asked for."""
        return image
