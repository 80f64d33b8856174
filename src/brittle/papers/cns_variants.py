"""Beside the main study of CNS-Bench: a diffusion classifier, and rankings by severity of an ordinary corruption."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from brittle._io import make_folder
from brittle._types import FloatArray
from brittle.benchmarks import Cell, load_benchmark
from brittle.datasets import cns_bench
from brittle.evaluation import (
    Results,
    Trajectories,
    cns_scores,
    evaluate,
    evaluate_stored,
    ranking_table,
    trajectories,
)
from brittle.metrics import bootstrap, kendall
from brittle.models import from_dit, load_model
from brittle.papers import cns_runs as runs
from brittle.papers import cns_slides as drawn
from brittle.papers.cns_figures import draw_panels
from brittle.papers.cns_study import NEEDS, rounded
from brittle.papers.experiments import Outcome, Setting, experiment
from brittle.papers.syn2nat_runs import clothes
from brittle.plots import plot_drop
from brittle.sliders import trajectory_dataset

if TYPE_CHECKING:
    from brittle.models import Model


DIFFUSION_IMAGES = {"small": 480, "paper": 1000}
DIFFUSION: dict[str, Any] = {"timesteps": 500, "keep": 5, "keep_after": 50, "bf16": True}
"""How the DiT classifies: 500 noises, of which all classes see 50 and the best five the others."""

DISCRIMINATIVE = {"small": ("world-standard", "world-augmix"), "paper": ("ViT-B-16", "MAE-IN1k")}
PRINTED = {
    "DiT": "diffusion_classifier_DiT_mean_accuracy_drop",
    "supervised ViT": "supervised_ViT_mean_accuracy_drop_same_subset",
    "MAE": "MAE_mean_accuracy_drop_same_subset",
}
"""The models of the paper, with the names of their numbers in its text."""


@experiment(
    "diffusion",
    "a diffusion classifier beside discriminative ones (4.3)",
    claim="A DiT as a classifier drops by 0.106 on average over snow and cartoon, a supervised ViT by 0.07, MAE by "
    "0.05: diffusion classifiers are less robust.",
    minutes=1.2,
    after=("fig1",),
    needs=(*NEEDS, "dit"),
    small_needs=runs.SMALL_NEEDS,
    optional=drawn.OPTIONAL,
    cost="a DiT-XL/2 over 1,000 images and 1,000 classes, days of a GPU",
)
def diffusion_classifier(setting: Setting) -> Outcome:
    """Mean accuracy drops on a part of the slides in snow and as cartoons."""
    models: list[Model] = runs.models_by_name(setting, DISCRIMINATIVE[setting.scale])
    if setting.small:
        generative = load_model("tiny:diffusion", device=setting.device)
    else:
        options = {**DIFFUSION, "seed": setting.seed, "device": setting.device}
        generative = from_dit(setting.path("dit"), name="DiT", **options)
    folder = setting.work("run-diffusion")
    make_folder(folder)
    stored = trajectory_dataset(drawn.slides(setting), keep=_part(setting, DIFFUSION_IMAGES[setting.scale]))
    results = evaluate_stored([generative, *models], stored, folder, progress=setting.progress)
    scores, names = cns_scores(results), [generative.name, *(model.name for model in models)]
    drops = _pooled_drops(results, names, setting.seed)
    printed = [drawn.published_number(quantity) for quantity in PRINTED.values()]
    start = {
        row["model"]: row["accuracy"]
        for row in scores.accuracy.filter((pl.col("shift") == "mean") & (pl.col("scale") == 0)).iter_rows(named=True)
    }
    rows = [
        {"model": name, "accuracy at scale 0": start[name], **drops[name], "published model": role}
        | {"published mean drop": number}
        for name, role, number in zip(names, PRINTED, printed, strict=True)
    ]
    comparisons = [f"{_robust(drops[name])} {name}" for name in names[1:]]
    verdict = (
        "Mean drops are "
        + ", ".join(f"{row['mean drop']:.3f} [{row['low']:.3f}, {row['high']:.3f}] ({row['model']})" for row in rows)
        + f"; the paper has 0.106, 0.07 and 0.05. The diffusion classifier is {' and '.join(comparisons)}, on "
        f"{rows[0]['trajectories']} trajectories"
    )
    more = (
        ["the diffusion classifier is the very pipeline that drew the images", "its classes are prompts, not numbers"]
        if setting.small
        else ["five of 1,000 classes go on after a tenth of the noises"]
    )
    return Outcome(
        verdict.replace("[-", "[−").replace(" -", " −"),
        {"models": rows, "drops": drawn.rows_of(scores.accuracy, "model", "shift", "scale", "accuracy", "drop")},
        differs=drawn.differences(setting, *more),
        figures={"drops": plot_drop(scores, models=names)},
    )


def _robust(row: dict[str, Any]) -> str:
    """How the first model compares with another, by the interval of their difference."""
    low, high = row["less by, low"], row["less by, high"]
    return "more robust than" if low > 0 else "less robust than" if high < 0 else "not clearly apart from"


def _pooled_drops(results: Results, names: Sequence[str], seed: int) -> dict[str, dict[str, Any]]:
    """Of each model the drop, mean over trajectories and scales, and by how much less that of the first is."""
    parts = trajectories(results, models=names)
    right = {name: np.concatenate([part.correct[i] for part in parts]).astype(float) for i, name in enumerate(names)}
    first, drops = right[names[0]], {}

    def drop(means: FloatArray) -> FloatArray:
        return np.asarray(means[..., 0] - means[..., 1 : first.shape[1]].mean(axis=-1))

    def less(means: FloatArray) -> FloatArray:
        return drop(means) - drop(means[..., first.shape[1] :])

    for name, rows in right.items():
        mean = bootstrap(rows, drop, name="mean drop", seed=seed)
        drops[name] = {"mean drop": mean.value, "low": mean.low, "high": mean.high, "trajectories": len(rows)}
        if name != names[0]:
            gap = bootstrap(np.hstack([rows, first]), less, name="difference of mean drops", seed=seed)
            drops[name] |= {f"{names[0]} drops less by": gap.value, "less by, low": gap.low, "less by, high": gap.high}
    return drops


def _part(setting: Setting, count: int) -> list[str]:
    """Images of whole trajectories in snow and as cartoons, about so many, evenly over all."""
    data, kept = cns_bench(drawn.slides(setting)), drawn.kept_slides(setting)
    known = None if kept is None else set(kept)
    ways: dict[tuple[Any, ...], list[str]] = {}
    columns = (data.columns["shift"].tolist(), np.asarray(data.labels).tolist(), data.columns["seed"].tolist())
    for sample, *way in zip(map(str, data.ids), *columns, strict=True):
        if way[0] in drawn.LABELLED and (known is None or sample in known):
            ways.setdefault(tuple(way), []).append(sample)
    chosen = sorted(ways)
    wanted = max(2, min(len(chosen), count // max(1, len(next(iter(ways.values()))))))
    at = np.unique(np.arange(wanted) * len(chosen) // wanted)
    return [sample for place in at for sample in ways[chosen[place]]]


EXAMPLE = "snow"
"""The corruption that is ranked by severity; the paper does not name its own in the text."""


@experiment(
    "imagenet-c",
    "rankings by severity of a corruption (Fig. 23)",
    claim="Rankings change between the levels of a corruption of ImageNet-C, too.",
    minutes=0.2,
    after=("fig1",),
    needs=runs.MODELS,
    small_needs=runs.SMALL_NEEDS,
    cost="the models of one axis over 5 × 50,000 images",
)
def ranks_by_severity(setting: Setting) -> Outcome:
    """Ranks by the accuracy drop at each of five severities."""
    recipe = load_benchmark("cifar10-c" if setting.small else "imagenet-c").cut([EXAMPLE], seed=setting.seed)
    names = list(next(iter(runs.model_axes(setting).values())))
    data = clothes(setting, runs.TEST_IMAGES) if setting.small else setting.data("imagenet")
    folder = setting.work("run-imagenet-c")
    make_folder(folder)
    results = evaluate(
        runs.models_by_name(setting, names),
        data,
        recipe,
        folder,
        engine=setting.engine,
        address=setting.address,
        progress=setting.progress,
    )
    cells = [Cell(), *recipe.cells()]
    right = np.stack([results.matrix(name, cells).values for name in names]).astype(bool)
    accuracy, severities = right.mean(axis=1), np.array([0.0, *(cell.severity for cell in cells[1:])])
    drops = (accuracy[:, :1] - accuracy[:, 1:]).round(12)
    images = [str(place) for place in range(right.shape[1])]
    shown = Trajectories(EXAMPLE, names, severities, right, images, 0)
    ranks = ranking_table([shown], rank_by="drop", seed=setting.seed)
    rows = [
        {"severity": row["scale"], "model": row["model"], "drop": 100 * row["drop"], "rank": row["rank"]}
        | {"rank low": row["rank_low"], "rank high": row["rank_high"], "places fallen": row["fallen"]}
        | {"fallen low": row["fallen_low"], "fallen high": row["fallen_high"]}
        for row in ranks.iter_rows(named=True)
    ]
    taus = [_tau(drops[:, 0], drops[:, j]) for j in range(drops.shape[1])]
    places = max(abs(row["places fallen"]) for row in rows)
    moved = sorted({row["model"] for row in rows if row["fallen low"] > 0 or row["fallen high"] < 0})
    verdict = (
        f"Under {EXAMPLE} the ranks at severity 5 correlate with those at severity 1 by τ = {rounded(taus[-1])}, and a "
        f"model moves by up to {places} of {len(names)} places: the ranking "
        f"{'changes' if places else 'does not change'} with the severity, beyond the intervals of 95 % for "
        f"{', '.join(moved) or 'no model'}"
    )
    panels = {
        EXAMPLE: {name: (range(1, drops.shape[1] + 1), 100 * row) for name, row in zip(names, drops, strict=True)}
    }
    how = ["clothes under CIFAR-10-C's version of the corruption"] if setting.small else []
    return Outcome(
        verdict,
        {"ranks": rows, "agreement": [{"severity": cells[1 + j].severity, "τ": tau} for j, tau in enumerate(taus)]},
        differs=[*how, "the figure itself, and which corruption it shows, are in an appendix that we do not have"],
        figures={"drops": draw_panels(panels, "accuracy drop (points)", axis="severity", height=2.2)},
    )


def _tau(first: Any, other: Any) -> float | None:
    if len(first) < 3 or np.ptp(first) == 0 or np.ptp(other) == 0:
        return None
    return kendall(first, other).value
