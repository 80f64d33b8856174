"""How good a filter is, on images that people labelled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from brittle.metrics import Estimate, wilson
from brittle.metrics.fraction import right_or_wrong
from brittle.sliders.image_scores import TRAJECTORY, ImageScores
from brittle.sliders.ooc_filter import ooc_filter
from brittle.sliders.ooc_labels import labelled
from brittle.sliders.ooc_thresholds import Thresholds, limits_for


@dataclass(frozen=True)
class FilterQuality:
    """TPR: the share of out-of-class images that is removed; FPR: of the others; accuracy: of all, treated rightly."""

    tpr: Estimate
    fpr: Estimate
    accuracy: Estimate


def filter_quality(
    removed: ArrayLike, out_of_class: ArrayLike, *, trajectory: ArrayLike | None = None, level: float = 0.95
) -> FilterQuality:
    """The quality of a filter from what it removed and what it should have, with Wilson's intervals.

    With the number of each image's trajectory, an interval counts a trajectory as one observation, not its images.
    """
    gone, wanted = right_or_wrong(removed, "removed"), right_or_wrong(out_of_class, "out_of_class")
    of = np.arange(len(wanted)) if trajectory is None else np.asarray(trajectory)
    if gone.shape != wanted.shape or gone.shape != of.shape or gone.ndim != 1:
        raise ValueError(
            f"removed, out_of_class and trajectory are rows of the same length, got {gone.shape}, {wanted.shape}, "
            f"{of.shape}"
        )
    if wanted.all() or not wanted.any():
        raise ValueError(
            f"{int(wanted.sum())} of {len(wanted)} labelled images are out of class; TPR and FPR need both kinds"
        )

    def share(name: str, hits: np.ndarray, among: np.ndarray) -> Estimate:
        value, number = float(hits[among].mean()), len(np.unique(of[among]))
        low, high = wilson(value * number, number, level=level)
        return Estimate(name, value, float(low), float(high), level, number, "wilson")

    return FilterQuality(
        share("TPR", gone, wanted), share("FPR", gone, ~wanted), share("filter accuracy", gone == wanted, of == of)
    )


def compare_filters(
    scores: ImageScores | pl.DataFrame,
    labels: Mapping[str, str],
    thresholds: Thresholds,
    *,
    least: int = 2,
    partial: str = "class",
    level: float = 0.95,
) -> pl.DataFrame:
    """The quality of the filter and, beside it, of each score alone; `CLIP_class` alone is the naive filter.

    Single images count, before incomplete trajectories are dropped; which ones, see `labelled`. Images of one
    trajectory are alike, so the intervals are Wilson's for as many observations as there are trajectories. On the
    labels that thresholds were chosen with, this flatters: `held_out_filters` does not.
    """
    known = labelled(scores, labels, partial=partial)
    return _qualities(known, _removed(known, thresholds, least), level)


def held_out_filters(
    scores: ImageScores | pl.DataFrame,
    labels: Mapping[str, str],
    *,
    tpr: float = 0.9,
    least: int = 2,
    partial: str = "class",
    folds: int = 5,
    seed: int = 0,
    level: float = 0.95,
) -> pl.DataFrame:
    """The same for images that the thresholds were chosen without: what the filter is worth on new ones.

    Trajectories are dealt into `folds` parts, those of one class and seed into the same one, since they start from the
    same image; each part is judged by thresholds that `choose_thresholds` finds in the others.
    """
    known = labelled(scores, labels, partial=partial)
    starts = known.select("label", "seed").unique().sort("label", "seed")
    if not 2 <= folds <= len(starts):
        raise ValueError(
            f"{folds!r} folds cannot be made of the labels of {len(starts)} images at scale 0; give a number from 2 to "
            "that"
        )
    dealt = np.random.default_rng(seed).permutation(len(starts)) % folds
    known = known.join(starts.with_columns(pl.Series("fold", dealt)), on=["label", "seed"])
    parts = []
    for fold in range(folds):
        limits = limits_for(known.filter(pl.col("fold") != fold), tpr)
        parts.append(_removed(known.filter(pl.col("fold") == fold), limits, least))
    return _qualities(
        pl.concat([known.filter(pl.col("fold") == fold) for fold in range(folds)]), pl.concat(parts), level
    )


def _removed(known: pl.DataFrame, thresholds: Thresholds, least: int) -> pl.DataFrame:
    """What the filter and each score alone remove, a column for each."""
    filters = {f"{least} of {len(thresholds)}": (dict(thresholds), least)}
    filters |= {name: ({name: value}, 1) for name, value in thresholds.items()}
    return pl.DataFrame(
        {name: ~ooc_filter(known, limits, least=number)["passed"] for name, (limits, number) in filters.items()}
    )


def _qualities(known: pl.DataFrame, removed: pl.DataFrame, level: float) -> pl.DataFrame:
    """A row for each filter."""
    wanted = known["out_of_class"].to_numpy()
    of = known.select(pl.struct(TRAJECTORY).rank("dense")).to_series().to_numpy()
    rows = []
    for name in removed.columns:
        found = filter_quality(removed[name].to_numpy(), wanted, trajectory=of, level=level)
        shares = [x for e in (found.tpr, found.fpr, found.accuracy) for x in (e.value, e.low, e.high)]
        rows.append((name, *shares, len(known), int(wanted.sum())))
    parts = [f"{which}{end}" for which in ("tpr", "fpr", "accuracy") for end in ("", "_low", "_high")]
    return pl.DataFrame(rows, schema=["filter", *parts, "images", "out_of_class"], orient="row")
