"""The relative corruption error of CNS-Bench."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from brittle.metrics import bootstrap, shift_rce
from brittle.metrics.bootstrap import Statistic
from brittle.sliders.cns_accuracy import MEAN, drawn_means
from brittle.sliders.trajectories import Trajectories

SCHEMA = {"model": pl.String, "shift": pl.String, "rce": pl.Float64, "low": pl.Float64, "high": pl.Float64}


Ends = tuple[float | None, float | None]


def rce_table(
    shifts: Sequence[Trajectories], baseline: str | None, *, level: float, resamples: int, seed: int
) -> pl.DataFrame:
    """rCE of each shift and its mean, with bootstrap intervals; model and baseline share the resampled trajectories.

    The interval is null where the baseline's summed rise is 0, or changes sign, in some resample.
    """
    rows: list[tuple[str, str, float, float | None, float | None]] = []
    if baseline is None:
        return pl.DataFrame(rows, schema=SCHEMA, orient="row")
    models = shifts[0].models
    reference = models.index(baseline)
    for number, model in enumerate(models):
        values: list[float] = []
        ends: list[Ends] = []
        for place, part in enumerate(shifts):
            error, theirs = (1 - part.correct[i].mean(0) for i in (number, reference))
            try:
                values.append(float(shift_rce(error, theirs)))
            except ValueError as problem:
                raise ValueError(
                    f"rCE of the shift {part.shift!r} is undefined: the errors of {baseline!r} do not rise there"
                ) from problem
            mine, base = (1 - drawn_means(part, i, place, resamples=resamples, seed=seed) for i in (number, reference))
            rise = (base[:, 1:] - base[:, :1]).sum(1)
            steady = (rise > 0).all() or (rise < 0).all()
            if number == reference:
                ends.append((1.0, 1.0))  # by definition
            elif steady:
                ratio = bootstrap(
                    np.hstack([part.correct[number], part.correct[reference]]),
                    _rce_of(len(part.scales)),
                    name="rCE",
                    resamples=resamples,
                    level=level,
                    resampled=1 - np.hstack([mine, base]),
                )
                ends.append((ratio.low, ratio.high))
            else:
                ends.append((None, None))
            rows.append((model, part.shift, values[-1], *ends[-1]))
        rows.append((model, MEAN, float(np.mean(values)), *_mean_ends(values, ends)))
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def _rce_of(scales: int) -> Statistic:
    """From accuracies of the model and then of the baseline."""
    return lambda right: shift_rce(1 - right[..., :scales], 1 - right[..., scales:])


def _mean_ends(values: list[float], ends: list[Ends]) -> Ends:
    """The mean over shifts, which are independent: how far their ends lie from their values adds up as squares."""
    far = [
        (value - low, high - value)
        for value, (low, high) in zip(values, ends, strict=True)
        if low is not None and high is not None
    ]
    if len(far) < len(values):
        return None, None
    mean = float(np.mean(values))
    below, above = np.sqrt((np.array(far) ** 2).sum(axis=0)) / len(values)
    return mean - float(below), mean + float(above)
