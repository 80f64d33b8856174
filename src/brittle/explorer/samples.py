"""One sample under every corruption: what each model says about it, level by level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from brittle._errors import BrittleError
from brittle.benchmarks import CLEAN
from brittle.evaluation import SCALE, SHIFT, Results
from brittle.explorer.ladders import Ladders
from brittle.metrics import failure_points


@dataclass(frozen=True)
class Step:
    """What one model says about one sample at one level; `sample` is the id of the picture."""

    level: float
    sample: str
    prediction: int
    confidence: float
    right: bool


@dataclass(frozen=True)
class Trajectory:
    """One sample under one corruption, as one model sees it: the clean image first, then every level."""

    model: str
    corruption: str
    steps: tuple[Step, ...]

    @property
    def point(self) -> float:
        """The failure point on these levels; infinite if the model is right at all of them."""
        right = [[step.right for step in self.steps]]
        return float(failure_points(right, [step.level for step in self.steps]).points[0])


@dataclass(frozen=True)
class SampleTrajectories:
    """One sample with its label, and its trajectories by corruption and model."""

    sample: str
    label: int
    trajectories: list[Trajectory]

    @property
    def models(self) -> list[str]:
        """The models that saw it."""
        return sorted({one.model for one in self.trajectories})

    def by_corruption(self) -> dict[str, list[Trajectory]]:
        """The trajectories of each corruption; the clean images are the first steps of the others."""
        grouped: dict[str, list[Trajectory]] = {}
        for one in self.trajectories:
            grouped.setdefault(one.corruption, []).append(one)
        return grouped


def sample_trajectories(ladders: Ladders, sample: str) -> SampleTrajectories:
    """What every model says about one sample under every corruption; of a picture of slides its whole trajectory."""
    table = ladders.rows_of(sample) if ladders.are_aligned else _find_rows(ladders.results, sample)
    if table.is_empty():
        raise BrittleError(f"there is no sample {sample!r} in these results; follow a link to one from its failures")
    clean = {row["model"]: _step(row) for row in table.filter(pl.col("corruption") == CLEAN).iter_rows(named=True)}
    trajectories = []
    for (model, corruption), rows in table.group_by("model", "corruption", maintain_order=True):
        steps = [_step(row) for row in rows.iter_rows(named=True)]
        if corruption != CLEAN and not str(corruption).startswith(SHIFT) and model in clean and steps[0].level > 0:
            steps.insert(0, clean[model])
        trajectories.append(Trajectory(str(model), str(corruption), tuple(steps)))
    trajectories.sort(key=lambda one: (one.corruption != CLEAN, one.corruption, one.model))
    return SampleTrajectories(sample, int(table["label"][0]), trajectories)


def _find_rows(results: Results, sample: str) -> pl.DataFrame:
    """The rows of a sample, or of the trajectory that it is of."""
    stem = SCALE.sub("", sample)
    is_slide = pl.col("corruption").str.starts_with(SHIFT)
    wanted = pl.col("sample") == sample
    if stem != sample:
        wanted = (pl.col("sample").str.replace(SCALE.pattern, "") == stem) & is_slide | wanted & ~is_slide
    return results.rows.filter(wanted).sort("model", "corruption", "level").collect(engine="streaming")


def _step(row: dict[str, Any]) -> Step:
    confidence = float("nan") if row["confidence"] is None else float(row["confidence"])
    return Step(row["level"], row["sample"], row["prediction"], confidence, row["correct"])
