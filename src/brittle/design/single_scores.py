"""Does a benchmark weigh its corruptions alike? Scores of models that know one corruption each (NOC, section 5.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from brittle.design.overlap_matrix import check_names
from brittle.metrics import Balance, Estimate, balance
from brittle.metrics.bootstrap import means, resampled_means
from brittle.metrics.fraction import Floats, right_or_wrong


@dataclass(frozen=True)
class SingleScores:
    """The mean error over a benchmark of each model that learned one of its corruptions, in percent of the standard's.

    100 means that knowing a corruption brings nothing on the benchmark, and a low score that the benchmark rewards
    this corruption much. `balance` is the dispersion of the scores; `range` and `std` are the same with intervals.
    """

    scores: dict[str, Estimate]
    balance: Balance
    range: Estimate
    std: Estimate

    def __str__(self) -> str:
        return f"{self.range}, {self.std} over {len(self.scores)} models"


def single_scores(
    correct: ArrayLike, names: Sequence[str], members: Sequence[str] | None = None, *, resamples: int = 1000
) -> SingleScores:
    """The balance of the benchmark `members`, from the run of an overlap matrix.

    `correct` says right or wrong for (k+1) models × (k+1) test sets × samples, the standard model and clean images
    first, as `correct_cube` gives it; `names` names the k corruptions. NOC divides by the errors of AlexNet; the
    standard model of the same run stands in its place here, so no second architecture is needed.
    """
    named = check_names(names)
    cells = right_or_wrong(correct)
    if cells.ndim != 3 or cells.shape[:2] != (len(named) + 1,) * 2:
        side = len(named) + 1
        raise ValueError(
            f"{len(named)} corruptions need {side} models × {side} test sets × samples, got shape {cells.shape}"
        )
    chosen = check_names(named if members is None else members)
    unknown = [name for name in chosen if name not in named]
    if unknown or len(chosen) < 2:
        raise ValueError(
            f"the members of a benchmark are at least two of {', '.join(named)}; got {', '.join(unknown or chosen)}"
        )
    places = np.array([0, *(1 + named.index(name) for name in chosen)])
    rows = cells[np.ix_(places, places[1:])].reshape(len(places) * len(chosen), -1).T
    shape = (-1, len(places), len(chosen))
    value, drawn = (
        _scores(means(rows).reshape(shape)),
        _scores(resampled_means(rows, resamples=resamples).reshape(shape)),
    )

    def estimate(name: str, number: float, many: Floats) -> Estimate:
        low, high = np.quantile(many, [0.025, 0.975])
        method = f"bootstrap, {resamples} resamples, seed 0"
        return Estimate(name, number, float(low), float(high), n=len(rows), method=method, percent=False)

    what = "mean error in percent of the standard model's"
    scores = {name: estimate(what, float(value[0, i]), drawn[:, i]) for i, name in enumerate(chosen)}
    found = balance(value[0])
    spread = estimate("range", found.range, np.ptp(drawn, axis=1))
    return SingleScores(scores, found, spread, estimate("standard deviation", found.std, drawn.std(axis=1)))


def _scores(accuracy: Floats) -> Floats:
    """From … × (standard, models) × corruptions to … × models."""
    error = 1 - accuracy
    if (error[:, 0] == 0).any():
        raise ValueError("the standard model makes no error under some corruption, so nothing can be divided by it")
    return np.asarray(100 * (error[:, 1:] / error[:, :1]).mean(axis=-1))
