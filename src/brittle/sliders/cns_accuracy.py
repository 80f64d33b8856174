"""Accuracy along the scales, and where trajectories fail."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from brittle.metrics import bootstrap, failure_points, resampled_means, wilson
from brittle.metrics.fraction import Floats
from brittle.metrics.mean_interval import gap_interval, mean_interval
from brittle.sliders.trajectories import Trajectories

MEAN = "mean"


def accuracy_table(
    shifts: Sequence[Trajectories], together: Sequence[Trajectories], *, level: float, resamples: int, seed: int
) -> pl.DataFrame:
    """Accuracy with Wilson's interval, and the drop since scale 0 with a bootstrap over trajectories.

    Of the mean over shifts both intervals are bootstraps, with trajectories drawn within each shift, and at least as
    wide as the intervals of the shifts make them.
    """
    rows = []
    for part in together:
        for number, model in enumerate(part.models):
            right = part.correct[number]
            low, high = wilson(right.sum(0), len(right), level=level)
            drawn = resampled_means(right, seed=seed, resamples=resamples)
            for i, scale in enumerate(part.scales):
                drop = bootstrap(
                    right,
                    lambda means, i=i: means[..., 0] - means[..., i],  # type: ignore[misc]
                    name="accuracy drop",
                    seed=seed,
                    resamples=resamples,
                    level=level,
                    resampled=drawn,
                )
                mine = (right[:, i].mean(), low[i], high[i], drop.value, drop.low, drop.high)
                rows.append((model, part.shift, scale, len(right), *map(float, mine)))
    if len(shifts) > 1:
        rows += _mean_rows(shifts, together[-1].scales, level, resamples, seed)
    ends = ("accuracy", "low", "high", "drop", "drop_low", "drop_high")
    return pl.DataFrame(rows, schema=["model", "shift", "scale", "trajectories", *ends], orient="row")


def failure_table(together: Sequence[Trajectories], *, level: float) -> pl.DataFrame:
    """The histogram of failure points over all trajectories, with Wilson's intervals."""
    rows = []
    for part in together:
        for number, model in enumerate(part.models):
            points = failure_points(part.correct[number], part.scales)
            shares = points.histogram()
            low, high = wilson(np.rint(shares * len(points)), len(points), level=level)
            for i, scale in enumerate(part.scales):
                rows.append((model, part.shift, scale, shares[i], low[i], high[i], len(points)))
    return pl.DataFrame(rows, schema=["model", "shift", "scale", "share", "low", "high", "trajectories"], orient="row")


def margin_table(together: Sequence[Trajectories]) -> pl.DataFrame:
    """The mean margin of CNS-Bench, which is only defined up to its scale 3."""
    rows = []
    for part in together:
        for number, model in enumerate(part.models):
            points = failure_points(part.correct[number], part.scales)
            margin = points.mean_margin() if part.scales[-1] <= 3 else None
            rows.append((model, part.shift, len(points), points.at_zero, points.never, margin))
    names = {"model": pl.String, "shift": pl.String}
    counts = dict.fromkeys(("trajectories", "wrong_at_zero", "never_failed"), pl.Int64)
    return pl.DataFrame(rows, schema={**names, **counts, "mean_margin": pl.Float64}, orient="row")


def drawn_means(part: Trajectories, model: int, place: int, *, resamples: int, seed: int) -> Floats:
    """Resampled accuracies [resample, scale]; models share the draws of a shift, and shifts have draws of their own."""
    return resampled_means(part.correct[model], seed=seed + 1000003 * (place + 1), resamples=resamples)


def mean_of_parts(parts: Sequence[tuple[Floats, Floats, Floats]], drawn: Floats, tail: float) -> tuple[Floats, Floats]:
    """The interval of the mean over independent parts, from (rows, low, high) of each and the resampled means.

    How far the ends of the parts lie from their means adds up as squares; the bootstrap's interval is held, too.
    """
    means = np.array([rows.mean(axis=0) for rows, _, _ in parts])
    value = means.mean(axis=0)
    under, over = (np.array([ends[side] for ends in parts]) - means for side in (1, 2))
    low, high = np.quantile(drawn, [tail, 1 - tail], axis=0)
    reach = [np.sqrt((far**2).sum(axis=0)) / len(parts) for far in (under, over)]
    return np.minimum(low, value - reach[0]), np.maximum(high, value + reach[1])


def _mean_rows(
    shifts: Sequence[Trajectories], scales: Floats, level: float, resamples: int, seed: int
) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    tail = (1 - level) / 2
    count = sum(part.correct.shape[1] for part in shifts)
    for number, model in enumerate(shifts[0].models):
        where = [np.isin(part.scales, scales) for part in shifts]
        value = np.mean([p.correct[number].mean(0)[w] for p, w in zip(shifts, where, strict=True)], axis=0)
        several = [
            drawn_means(part, number, i, resamples=resamples, seed=seed)[:, w]
            for i, (part, w) in enumerate(zip(shifts, where, strict=True))
        ]
        drawn = np.mean(several, axis=0)
        right = [part.correct[number][:, w].astype(float) for part, w in zip(shifts, where, strict=True)]
        low, high = mean_of_parts([(one, *mean_interval(one, 0, 1, level=level)) for one in right], drawn, tail)
        drops = [(one[:, :1] - one, *gap_interval(one[:, :1], one, 1, 1, level=level)) for one in right]
        drop_low, drop_high = mean_of_parts(drops, drawn[:, :1] - drawn, tail)
        drop_low[0] = drop_high[0] = 0.0  # by definition
        for i, scale in enumerate(scales):
            mine = (value[i], low[i], high[i], value[0] - value[i], drop_low[i], drop_high[i])
            rows.append((model, MEAN, float(scale), count, *map(float, mine)))
    return rows
