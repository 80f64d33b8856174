"""The scores of CNS-Bench, as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from brittle.evaluation import Results
from brittle.evaluation.scores import CLEAN_CELL
from brittle.sliders.cns_accuracy import accuracy_table, failure_table, margin_table
from brittle.sliders.cns_models import agreement_table, ranking_table, slope_table
from brittle.sliders.cns_rce import rce_table
from brittle.sliders.trajectories import Trajectories, trajectories

ALL = "all"


@dataclass(frozen=True, eq=False)
class CnsScores:
    """One table for each question; `shift` is a shift or, if there are several, "all" images together or the "mean".

    Attributes:
        accuracy: model, shift, scale: accuracy and its drop since scale 0 of the same shift, with intervals.
        failure_points: model, shift, scale: the share of trajectories that fail first there, with an interval. Scale 0
            are those that were never right; those that never fail are in no row.
        margins: model, shift: trajectories, how many are wrong at 0 and how many never fail, and the mean margin
            3 − failure point, where those that never fail count as 3.
        rce: model, shift and "mean": rCE with its interval; empty without a baseline.
        rankings: shift, scale, model: the rank by accuracy from 1, ties sharing the better one, and how many places it
            has fallen since scale 0.
        agreement: shift, scale: Kendall's τ between the ranking there and at scale 0; null where it is undefined.
        slopes: shift, scale: the line of OOD on ID accuracy over models; empty with fewer than three.
        dropped: incomplete trajectories of each shift, which count nowhere.
    """

    accuracy: pl.DataFrame
    failure_points: pl.DataFrame
    margins: pl.DataFrame
    rce: pl.DataFrame
    rankings: pl.DataFrame
    agreement: pl.DataFrame
    slopes: pl.DataFrame
    dropped: Mapping[str, int]


def cns_scores(
    results: Results,
    *,
    models: Sequence[str] | None = None,
    baseline: str | None = None,
    id_accuracy: Mapping[str, float] | None = None,
    slope_models: Sequence[str] | None = None,
    axes: str = "linear",
    level: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> CnsScores:
    """Everything CNS-Bench reports, from results on its images or on slides of your own.

    Args:
        models: by default all that were run on every shift and scale.
        baseline: the model whose rise in error divides that of others in rCE; the paper's is AlexNet.
        id_accuracy: of models, for the slope; by default on the clean images of the run and, if some model has none,
            at scale 0 of the same shift.
        slope_models: those the line is fitted over; the paper takes 16 trained with labels on ImageNet alone.
        axes: of the line, "linear" as in the paper, "probit" or "logit".
    """
    found = trajectories(results, models=models)
    names = found[0].models
    if baseline is not None and baseline not in names:
        raise ValueError(f"the baseline {baseline!r} was not run; there are models {', '.join(names)}")
    together = [*found, *([_together(found)] if len(found) > 1 else [])]
    options = {"level": level, "resamples": resamples, "seed": seed}
    fitted = list(names if slope_models is None else slope_models)
    unknown = [model for model in fitted if model not in names]
    if unknown:
        raise ValueError(f"the slope model {unknown[0]!r} was not run; there are models {', '.join(names)}")
    known = id_accuracy if id_accuracy is not None else _clean(results, fitted)
    return CnsScores(
        accuracy=accuracy_table(found, together, **options),  # type: ignore[arg-type]
        failure_points=failure_table(together, level=level),
        margins=margin_table(together),
        rce=rce_table(found, baseline, **options),  # type: ignore[arg-type]
        rankings=ranking_table(together),
        agreement=agreement_table(together, level=level),
        slopes=slope_table(together, fitted, known, axes=axes, level=level),
        dropped={part.shift: part.dropped for part in found},
    )


def _together(found: list[Trajectories]) -> Trajectories:
    """All shifts as one, images counting alike, as in the authors' notebook; at the scales that all shifts have."""
    scales = found[0].scales
    for part in found[1:]:
        scales = np.intersect1d(scales, part.scales)
    blocks = [part.correct[:, :, np.isin(part.scales, scales)] for part in found]
    names = [f"{part.shift}/{name}" for part in found for name in part.names]
    dropped = sum(part.dropped for part in found)
    return Trajectories(ALL, found[0].models, scales, np.concatenate(blocks, axis=1), names, dropped)


def _clean(results: Results, models: Sequence[str]) -> Mapping[str, float] | None:
    """The accuracy on the clean images, if all the models were run on them."""
    if not set(models) <= set(results.models_with([CLEAN_CELL])):
        return None
    return {model: results.clean_accuracy(model) for model in models}
