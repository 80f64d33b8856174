"""Calibration: whether a model is right as often as it is sure, and what its probabilities are worth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brittle._errors import BrittleError
from brittle._types import FloatArray

BINS = 15
"""As in Guo et al. (2017), "On Calibration of Modern Neural Networks"."""

LEAST = float(np.finfo(np.float32).tiny)
"""The smallest probability that a logarithm is taken of."""

ROUNDING = 1e-2
"""How far a sum of rounded probabilities may be above 1."""


@dataclass(frozen=True, eq=False)
class Calibration:
    """Predictions in bins by their confidence; means of empty bins are NaN."""

    edges: FloatArray
    counts: NDArray[np.int64]
    confidence: FloatArray
    accuracy: FloatArray

    @property
    def ece(self) -> float:
        """The expected calibration error: the mean over predictions of |accuracy − confidence| of their bin."""
        filled = self.counts > 0
        gaps = np.abs(self.accuracy[filled] - self.confidence[filled])
        return float(self.counts[filled] @ gaps / self.counts.sum())

    @property
    def excess(self) -> float:
        """Mean confidence minus accuracy: above 0 the model is too sure of itself."""
        filled = self.counts > 0
        return float(self.counts[filled] @ (self.confidence - self.accuracy)[filled] / self.counts.sum())


def calibration_bins(confidence: ArrayLike, correct: ArrayLike, *, bins: int = BINS) -> Calibration:
    """Sort predictions into bins of confidence; bin i is (i / bins, (i + 1) / bins], and 0 belongs to the first.

    `confidence` is the probability of the predicted class, between 0 and 1; `correct` says which predictions are right.
    """
    sure, right = check_confidence(confidence, correct)
    place = confidence_bins(sure, bins=bins)
    return _calibration(np.linspace(0, 1, bins + 1), place, sure, right.astype(float), bins)


def adaptive_calibration_bins(confidence: ArrayLike, correct: ArrayLike, *, bins: int = BINS) -> Calibration:
    """Sort predictions into bins that hold equally many of them, by rank (Nguyen and O'Connor, 2015).

    Predictions of one confidence share their accuracy, so that their order does not matter. Bins are as many as there
    are predictions, if these are fewer.
    """
    sure, right = check_confidence(confidence, correct)
    order = np.argsort(sure, kind="stable")
    place = np.empty(len(sure), np.int64)
    place[order] = equal_mass_bins(len(sure), bins=bins)
    count = int(place.max()) + 1
    ranked = sure[order]
    firsts = np.searchsorted(place[order], np.arange(1, count))
    edges = np.concatenate([[0.0], (ranked[firsts - 1] + ranked[firsts]) / 2, [1.0]])
    return _calibration(edges, place, sure, shared_by_ties(sure, right.astype(float), order), count)


def confidence_bins(sure: FloatArray, *, bins: int = BINS) -> NDArray[np.int64]:
    """The bin of equal width of each confidence."""
    _check_bins(bins)
    return np.clip(np.ceil(np.asarray(sure, np.float64) * bins).astype(np.int64) - 1, 0, bins - 1)


def equal_mass_bins(count: int, *, bins: int = BINS) -> NDArray[np.int64]:
    """The bin of each rank, so that bins differ by one prediction at most."""
    _check_bins(bins)
    return np.arange(count) * min(bins, count) // count


def shared_by_ties(sure: FloatArray, values: FloatArray, order: NDArray[np.intp]) -> FloatArray:
    """Values with those of one confidence replaced by their mean: what any order of ties gives on average."""
    ranked = sure[order]
    starts = np.flatnonzero(np.concatenate([[True], ranked[1:] != ranked[:-1]]))
    if len(starts) == len(sure):
        return values
    lengths = np.diff(np.append(starts, len(sure)))
    shared = np.empty(len(values))
    shared[order] = np.repeat(np.add.reduceat(values[order], starts) / lengths, lengths)
    return shared


def _calibration(
    edges: FloatArray, place: NDArray[np.int64], sure: FloatArray, right: FloatArray, bins: int
) -> Calibration:
    counts = np.bincount(place, minlength=bins)
    below = np.where(counts > 0, counts, 1)
    means = (np.where(counts > 0, np.bincount(place, weights, bins) / below, np.nan) for weights in (sure, right))
    return Calibration(edges, counts, *means)


def expected_calibration_error(confidence: ArrayLike, correct: ArrayLike, *, bins: int = BINS) -> float:
    """The mean gap between confidence and accuracy over equal bins (Naeini et al., 2015); 0 is perfect, 1 the worst."""
    return calibration_bins(confidence, correct, bins=bins).ece


def adaptive_calibration_error(confidence: ArrayLike, correct: ArrayLike, *, bins: int = BINS) -> float:
    """The same over bins that hold equally many predictions, of which none is nearly empty."""
    return adaptive_calibration_bins(confidence, correct, bins=bins).ece


def calibration_interval(
    value: float, drawn: FloatArray, level: float, *, noise: FloatArray | None = None
) -> tuple[float, float]:
    """The interval of a calibration error from its resamples: the percentiles, and those mirrored at the value.

    Absolute gaps of resamples are larger than those of the sample, as those of the sample are larger than those of all
    images. The percentiles alone would only tell how much too large the value can be. `noise` is how far the gaps of
    each resample are from those of the sample, as a sum over bins: by so much the value may be too large, so the
    interval then reaches down as far.
    """
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    ends = float(min(low, 2 * value - high)), float(max(high, 2 * value - low))
    return ends if noise is None else (min(ends[0], value - float(np.quantile(noise, (1 + level) / 2))), ends[1])


def brier_scores(label_probability: ArrayLike, square_sum: ArrayLike) -> FloatArray:
    """The Brier score of each prediction over all classes: 1 − 2 p(label) + Σ p², from 0 (sure and right) to 2.

    That is the squared distance of the probabilities to those of an oracle (Brier, 1950); `square_sum` is Σ p².
    """
    of_label, squares = _check_probability(label_probability), np.asarray(square_sum, np.float64)
    if squares.shape != of_label.shape:
        raise BrittleError(
            f"probabilities and sums of squares have one length, got {of_label.shape} and {squares.shape}"
        )
    return np.maximum(1 - 2 * of_label + squares, 0.0)


def negative_log_likelihoods(label_probability: ArrayLike) -> FloatArray:
    """−log p(label) of each prediction; probabilities below the smallest number of single precision count as that."""
    return -np.log(np.maximum(_check_probability(label_probability), LEAST))


def check_confidence(confidence: ArrayLike, correct: ArrayLike) -> tuple[FloatArray, NDArray[np.bool_]]:
    """Confidences and what is right as two vectors; raises if they are not that."""
    sure, right = np.asarray(confidence, dtype=np.float64), np.asarray(correct, dtype=bool)
    if sure.shape != right.shape or sure.ndim != 1 or not sure.size:
        raise BrittleError(
            f"confidences and what is right must be two lists of one length, got shapes {sure.shape} and {right.shape}"
        )
    if not ((sure >= 0) & (sure <= 1)).all():
        wrong = sure[~((sure >= 0) & (sure <= 1))][0]
        raise BrittleError(f"confidences must lie between 0 and 1, got {wrong:g}; give probabilities, not logits")
    return sure, right


def _check_probability(label_probability: ArrayLike) -> FloatArray:
    given = np.asarray(label_probability, np.float64)
    inside = (given >= 0) & (given <= 1 + ROUNDING)
    if given.ndim != 1 or not given.size or not inside.all():
        wrong = f"{given[~inside][0]:g}" if given.ndim == 1 and given.size else f"shape {given.shape}"
        raise BrittleError(f"probabilities of labels are a list of numbers between 0 and 1, got {wrong}")
    return given


def _check_bins(bins: int) -> None:
    if bins < 1:
        raise BrittleError(f"bins must be at least 1, got {bins}")
