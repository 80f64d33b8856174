"""The relative corruption error of CNS-Bench."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from brittle.metrics import shift_rce
from brittle.sliders.cns_accuracy import MEAN, drawn_means
from brittle.sliders.trajectories import Trajectories

SCHEMA = {"model": pl.String, "shift": pl.String, "rce": pl.Float64, "low": pl.Float64, "high": pl.Float64}


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
    tail = (1 - level) / 2
    for number, model in enumerate(models):
        values, draws = [], []
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
            draws.append(shift_rce(mine, base) if steady else None)
            rows.append((model, part.shift, values[-1], *_ends(draws[-1], tail)))
        whole = [drawn for drawn in draws if drawn is not None]
        mean = np.mean(whole, axis=0) if len(whole) == len(draws) else None
        rows.append((model, MEAN, float(np.mean(values)), *_ends(mean, tail)))
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def _ends(drawn: np.ndarray | None, tail: float) -> tuple[float | None, float | None]:
    if drawn is None:
        return None, None
    low, high = np.quantile(drawn, [tail, 1 - tail])
    return float(low), float(high)
