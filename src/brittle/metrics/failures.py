"""Failure points: the smallest severity at which the model is wrong on each image."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from brittle._errors import BrittleError
from brittle._types import FloatArray, as_bool_array, check_level
from brittle.metrics.intervals import Estimate, wilson

CNS_LIMIT = 3.0
"""CNS-Bench counts a trajectory that never fails as failing at scale 3 when it averages."""


@dataclass(frozen=True, eq=False)
class FailurePoints:
    """One failure point per sample, `inf` for a sample that never failed at the tested severities.

    A sample that is wrong already at severity 0 has failure point 0: it counts in every fraction, and `right_at_zero`
    removes it.
    """

    points: FloatArray
    severities: FloatArray

    def __len__(self) -> int:
        return len(self.points)

    @property
    def never(self) -> int:
        """The number of samples that never failed (right-censored: the failure point lies beyond the last severity)."""
        return int(np.isinf(self.points).sum())

    @property
    def at_zero(self) -> int:
        """The number of samples that are wrong on the clean image."""
        return int((self.points == 0).sum())

    def right_at_zero(self) -> FailurePoints:
        """The samples that are right at severity 0."""
        right = self.points > 0
        if not right.any():
            raise BrittleError("every sample is wrong at severity 0, so none is left")
        return FailurePoints(self.points[right], self.severities)

    def histogram(self) -> FloatArray:
        """The fraction of all samples that fail first at each severity.

        Fractions are of all N samples, as in CNS-Bench: those that never fail are in N and in no bin, so the sum is 1
        minus their fraction. CNS-Bench plots the bins above severity 0 only.
        """
        return np.asarray((self.points[:, np.newaxis] == self.severities).mean(axis=0))

    def survival(self, severities: ArrayLike | None = None) -> FloatArray:
        """The fraction of samples still right at each severity: no failure at or below it."""
        return np.asarray(self._survivors(severities) / len(self))

    def survival_interval(
        self, severities: ArrayLike | None = None, *, level: float = 0.95
    ) -> tuple[FloatArray, FloatArray]:
        """Wilson's interval of the survival curve, severity by severity."""
        return wilson(self._survivors(severities), len(self), level=level)

    def mean_margin(self, limit: float = CNS_LIMIT) -> float:
        """mean(limit − failure point) of CNS-Bench, samples that never failed counting as `limit`.

        A large margin is bad: the model fails far below the limit.
        """
        return limit - self.mean(limit)

    def mean(self, limit: float | None = None) -> float:
        """The mean failure point, samples that never failed counting as `limit` (by default the last severity).

        It is the area under the survival curve up to the limit, the restricted mean of survival analysis.
        """
        limit = float(self.severities[-1]) if limit is None else float(limit)
        if limit < self.severities[-1]:
            raise BrittleError(f"the limit must not lie below the last severity {self.severities[-1]:g}, got {limit:g}")
        return float(np.minimum(self.points, limit).mean())

    def mean_of_failed(self) -> float:
        """The mean failure point of the samples that failed at all, as CNS-Bench's `fp_avg`."""
        failed = self.points[np.isfinite(self.points)]
        if not failed.size:
            raise BrittleError(f"none of {len(self.points)} samples failed, so there is no mean failure point")
        return float(failed.mean())

    def median(self) -> float:
        """The severity at which half of the samples have failed; `inf` if more than half never did."""
        return float(np.sort(self.points)[(len(self) - 1) // 2])

    def quantile(self, share: float, *, level: float = 0.95) -> Estimate:
        """The severity at which this share of the samples has failed, with its interval from order statistics.

        The value is the first tested severity at which at least this share has failed; `median` is that of 0.5. The
        ends are failure points of samples: the number that fail before the true quantile is binomial, so the interval
        covers it with at least the level for any distribution (Clopper and Pearson's argument). An end is `inf` if too
        many samples never failed within the range, and the low end is 0 with too few samples: for 5 %, below 72.
        """
        if not 0 < share < 1:
            raise BrittleError(f"a quantile is of a share between 0 and 1, such as 0.05, got {share!r}")
        from scipy.special import bdtr

        n, tail = len(self), (1 - check_level(level)) / 2
        ordered = np.sort(self.points)
        at_most = np.r_[0.0, bdtr(np.arange(n), n, share), 1.0]
        below = int((at_most[1:-1] <= tail).sum())  # P(at most this many fail before the quantile) ≤ tail
        above = int((at_most[1:] < 1 - tail).sum()) + 1
        low = float(ordered[below - 1]) if below else 0.0
        high = float(ordered[above - 1]) if above <= n else math.inf
        value = float(ordered[math.ceil(share * n - 1e-9) - 1])
        name = f"{100 * share:g} % quantile of the failure points"
        return Estimate(name, value, low, high, level, n, "order statistics", percent=False)

    def still_right(self, severity: float, *, level: float = 0.95) -> Estimate:
        """The fraction of samples still right at one severity, with its interval."""
        low, high = self.survival_interval([severity], level=level)
        name = f"still right at severity {severity:g}"
        return Estimate(
            name, float(self.survival([severity])[0]), float(low[0]), float(high[0]), level, len(self), "wilson"
        )

    def _survivors(self, severities: ArrayLike | None) -> FloatArray:
        thresholds = self.severities if severities is None else np.asarray(severities, dtype=np.float64)
        if (thresholds > self.severities[-1]).any():
            raise BrittleError(
                f"survival is unknown beyond the last severity {self.severities[-1]:g}, got {thresholds.max():g}"
            )
        return np.asarray((self.points[:, np.newaxis] > thresholds).sum(axis=0), dtype=np.float64)


def quantile_difference(first: FailurePoints, second: FailurePoints, share: float, *, level: float = 0.95) -> Estimate:
    """The quantile of the first model's failure points minus that of the second's, on the same samples in one order.

    Each is of the samples that its own model gets right at severity 0. The ends are those of the two quantiles from
    order statistics, combined with the correlation of the two models' failures as in Zou and Donner's intervals
    of differences, and go out to whole steps between severities. What lies beyond the last severity counts as the last
    severity.
    """
    if first.points.shape != second.points.shape:
        raise BrittleError(f"both models need the same samples, got {len(first)} and {len(second)}")
    a, b = (one.right_at_zero().quantile(share, level=level) for one in (first, second))
    last = min(float(one.severities[-1]) for one in (first, second))
    value, low, high = ([min(end, last) for end in ends] for ends in zip(*map(_ends, (a, b)), strict=True))
    off = [
        np.where(one.points > 0, (one.points <= at) - float((one.points[one.points > 0] <= at).mean()), 0.0)
        for one, at in zip((first, second), value, strict=True)
    ]
    spread = float(np.sqrt((off[0] ** 2).sum() * (off[1] ** 2).sum()))
    correlation = float((off[0] * off[1]).sum()) / spread if spread else 0.0

    def reach(down: float, up: float) -> float:
        return math.sqrt(max(down**2 + up**2 - 2 * correlation * down * up, 0.0))

    gap = value[0] - value[1]
    step = min(float(np.diff(one.severities).min(initial=math.inf)) for one in (first, second))
    under = reach(value[0] - low[0], high[1] - value[1]) / step
    over = reach(high[0] - value[0], value[1] - low[1]) / step
    return Estimate(
        f"difference of the {a.name}",
        gap,
        gap - math.ceil(under - 1e-9) * step if under else gap,
        gap + math.ceil(over - 1e-9) * step if over else gap,
        level,
        len(first),
        "order statistics, paired",
        percent=False,
    )


def _ends(estimate: Estimate) -> tuple[float, float, float]:
    assert estimate.low is not None
    assert estimate.high is not None
    return estimate.value, estimate.low, estimate.high


def failure_points(correct: ArrayLike, severities: ArrayLike) -> FailurePoints:
    """Failure points from correct[sample, level] and the severities of the levels, in any order.

    Only the first error counts, even if the model is right again at a higher severity. Severity 0 is the clean image,
    if it is among the levels.
    """
    right = as_bool_array(correct)
    levels = np.asarray(severities, dtype=np.float64)
    if right.ndim != 2 or levels.shape != right.shape[1:]:
        raise BrittleError(f"correct is samples × {levels.size} severities, got shape {right.shape}")
    if not np.isfinite(levels).all() or (levels < 0).any() or len(np.unique(levels)) != levels.size:
        raise BrittleError(f"severities are distinct numbers of at least 0, got {levels.tolist()}")
    order = np.argsort(levels)
    right, levels = right[:, order], levels[order]
    first_error = np.argmin(right, axis=1)
    return FailurePoints(np.where(right.all(axis=1), np.inf, levels[first_error]), levels)
