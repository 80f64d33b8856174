"""Beside the main study of CNS-Bench: a diffusion classifier, and rankings by severity of an ordinary corruption."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from brittle._io import make_folder
from brittle.benchmarks import Cell, load_benchmark
from brittle.datasets import cns_bench
from brittle.evaluation import cns_scores, evaluate, evaluate_stored
from brittle.metrics import kendall, mean_ranks
from brittle.models import from_dit, load_model
from brittle.papers import cns_runs as runs
from brittle.papers import cns_slides as drawn
from brittle.papers.cns_figures import draw_panels
from brittle.papers.cns_study import NEEDS, mean_drops, rounded
from brittle.papers.experiments import Outcome, Setting, experiment
from brittle.papers.syn2nat_runs import clothes
from brittle.plots import plot_drop
from brittle.sliders import trajectory_dataset

if TYPE_CHECKING:
    from brittle.models import Model


DIFFUSION_IMAGES = {"small": 144, "paper": 1000}
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
    minutes=3,
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
    scores = cns_scores(evaluate_stored([generative, *models], stored, folder, progress=setting.progress))
    drops, names = mean_drops(scores), [generative.name, *(model.name for model in models)]
    printed = [drawn.published_number(quantity) for quantity in PRINTED.values()]
    start = {
        row["model"]: row["accuracy"]
        for row in scores.accuracy.filter((pl.col("shift") == "mean") & (pl.col("scale") == 0)).iter_rows(named=True)
    }
    rows = [
        {"model": name, "accuracy at scale 0": start[name], "mean drop": drops[name], "published model": role}
        | {"published mean drop": number}
        for name, role, number in zip(names, PRINTED, printed, strict=True)
    ]
    less = drops[names[0]] > max(drops[name] for name in names[1:])
    verdict = (
        "Mean drops are "
        + ", ".join(f"{row['mean drop']:.3f} ({row['model']})" for row in rows)
        + f"; the paper has 0.106, 0.07 and 0.05. The diffusion classifier is {'less' if less else 'not less'} robust "
        "than both others"
    )
    more = (
        ["the diffusion classifier is the very pipeline that drew the images", "its classes are prompts, not numbers"]
        if setting.small
        else ["five of 1,000 classes go on after a tenth of the noises"]
    )
    return Outcome(
        verdict,
        {"models": rows, "drops": drawn.rows_of(scores.accuracy, "model", "shift", "scale", "accuracy", "drop")},
        differs=drawn.differences(setting, *more),
        figures={"drops": plot_drop(scores, models=names)},
    )


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
    minutes=0.3,
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
    accuracy = np.stack([results.matrix(name, cells).values.mean(axis=0) for name in names])
    drops = (accuracy[:, :1] - accuracy[:, 1:]).round(12)
    ranks = np.stack([mean_ranks(column) for column in drops.T], axis=1)
    rows = [
        {"severity": cell.severity, "model": name, "drop": 100 * drops[i, j], "rank": ranks[i, j]}
        for j, cell in enumerate(cells[1:])
        for i, name in enumerate(names)
    ]
    taus = [_tau(drops[:, 0], drops[:, j]) for j in range(drops.shape[1])]
    places = (ranks.max(axis=1) - ranks.min(axis=1)).max()
    verdict = (
        f"Under {EXAMPLE} the ranks at severity 5 correlate with those at severity 1 by τ = {rounded(taus[-1])}, and a "
        f"model moves by up to {places:g} of {len(names)} places: the ranking "
        f"{'changes' if places else 'does not change'} with the severity"
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
