"""How far images have gone along a shift, scale by scale."""

from __future__ import annotations

import numpy as np
import polars as pl

from brittle.metrics import bootstrap, resampled_means
from brittle.sliders.image_scores import TRAJECTORY, ImageScores

MEASURES = {"CLIP_shift": "ΔCLIP shift", "CLIP_class": "ΔCLIP class"}


def shift_curves(
    scores: ImageScores | pl.DataFrame,
    *,
    by: str | None = "shift",
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> pl.DataFrame:
    """ΔCLIP to the prompts of shift and class at each scale: the mean, its interval, and the number of trajectories.

    Δ is 100 × (cosine at this scale − cosine at scale 0 of the same seed). A rising ΔCLIP shift says that the slider
    works, a falling ΔCLIP class that it destroys what it should only shift. Intervals are from a bootstrap over
    trajectories; those that lack a scale are left out. `by` is a column, such as shift or name, for a curve of each
    of its values; None is one curve for all.
    """
    table = scores.table if isinstance(scores, ImageScores) else scores
    if by is not None and by not in table.columns:
        raise ValueError(f"there is no column {by!r} to make curves by; there are: {', '.join(table.columns)}")
    rows = []
    for group in [None] if by is None else table[by].unique().sort().to_list():
        mine = table if by is None else table.filter(pl.col(by) == group)
        scales = sorted(mine["scale"].unique().to_list())
        if scales[0] != 0 or len(scales) < 2:
            raise ValueError(f"a curve needs scale 0 and at least one more, got scales {scales} of {group or 'all'}")
        whole = mine.filter(pl.len().over(TRAJECTORY) == len(scales)).sort(*TRAJECTORY, "scale")
        if whole.is_empty():
            raise ValueError(f"no trajectory of {group or 'all'} has all scales {scales}")
        for column, measure in MEASURES.items():
            values = whole[column].to_numpy().reshape(-1, len(scales))
            rises = values - values[:, :1]
            drawn = resampled_means(rises, seed=seed, resamples=resamples)
            for place, scale in enumerate(scales):
                mean = bootstrap(
                    rises[:, place],
                    name=measure,
                    seed=seed,
                    resamples=resamples,
                    level=level,
                    percent=False,
                    resampled=drawn[:, place : place + 1],
                    bounded=False,
                )
                rows.append((group or "all", scale, measure, mean.value, mean.low, mean.high, len(values)))
    schema = [by or "shift", "scale", "measure", "value", "low", "high", "trajectories"]
    return pl.DataFrame(rows, schema=schema, orient="row")


def rises_throughout(curves: pl.DataFrame, measure: str = "ΔCLIP shift") -> bool:
    """Whether every curve of a measure rises from each scale to the next."""
    first = curves.columns[0]
    mine = curves.filter(pl.col("measure") == measure).sort(first, "scale")
    steps = [np.diff(part["value"].to_numpy()) for part in mine.partition_by(first)]
    return all((step > 0).all() for step in steps)
