"""What a distance says about an augmentation that does the right thing only now and then (the paper's Figure 2b)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from brittle.corruptions.draws import Draws
from brittle.distance.corruption_features import CorruptionFeatures
from brittle.distance.msd import sample_distances
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
    """MSD and MMD of mixtures to the mean of all cells, one row a share: share, msd, mmd, samples of `near`.

    `near` and `far` are features of the first samples of two schemes, drawn with this seed. A mixture's i-th sample is
    the i-th of the scheme that it picks, so nothing has to be looked at again.
    """
    mine, other = np.asarray(near), np.asarray(far)
    if mine.shape != other.shape:
        raise ValueError(f"both schemes need features of one shape, got {mine.shape} and {other.shape}")
    rows = []
    for share in shares:
        mixture = mixture_of(_First(), _Second(), share)
        picked = np.array([isinstance(mixture.picked(Draws(seed, ADDRESS, i)), _First) for i in range(len(mine))])
        mixed = np.where(picked[:, None], mine, other)
        msd = corruptions.over_levels(sample_distances(mixed, corruptions.means).min(0).astype(np.float64))
        mmd = corruptions.over_levels(np.linalg.norm(mixed.mean(0, dtype=np.float64) - corruptions.means, axis=1))
        rows.append((float(share), float(msd.mean()), float(mmd.mean()), int(picked.sum())))
    return pl.DataFrame(rows, schema=["share", "msd", "mmd", "picked"], orient="row")


class _First:
    """Stands for the near scheme where only the pick matters."""

    def __call__(self, image: np.ndarray, _draws: Draws) -> np.ndarray:
        return image


class _Second:
    """Stands for the far one."""

    def __call__(self, image: np.ndarray, _draws: Draws) -> np.ndarray:
        return image
