"""From which score on an image still shows its class."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from brittle._io import replacing
from brittle.metrics import published
from brittle.sliders.image_scores import FILTER_SCORES, ImageScores
from brittle.sliders.ooc_labels import labelled

Thresholds = Mapping[str, float]
"""Of scores by name; an image passes if its score is greater."""

EXAMPLE = '{"least": 2, "thresholds": {"CLIP_class": 28.7}}'


def published_thresholds() -> dict[str, float]:
    """The thresholds CNS-Bench was filtered with: for CLIP ViT-B/16, DINOv2 ViT-L/14 and `CODE_PROMPTS` only."""
    table = published("cns-ooc-thresholds")
    return {str(name): float(value) for name, value in zip(table["score"], table["threshold"], strict=True)}


def write_thresholds(thresholds: Thresholds, path: str | Path, *, least: int = 2) -> Path:
    """Keep thresholds for other images, and how many of them an image must pass."""
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    with replacing(file) as part:
        words = json.dumps({"least": least, "thresholds": dict(thresholds)}, indent=1)
        part.write_text(f"{words}\n", encoding="utf-8")
    return file


def read_thresholds(path: str | Path) -> tuple[dict[str, float], int]:
    """What `write_thresholds` kept: the thresholds, and how many of them an image must pass."""
    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(f"there is no file of thresholds {str(path)!r}; `brittle slide filter` writes one")
    try:
        kept = json.loads(file.read_text(encoding="utf-8"))
        found, least = {str(name): float(value) for name, value in kept["thresholds"].items()}, int(kept["least"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(
            f"{str(path)!r} holds no thresholds; it should be like {EXAMPLE}, as `brittle slide filter` writes it"
        ) from error
    unknown = [name for name in found if name not in FILTER_SCORES]
    if unknown or not found:
        raise ValueError(
            f"{str(path)!r} has thresholds of {', '.join(unknown) or 'nothing'}; "
            f"the scores are {', '.join(FILTER_SCORES)}"
        )
    return found, least


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
    or the threshold would be their maximum. Images without a score are left out, and so are those at scale 0 and what
    starts out of class, see `labelled`. `partial` says what an image with some properties of the class counts as:
    "class", "not class" or "skip".
    """
    return limits_for(labelled(scores, labels, partial=partial), tpr, which)


def limits_for(known: pl.DataFrame, tpr: float, which: Sequence[str] | None = None) -> dict[str, float]:
    """The same for rows that have a column `out_of_class`."""
    if not 0 < tpr < 1:
        raise ValueError(f"tpr is a share between 0 and 1, such as 0.9, got {tpr!r}")
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
