"""How good a filter is, on images that people labelled."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from brittle.metrics import Estimate, wilson
from brittle.metrics.fraction import right_or_wrong
from brittle.sliders.image_scores import ImageScores
from brittle.sliders.ooc_filter import ooc_filter
from brittle.sliders.ooc_labels import labelled
from brittle.sliders.ooc_thresholds import Thresholds


@dataclass(frozen=True)
class FilterQuality:
    """TPR: the share of out-of-class images that is removed; FPR: of the others; accuracy: of all, treated rightly."""

    tpr: Estimate
    fpr: Estimate
    accuracy: Estimate


def filter_quality(removed: ArrayLike, out_of_class: ArrayLike, *, level: float = 0.95) -> FilterQuality:
    """The quality of a filter from what it removed and what it should have, with Wilson's intervals."""
    gone, wanted = right_or_wrong(removed, "removed"), right_or_wrong(out_of_class, "out_of_class")
    if gone.shape != wanted.shape or gone.ndim != 1:
        raise ValueError(f"removed and out_of_class are two rows of the same length, got {gone.shape}, {wanted.shape}")
    if wanted.all() or not wanted.any():
        raise ValueError(
            f"{int(wanted.sum())} of {len(wanted)} labelled images are out of class; TPR and FPR need both kinds"
        )

    def share(name: str, hits: np.ndarray) -> Estimate:
        low, high = wilson(int(hits.sum()), len(hits), level=level)
        return Estimate(name, float(hits.mean()), float(low), float(high), level, len(hits), "wilson")

    return FilterQuality(
        share("TPR", gone[wanted]), share("FPR", gone[~wanted]), share("filter accuracy", gone == wanted)
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

    Single images count, before incomplete trajectories are dropped.
    """
    known = labelled(scores, labels, partial=partial)
    filters = {f"{least} of {len(thresholds)}": (dict(thresholds), least)}
    filters |= {name: ({name: value}, 1) for name, value in thresholds.items()}
    rows = []
    for name, (limits, number) in filters.items():
        removed = ~ooc_filter(known, limits, least=number)["passed"].to_numpy()
        found = filter_quality(removed, known["out_of_class"].to_numpy(), level=level)
        shares = [x for e in (found.tpr, found.fpr, found.accuracy) for x in (e.value, e.low, e.high)]
        rows.append((name, *shares, len(known)))
    parts = [f"{which}{end}" for which in ("tpr", "fpr", "accuracy") for end in ("", "_low", "_high")]
    return pl.DataFrame(rows, schema=["filter", *parts, "images"], orient="row")
