"""From which score on an image still shows its class."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from brittle.metrics import published
from brittle.sliders.image_scores import FILTER_SCORES, ImageScores
from brittle.sliders.ooc_labels import labelled

Thresholds = Mapping[str, float]
"""Of scores by name; an image passes if its score is greater."""


def published_thresholds() -> dict[str, float]:
    """The thresholds CNS-Bench was filtered with: for CLIP ViT-B/16, DINOv2 ViT-L/14 and `CODE_PROMPTS` only."""
    table = published("cns-ooc-thresholds")
    return {str(name): float(value) for name, value in zip(table["score"], table["threshold"], strict=True)}


def choose_thresholds(
    scores: ImageScores | pl.DataFrame,
    labels: Mapping[str, str],
    *,
    tpr: float = 0.9,
    which: Sequence[str] | None = None,
    partial: str = "class",
) -> dict[str, float]:
    """For each score the lowest threshold that removes at least a share `tpr` of the labelled out-of-class images.

    `labels` are of samples, see `read_labels`. There must be at least 1 / (1 − tpr) out-of-class images, 10 for 0.9,
    or the threshold would be their maximum. Images without a score are left out. `partial` says what an image with
    some properties of the class counts as: "class", "not class" or "skip".
    """
    if not 0 < tpr < 1:
        raise ValueError(f"tpr is a share between 0 and 1, such as 0.9, got {tpr!r}")
    known = labelled(scores, labels, partial=partial)
    outside = known.filter(pl.col("out_of_class"))
    least = math.ceil(1 / (1 - tpr) - 1e-9)
    found = {}
    for name in which or [name for name in FILTER_SCORES if name in known.columns]:
        if name not in known.columns:
            raise ValueError(f"there is no score {name!r}; there are: {', '.join(FILTER_SCORES)}")
        values = np.sort(outside[name].drop_nulls().to_numpy())
        if len(values) < least:
            raise ValueError(
                f"{len(values)} images labelled out of class are too few to choose a threshold of {name} for a TPR of "
                f"{tpr:g}; label at least {least}"
            )
        found[name] = float(values[math.ceil(tpr * len(values) - 1e-9) - 1])
    return found
