"""Sequences of small perturbations, as of ImageNet-P: how often a prediction changes from frame to frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from brittle._errors import BrittleError
from brittle.evaluation.sequences import SequenceScores, sequence_scores
from brittle.report.charts import Caption, Chart, Series, interval_chart
from brittle.report.data import Measure, Measured, Part
from brittle.report.theme import ModelStyles, short_name


@dataclass(frozen=True, eq=False)
class MeasuredSequences(Measured):
    """A part with sequences: the scores of its models, the steadiest first, or why there are none."""

    scores: Sequence[SequenceScores] = ()
    refusal: str = ""


def measure_sequences(part: Part, reference: str | None = None) -> MeasuredSequences:
    """Every model with sequences, by the share of frames that it gets right; mFR if the reference is one of them."""
    rows = part.results.sequences
    assert rows is not None
    counted = rows.group_by("model").agg(pl.col("sample").n_unique().alias("samples"), pl.col("correct").mean())
    unknown = np.array([np.nan])
    measures = [
        Measure(row["model"], row["samples"], np.array([row["correct"]]), unknown, unknown)
        for row in counted.collect().iter_rows(named=True)
    ]
    measures.sort(key=lambda one: (-one.main.value, one.model))
    try:
        scores = sequence_scores(part.results, reference=reference if reference in part.models else None)
    except BrittleError as error:
        return MeasuredSequences(part, measures, refusal=str(error))
    return MeasuredSequences(part, measures, scores=scores)


def steadiness_tables(measured: MeasuredSequences, styles: ModelStyles) -> dict[str, Any]:
    """How steady each model is, and under which perturbation its prediction flips most often."""
    scores, where = measured.scores, {"template": "sequences.html", "refusal": measured.refusal}
    if not scores:
        return where
    level = measured.part.results.sequences.select(pl.col("level").first()).collect().item()  # type: ignore[union-attr]
    return where | {
        "scores": scores,
        "reference": scores[0].reference,
        "difficulty": f"{level:g}",
        "perturbations": list(scores[0].flip_probabilities),
        "views": [{"name": one.model, "chart": _flips(one, styles)} for one in scores],
    }


def _flips(score: SequenceScores, styles: ModelStyles) -> Chart:
    """The flip probability of each perturbation in percent, the largest first."""
    ordered = sorted(score.flip_probabilities.items(), key=lambda item: (-item[1].value, item[0]))
    names = [short_name(name).replace("_", " ") for name, _ in ordered]
    series = [
        Series(name, styles[score.model], [0.0], *([100 * end] for end in (one.value, one.low or 0, one.high or 0)))
        for name, (_, one) in zip(names, ordered, strict=True)
    ]
    label = f"{score.model} flips most often under {names[0]}"
    caption = Caption(score.model, "percent of frames, the dashed line is the mean", label)
    mean = 100 * score.flip_probability.value
    return interval_chart(names, series, caption, target=mean, measure="flip probability, %")
