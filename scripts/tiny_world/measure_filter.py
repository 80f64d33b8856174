"""Whether the out-of-class filter removes, of images it was not tuned on, what it was told to remove."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import polars as pl

from brittle.datasets import cns_bench
from brittle.sliders import (
    Base,
    Pick,
    TargetClass,
    choose_thresholds,
    find_sliders,
    held_out_filters,
    image_scores,
    oracle_labels,
    sample_sliders,
    train_sliders,
    write_thresholds,
)
from brittle.sliders.clip import FILTER_SCORES
from brittle.sliders.demo_pipeline import DEMO_SAMPLING, DEMO_TRAINING, ORACLE, DemoPipeline

SHIFTS = ("heavy_snow", "heavy_fog", "heavy_sandstorm")
SCALES = (0.0, 1.0, 2.0, 3.0, 4.0, 5.0)
STRONGER = {**DEMO_TRAINING, "strength": 0.8}
"""Twice as far as usual, and by stronger sliders: the usual ones destroy too little to learn a filter from."""

TPR, SEEDS = 0.9, range(101, 113)
"""Seeds that nothing else of the world uses, so that the thresholds are new to its other images."""


def measure_filter(world: DemoPipeline, work: Path, kept: Path | None = None) -> dict[str, Any]:
    """Sliders of all classes in three shifts, the judge's labels, and what the filter does with held-out ones.

    The thresholds of all labels become the world's; `kept` is a file for all scores.
    """
    base = Base(str(world.folder / "pipeline"), device="cpu")
    classes = [TargetClass(number, name, name) for number, name in enumerate(world.classes)]
    train_sliders(base, classes, SHIFTS, work / "filter-sliders", **STRONGER)
    sliders = find_sliders(work / "filter-sliders")
    sample_sliders(
        base,
        [Pick(classes[one.number], one.shift, one) for one in sliders],
        work / "filter-slides",
        scales=SCALES,
        seeds=SEEDS,
        names=world.classes,
        sampling=DEMO_SAMPLING,
        batch_size=12,
        file_format="png",
    )
    slides = cns_bench(work / "filter-slides")
    labels = oracle_labels(slides, world.classifier(ORACLE, device="cpu"))
    scores = image_scores(slides, world.clip(device="cpu"), world.encoder(device="cpu")).table
    if kept is not None:
        said = pl.col("sample").replace_strict(labels).alias("said")
        numbers = [pl.col(name).round(4) for name in FILTER_SCORES]
        table = scores.select("sample", "shift", "label", "name", "seed", "scale", *numbers, said)
        kept.write_bytes(gzip.compress(table.write_csv().encode(), mtime=0))
    write_thresholds(choose_thresholds(scores, labels, tpr=TPR), world.folder / "thresholds.json")
    return {
        "labels": {name: list(labels.values()).count(name) for name in ("class", "partial", "not class")},
        "held out": held_out_filters(scores, labels, tpr=TPR).to_dicts(),
    }
