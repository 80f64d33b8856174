"""Predictions put together again along the way of each picture."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from brittle.evaluation import Results
from brittle.metrics.fraction import Floats

SHIFT = "cns/"
SCALE = re.compile(r"_scale_\d+m?\.[^.]+$")


@dataclass(frozen=True, eq=False)
class Trajectories:
    """Right or wrong of all models on one shift: models × trajectories × scales, complete ones only."""

    shift: str
    models: list[str]
    scales: Floats
    correct: NDArray[np.bool_]
    names: list[str]
    dropped: int


def trajectories(results: Results, *, models: Sequence[str] | None = None) -> list[Trajectories]:
    """The trajectories of each shift, from results on a CNS-Bench folder.

    A trajectory that lacks a scale for some model, because an image was filtered or could not be read, is dropped for
    all, so that every number is about the same images. Models that were not run on all shifts and scales raise.
    """
    cells = [(name, scale) for name, scale in results.cells if name.startswith(SHIFT)]
    if not cells:
        raise ValueError(
            f"these results have no shifts of CNS-Bench, whose corruptions are called {SHIFT}<shift>; "
            "run evaluate_stored on slides_set(folder)"
        )
    chosen = results.models_with(cells) if models is None else list(models)
    lacking = [model for model in chosen if model not in results.models_with(cells)]
    if lacking or not chosen:
        what = f"{lacking[0]!r} was not" if lacking else "no model was"
        raise ValueError(f"{what} run on all {len(cells)} cells; there are models {', '.join(results.models)}")
    rows = (
        results.rows.filter(pl.col("corruption").str.starts_with(SHIFT) & pl.col("model").is_in(chosen))
        .select("model", "corruption", "level", "sample", "correct")
        .with_columns(pl.col("sample").str.replace(SCALE.pattern, "").alias("trajectory"))
        .collect()
    )
    found = []
    for name in sorted({name for name, _ in cells}):
        scales = np.array(sorted(scale for shift, scale in cells if shift == name))
        found.append(_shift(rows.filter(pl.col("corruption") == name), name.removeprefix(SHIFT), chosen, scales))
    return found


def _shift(rows: pl.DataFrame, shift: str, models: list[str], scales: Floats) -> Trajectories:
    if scales[0] != 0 or len(scales) < 2:
        raise ValueError(f"the shift {shift!r} has scales {scales.tolist()}; it needs scale 0 and at least one more")
    names = rows["trajectory"].unique().sort().to_list()
    place = {name: i for i, name in enumerate(names)}
    at, which = {scale: i for i, scale in enumerate(scales)}, {model: i for i, model in enumerate(models)}
    seen = np.zeros((len(models), len(names), len(scales)), np.uint8)
    correct = np.zeros(seen.shape, bool)
    index = (
        np.array([which[model] for model in rows["model"]]),
        np.array([place[name] for name in rows["trajectory"]]),
        np.array([at[scale] for scale in rows["level"]]),
    )
    np.add.at(seen, index, 1)
    if seen.max() > 1:
        raise ValueError(f"some images of {shift!r} are there twice; load each run once")
    correct[index] = rows["correct"].to_numpy()
    whole = np.asarray(seen.all(axis=(0, 2)))
    if not whole.any():
        raise ValueError(f"no trajectory of {shift!r} has all scales {scales.tolist()} for all models")
    kept = [name for name, good in zip(names, whole, strict=True) if good]
    return Trajectories(shift, models, scales, correct[:, whole], kept, int((~whole).sum()))
