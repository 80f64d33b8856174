"""How restless predictions are along a film of one image: flip probability and mFR of ImageNet-P."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brittle.metrics.fraction import Floats, divide


def flips(predictions: ArrayLike, *, noise: bool = False, difficulty: int = 1) -> Floats:
    """The share of frame pairs whose predicted class differs, for each film of predictions [film, frame].

    Each frame is compared with the one before it, or with the first where the film is noise, whose frames have no
    order. Difficulty 2 or 3 compares frames that lie so many steps apart, in all phases; for noise it is
    another film instead.
    """
    classes = np.asarray(predictions)
    if classes.ndim != 2:
        raise ValueError(f"predictions are films × frames, got shape {classes.shape}")
    earlier, later = frame_pairs(classes.shape[1], noise=noise, difficulty=difficulty)
    return np.asarray((classes[:, earlier] != classes[:, later]).mean(axis=1))


def flip_probability(predictions: ArrayLike, *, noise: bool = False, difficulty: int = 1) -> float:
    """The mean of `flips` over films: FP of one perturbation."""
    return float(flips(predictions, noise=noise, difficulty=difficulty).mean())


def mfr(probabilities: ArrayLike, baseline: ArrayLike) -> Floats:
    """mFR: the mean over perturbations (last axis) of the flip probability divided by the baseline's.

    AlexNet's flip probabilities were never printed, so the baseline is yours to measure; without one, report the
    mean flip probability under that name.
    """
    return mean_ratio(probabilities, baseline, "a flip probability of the baseline")


def mean_ratio(values: ArrayLike, baseline: ArrayLike, what: str) -> Floats:
    """The mean over the last axis of value / baseline."""
    if np.shape(values)[-1:] != np.shape(baseline)[-1:]:
        raise ValueError(f"one value for each perturbation in both, got {np.shape(values)} and {np.shape(baseline)}")
    return np.asarray(divide(values, baseline, what).mean(axis=-1))


def frame_pairs(frames: int, *, noise: bool, difficulty: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The frames to compare: earlier ones and later ones."""
    if difficulty not in (1, 2, 3):
        raise ValueError(f"difficulty must be 1, 2 or 3, got {difficulty!r}")
    step = 1 if noise else difficulty
    if frames <= step:
        raise ValueError(f"a film needs more than {step} frames to compare any, got {frames}")
    later = np.arange(step, frames)
    return np.zeros_like(later) if noise else later - step, later
