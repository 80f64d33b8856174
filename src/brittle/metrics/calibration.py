"""Calibration: whether a model is right as often as it is sure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brittle._errors import BrittleError
from brittle._types import FloatArray

BINS = 15
"""As in Guo et al. (2017), "On Calibration of Modern Neural Networks"."""


@dataclass(frozen=True, eq=False)
class Calibration:
    """Predictions in bins of equal width by their confidence; means of empty bins are NaN."""

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
    sure, right = np.asarray(confidence, dtype=np.float64), np.asarray(correct, dtype=bool)
    if sure.shape != right.shape or sure.ndim != 1 or not sure.size:
        raise BrittleError(
            f"confidences and what is right must be two lists of one length, got shapes {sure.shape} and {right.shape}"
        )
    if bins < 1:
        raise BrittleError(f"bins must be at least 1, got {bins}")
    if not ((sure >= 0) & (sure <= 1)).all():
        wrong = sure[~((sure >= 0) & (sure <= 1))][0]
        raise BrittleError(f"confidences must lie between 0 and 1, got {wrong:g}; give probabilities, not logits")
    place = np.clip(np.ceil(sure * bins).astype(np.int64) - 1, 0, bins - 1)
    counts = np.bincount(place, minlength=bins)
    below = np.where(counts > 0, counts, 1)
    means = (
        np.where(counts > 0, np.bincount(place, weights, bins) / below, np.nan)
        for weights in (sure, right.astype(float))
    )
    return Calibration(np.linspace(0, 1, bins + 1), counts, *means)


def expected_calibration_error(confidence: ArrayLike, correct: ArrayLike, *, bins: int = BINS) -> float:
    """The mean gap between confidence and accuracy over equal bins (Naeini et al., 2015); 0 is perfect, 1 the worst."""
    return calibration_bins(confidence, correct, bins=bins).ece
