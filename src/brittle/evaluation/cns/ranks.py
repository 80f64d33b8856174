"""Models ranked along the scales of slides, by accuracy or by its drop, and in groups of what they have in common."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from brittle._errors import BrittleError
from brittle._types import FloatArray
from brittle.metrics import kendall, resampled_means

if TYPE_CHECKING:
    from brittle.evaluation.cns.scores import CnsScores, Trajectories

RANK_BY = ("accuracy", "drop")
"""What models are ranked by: their accuracy at a scale, or how much of it they have lost there, as CNS-Bench does."""


def ranking_table(
    shifts: Sequence[Trajectories],
    *,
    rank_by: str = "accuracy",
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> pl.DataFrame:
    """Models by accuracy, or by its drop, at each scale, and how far each has fallen since the first of them.

    That is scale 0, or for drops, which are all 0 there, the next one. Intervals hold the ranks, and the places fallen,
    of so many resamples of the trajectories, the same ones for all models.
    """
    _check_rank_by(rank_by)
    rows = []
    tail = 100 * (1 - level) / 2
    for part in shifts:
        accuracy = part.correct.mean(1)
        drawn = np.stack([resampled_means(right, seed=seed, resamples=resamples) for right in part.correct])
        first = 0 if rank_by == "accuracy" else 1
        ranks = _ranks(accuracy, rank_by)
        drawn_ranks = _ranks(drawn, rank_by)  # model × resample × scale
        fallen = drawn_ranks - drawn_ranks[..., first : first + 1]
        low, high = np.percentile(drawn_ranks, [tail, 100 - tail], axis=1, method="nearest")
        fallen_low, fallen_high = np.percentile(fallen, [tail, 100 - tail], axis=1, method="nearest")
        for i, scale in enumerate(part.scales[first:], first):
            for number, model in enumerate(part.models):
                here = number, i
                rank, since = int(ranks[here]), int(ranks[here] - ranks[number, first])
                ends = (int(end[here]) for end in (low, high, fallen_low, fallen_high))
                value = float(accuracy[here])
                rows.append((part.shift, scale, model, value, float(accuracy[number, 0]) - value, rank, since, *ends))
    names = ["shift", "scale", "model", "accuracy", "drop", "rank", "fallen"]
    ends_of = ["rank_low", "rank_high", "fallen_low", "fallen_high"]
    table = pl.DataFrame(rows, schema=[*names, *ends_of], orient="row")
    return table.sort("shift", "scale", "rank", "model", maintain_order=True)


def _ranks(accuracy: FloatArray, rank_by: str) -> FloatArray:
    """Ranks of models, on the first axis, at each scale, on the last; equal ones share the better rank."""
    better = (accuracy if rank_by == "accuracy" else accuracy - accuracy[..., :1]).round(12)
    return np.asarray(1 + (better[:, None] < better[None]).sum(1))


def _check_rank_by(rank_by: str) -> None:
    if rank_by not in RANK_BY:
        raise BrittleError(f"models are ranked by {' or '.join(RANK_BY)}, got {rank_by!r}")


def agreement_table(shifts: Sequence[Trajectories], *, level: float, rank_by: str = "accuracy") -> pl.DataFrame:
    """Kendall's τ-b of the accuracies at each scale with those at scale 0; null for fewer than three models.

    Of drops it is to those at the first scale after 0.
    """
    _check_rank_by(rank_by)
    rows: list[tuple[str, float, float | None, float | None, float | None, int]] = []
    for part in shifts:
        accuracy = part.correct.mean(1)
        first = 0 if rank_by == "accuracy" else 1
        values = accuracy if rank_by == "accuracy" else (accuracy - accuracy[:, :1]).round(12)
        for i, scale in enumerate(part.scales[first:], first):
            try:
                tau = kendall(values[:, first], values[:, i], level=level)
                rows.append((part.shift, float(scale), tau.value, tau.low, tau.high, len(part.models)))
            except ValueError:
                rows.append((part.shift, float(scale), None, None, None, len(part.models)))
    schema = {"shift": pl.String, "scale": pl.Float64, "kendall": pl.Float64, "low": pl.Float64, "high": pl.Float64}
    return pl.DataFrame(rows, schema={**schema, "models": pl.Int64}, orient="row")


def read_model_axes(path: str | Path) -> dict[str, dict[str, str]]:
    """What models have in common, from a small CSV table: a column `model`, and one for each axis.

    The paper's axes are the architecture, the size and the pre-training. By axis, the value of each model; a model
    without a value is in no group of that axis.
    """
    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(
            f"there is no table of models {str(path)!r}; it has columns model, architecture, size …"
        )
    with file.open(encoding="utf-8-sig", newline="") as text:
        reader = csv.DictReader(text)
        columns = list(reader.fieldnames or ())
        if "model" not in columns or len(columns) < 2:
            raise BrittleError(
                f"{str(path)!r} has columns {columns}; a table of models has model and at least one axis"
            )
        rows = list(reader)
    names = [row["model"] for row in rows]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise BrittleError(f"{str(path)!r} has the model {twice[0]!r} {names.count(twice[0])} times; once is enough")
    axes = [column for column in columns if column != "model"]
    return {axis: {row["model"]: row[axis].strip() for row in rows if (row[axis] or "").strip()} for axis in axes}


def grouped_drops(scores: CnsScores, groups: Mapping[str, str]) -> pl.DataFrame:
    """Accuracy drops of groups of models: for each group, shift and scale the mean over its models, and their range.

    `groups` is the group of each model, one axis of `read_model_axes`. Models without a group are left out. The range
    is that of the models, not an interval: a group is what was run, and not drawn at random.
    """
    known = [model for model in scores.accuracy["model"].unique(maintain_order=True) if model in groups]
    if not known:
        models = ", ".join(scores.accuracy["model"].unique(maintain_order=True))
        raise BrittleError(f"none of the models {models} is in the table, which has {', '.join(list(groups)[:5])}")
    table = scores.accuracy.filter(pl.col("model").is_in(known))
    return (
        table.with_columns(pl.col("model").replace_strict(dict(groups), default=None).alias("group"))
        .group_by("group", "shift", "scale", maintain_order=True)
        .agg(
            pl.len().alias("models"),
            pl.col("accuracy").mean(),
            pl.col("drop").mean(),
            pl.col("drop").min().alias("least"),
            pl.col("drop").max().alias("most"),
        )
        .sort("group", "shift", "scale", maintain_order=True)
    )


def grouped_scores(scores: CnsScores, groups: Mapping[str, str]) -> CnsScores:
    """The scores with accuracy drops of groups in place of models, for `plot_drop`; intervals are ranges of models."""
    names = {"group": "model", "least": "drop_low", "most": "drop_high"}
    return replace(scores, accuracy=grouped_drops(scores, groups).rename(names))


def read_model_names(path: str | Path) -> list[str]:
    """Names of models from a text file, one a line, such as the sixteen that the paper fits a line over."""
    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(f"there is no list of models {str(path)!r}; it has one name of a model a line")
    names = [line.strip() for line in file.read_text(encoding="utf-8-sig").splitlines()]
    models = [name for name in names if name and not name.startswith("#")]
    if not models:
        raise BrittleError(f"{str(path)!r} names no model; write one a line")
    return models
