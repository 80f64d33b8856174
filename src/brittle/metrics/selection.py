"""Selective prediction: how often a model is right if it may refuse what it is least sure of."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brittle._errors import BrittleError
from brittle._types import FloatArray
from brittle.metrics.calibration import check_confidence, shared_by_ties

COVERAGE = 0.9
"""The share of predictions that is kept by default."""


@dataclass(frozen=True, eq=False)
class RiskCoverage:
    """The error among the surest predictions, for each number of them that is kept.

    `coverage[k - 1]` is k / n, and `risk[k - 1]` the share of errors among the k surest. Predictions of one confidence
    share their errors: that is the mean over all orders of them. `confidence` and `errors` are of each prediction.
    """

    coverage: FloatArray
    risk: FloatArray
    order: NDArray[np.intp]
    confidence: FloatArray
    errors: FloatArray

    @property
    def area(self) -> float:
        """The area under the curve (AURC of Geifman and El-Yaniv, 2017): the mean risk over all coverages."""
        return float(self.risk.mean())

    def accuracy_at(self, coverage: float = COVERAGE) -> float:
        """The accuracy of the surest predictions, so many that at least this share of all is covered."""
        return 1 - float(self.risk[self._kept(coverage) - 1])

    def _kept(self, coverage: float) -> int:
        if not 0 < coverage <= 1:
            raise BrittleError(f"coverage is a share above 0 and up to 1, got {coverage!r}")
        return min(max(math.ceil(coverage * len(self.risk) - 1e-9), 1), len(self.risk))

    def area_values(self) -> FloatArray:
        """A value for each prediction, in their order, whose mean is the area, and its change with it to first order.

        They are the area plus its influence function, so that the area can be resampled as a mean.
        """
        ranks = np.arange(1, len(self.risk) + 1)
        later = np.cumsum((1 / ranks)[::-1])[::-1]
        risks = np.cumsum((self.risk / ranks)[::-1])[::-1]
        return self._shared(self.risk - risks) + self.errors * self._shared(later)

    def accuracy_values(self, coverage: float = COVERAGE) -> FloatArray:
        """The same for the accuracy at a coverage; what is right near its threshold is the mean of close ranks."""
        count, kept = len(self.risk), self._kept(coverage)
        reach = max(math.isqrt(count), 1)
        ranked = shared_by_ties(self.confidence, self.errors, self.order)[self.order]
        near = 1 - float(ranked[max(kept - reach, 0) : kept + reach].mean())
        inside = self._shared((np.arange(count) < kept).astype(np.float64))
        return near + (1 - self.errors - near) * inside * count / kept

    def _shared(self, ranked: FloatArray) -> FloatArray:
        """What belongs to ranks as values of the predictions; those of one confidence share theirs."""
        values = np.empty(len(ranked))
        values[self.order] = ranked
        return shared_by_ties(self.confidence, values, self.order)


def risk_coverage(confidence: ArrayLike, correct: ArrayLike) -> RiskCoverage:
    """The risk-coverage curve of predictions, the surest first (El-Yaniv and Wiener, 2010)."""
    sure, right = check_confidence(confidence, correct)
    order = np.argsort(-sure, kind="stable")
    errors = 1 - right.astype(np.float64)
    ranks = np.arange(1, len(sure) + 1)
    risk = np.cumsum(shared_by_ties(sure, errors, order)[order]) / ranks
    return RiskCoverage(ranks / len(sure), risk, order, sure, errors)


def area_under_risk_coverage(confidence: ArrayLike, correct: ArrayLike) -> float:
    """AURC: the mean over all coverages of the error among the surest predictions; 0 is the best."""
    return risk_coverage(confidence, correct).area


def accuracy_at_coverage(confidence: ArrayLike, correct: ArrayLike, *, coverage: float = COVERAGE) -> float:
    """The accuracy of the surest predictions, by default of nine in ten: the rest is refused."""
    return risk_coverage(confidence, correct).accuracy_at(coverage)
