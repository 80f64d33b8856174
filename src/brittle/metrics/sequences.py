"""How stable predictions are along a sequence."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brittle._errors import BrittleError
from brittle._types import FloatArray, divide


def flips(predictions: ArrayLike, *, noise: bool = False, difficulty: int = 1) -> FloatArray:
    """The share of frame pairs whose predicted class differs, for each sequence of predictions [sequence, frame].

    Each frame is compared with the one before it, or with the first if the sequence is noise, whose frames have no
    order. Difficulty 2 or 3 compares frames that many steps apart, at every offset; for noise each
    difficulty has its own sequences instead.
    """
    classes = np.asarray(predictions)
    if classes.ndim != 2:
        raise BrittleError(f"predictions are sequences × frames, got shape {classes.shape}")
    earlier, later = frame_pairs(classes.shape[1], noise=noise, difficulty=difficulty)
    return np.asarray((classes[:, earlier] != classes[:, later]).mean(axis=1))


def flip_probability(predictions: ArrayLike, *, noise: bool = False, difficulty: int = 1) -> float:
    """The mean of `flips` over sequences: FP of one perturbation."""
    return float(flips(predictions, noise=noise, difficulty=difficulty).mean())


def mfr(probabilities: ArrayLike, baseline: ArrayLike) -> FloatArray:
    """mFR: the mean over perturbations (last axis) of the flip probability divided by the baseline's.

    AlexNet's flip probabilities were never published, so measure the baseline yourself; without one, report the mean
    flip probability under that name.
    """
    return mean_ratio(probabilities, baseline, "a flip probability of the baseline")


def mean_ratio(values: ArrayLike, baseline: ArrayLike, what: str) -> FloatArray:
    """The mean over the last axis of value / baseline."""
    if np.shape(values)[-1:] != np.shape(baseline)[-1:]:
        raise BrittleError(f"one value for each perturbation in both, got {np.shape(values)} and {np.shape(baseline)}")
    return np.asarray(divide(values, baseline, what).mean(axis=-1))


def frame_pairs(frames: int, *, noise: bool, difficulty: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The frames to compare: earlier ones and later ones."""
    if difficulty not in (1, 2, 3):
        raise BrittleError(f"difficulty must be 1, 2 or 3, got {difficulty!r}")
    step = 1 if noise else difficulty
    if frames <= step:
        raise BrittleError(f"a sequence needs more than {step} frames to compare, got {frames}")
    later = np.arange(step, frames)
    return np.zeros_like(later) if noise else later - step, later


TOP = 5


def top5_distances(scores: ArrayLike, *, noise: bool = False, difficulty: int = 1) -> FloatArray:
    """The change of the top five classes, for each sequence of class scores [sequence, frame, class].

    d = Σ_{i≤5} |min(i−1, 5) − min(σ(i)−1, 5)|, where σ(i) is the later rank of the class ranked i earlier; the mean
    over the frame pairs of `flips`. Between 0 and 15.
    """
    return np.asarray(top5_by_pair(scores, noise=noise, difficulty=difficulty).mean(axis=1))


def top5_by_pair(scores: ArrayLike, *, noise: bool = False, difficulty: int = 1) -> FloatArray:
    """The terms of `top5_distances`: one for each pair of frames, [sequence, pair]."""
    before = np.arange(TOP)
    return _by_pair(scores, TOP, lambda after: np.abs(before - np.minimum(after, TOP)).sum(-1), noise, difficulty)


def top5_distance(scores: ArrayLike, *, noise: bool = False, difficulty: int = 1) -> float:
    """uT5D: the mean of `top5_distances` over sequences."""
    return float(top5_distances(scores, noise=noise, difficulty=difficulty).mean())


def mt5d(distances: ArrayLike, baseline: ArrayLike) -> FloatArray:
    """mT5D: the mean over perturbations (last axis) of uT5D over the baseline's, which you must measure."""
    return mean_ratio(distances, baseline, "a top-5 distance of the baseline")


def zipf_distances(scores: ArrayLike, *, noise: bool = False, difficulty: int = 1) -> FloatArray:
    """Σ_i |1/i − 1/σ(i)| · 1/i over all classes, for each sequence: the mean over the frame pairs of `flips`."""
    return np.asarray(zipf_by_pair(scores, noise=noise, difficulty=difficulty).mean(axis=1))


def zipf_by_pair(scores: ArrayLike, *, noise: bool = False, difficulty: int = 1) -> FloatArray:
    """The terms of `zipf_distances`: one for each pair of frames, [sequence, pair]."""
    weight = 1 / np.arange(1, np.shape(scores)[-1] + 1)
    return _by_pair(scores, None, lambda after: (np.abs(weight - weight[after]) * weight).sum(-1), noise, difficulty)


def zipf_distance(scores: ArrayLike, *, noise: bool = False, difficulty: int = 1) -> float:
    """The mean of `zipf_distances` over sequences."""
    return float(zipf_distances(scores, noise=noise, difficulty=difficulty).mean())


def ranks(scores: ArrayLike) -> NDArray[np.intp]:
    """The rank of each class from 0 for the highest score; of equal scores the lower index comes first."""
    order = np.argsort(-np.asarray(scores, dtype=np.float64), axis=-1, kind="stable")
    out = np.empty_like(order)
    np.put_along_axis(out, order, np.broadcast_to(np.arange(order.shape[-1]), order.shape), axis=-1)
    return out


def _by_pair(
    scores: ArrayLike, top: int | None, distance: Callable[[NDArray[np.intp]], FloatArray], noise: bool, difficulty: int
) -> FloatArray:
    sequences = np.asarray(scores)
    if sequences.ndim != 3 or sequences.shape[2] < (top or 1):
        raise BrittleError(f"scores are sequences × frames × at least {top or 1} classes, got shape {sequences.shape}")
    earlier, later = frame_pairs(sequences.shape[1], noise=noise, difficulty=difficulty)
    out = np.empty((len(sequences), len(later)))
    for i, sequence in enumerate(sequences):  # one at a time, to save memory: ranks are as large as scores
        rank = ranks(sequence)
        first = np.argsort(rank, axis=-1)[earlier, :top]
        out[i] = distance(np.take_along_axis(rank[later], first, axis=-1))
    return out
