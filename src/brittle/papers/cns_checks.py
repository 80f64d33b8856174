"""Are the images of CNS-Bench like real ones? OOD-CV beside slides, tokens of classes, and the filter beside labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from brittle._io import make_folder
from brittle.datasets import cns_bench
from brittle.evaluation import evaluate_stored, shift_title
from brittle.metrics import Estimate, accuracy_estimate
from brittle.papers import cns_ood_cv as real
from brittle.papers import cns_runs as runs
from brittle.papers import cns_slides as drawn
from brittle.papers.cns_figures import curves_by, draw_panels
from brittle.papers.experiments import Outcome, Setting, experiment
from brittle.papers.syn2nat_runs import clothes
from brittle.plots import plot_first_failures
from brittle.sliders import (
    ChosenPipeline,
    choose_pipeline,
    labelled_accuracy,
    ooc_filter,
    pick_sliders,
    train_tokens,
    trajectory_dataset,
)

STEADY = 1.5
"""The scale up to which accuracies on slides hardly change in the paper."""


@experiment(
    "fig4",
    "slides beside real images of OOD-CV",
    claim="A ResNet-50 stays at about 95 % up to a scale of 1.5 and drops from 2.0 on, most in fog; real images in bad "
    "weather are partly harder, since their nuisances are not disentangled.",
    minutes=1.3,
    after=("fig1",),
    needs=real.NEEDS,
    small_needs=runs.SMALL_NEEDS,
    optional={real.START: ()},
    cost="30 sliders, 10,500 images, and a ResNet-50 trained on OOD-CV",
)
def fig4(setting: Setting) -> Outcome:
    """The accuracy of one classifier on slides in three kinds of weather, and its levels on real images in weather."""
    scores, levels = real.weather_scores(setting), real.real_accuracies(setting)
    table = scores.accuracy.filter(pl.col("shift").is_in(list(real.WEATHER)))
    panels, lines = {}, {}
    for shift in real.WEATHER:
        title = shift_title(shift)
        series = curves_by(table.filter(pl.col("shift") == shift), "model", ("accuracy", "low", "high"))
        panels[title] = {"slides": next(iter(series.values()))}
        near = [row for row in levels if not setting.small or row["real images"].startswith((real.NO_SHIFT, title))]
        lines[title] = {f"real, {row['real images'].removeprefix(f'{title}, ')}": row["accuracy"] for row in near}
    last = {row["shift"]: row for row in table.filter(pl.col("scale") == table["scale"].max()).iter_rows(named=True)}
    steady = table.filter(pl.col("scale") <= STEADY)["accuracy"].to_numpy()
    hardest = max(last, key=lambda shift: last[shift]["drop"])
    verdict = (
        f"Up to scale {STEADY:g} the slides are at {100 * steady.min():.0f} to {100 * steady.max():.0f} %, at 3 at "
        + ", ".join(f"{100 * row['accuracy']:.0f} % ({shift_title(shift)})" for shift, row in last.items())
        + f"; {shift_title(hardest)} has the biggest impact. Real images: "
        + ", ".join(f"{row['accuracy']:.0f} % ({row['real images']})" for row in levels)
    )
    rows = [
        {
            "shift": shift_title(row["shift"]),
            "scale": row["scale"],
            "accuracy": 100 * row["accuracy"],
            "low": 100 * row["low"],
            "high": 100 * row["high"],
            "published accuracy": drawn.published_number("ood_cv_accuracy_up_to_scale_1.5_percent_about")
            if row["scale"] <= STEADY
            else None,
        }
        for row in table.iter_rows(named=True)
    ]
    said = [(row["accuracy"], row["published accuracy"]) for row in rows if row["published accuracy"] is not None]
    gap = Estimate(
        f"mean absolute difference up to scale {STEADY:g}, points",
        float(np.mean([abs(a - b) for a, b in said])),
        n=len(said),
        percent=False,
    )
    real_by = "clothes that corruptions of brittle bring into the weather, as the demo pipeline was trained on, play"
    more = (
        [f"{real_by} the real images"]
        if setting.small
        else [
            "OOD-CV's published layout has one set for all weather, so there is one line for it",
            "classes are drawn by their names, since OOD-CV's have no tokens",
        ]
    )
    return Outcome(
        verdict,
        {"slides": rows, "real_images": levels, "failure_points": drawn.rows_of(scores.failure_points)},
        [gap],
        drawn.differences(setting, *more, "slides of this figure are not filtered"),
        {"accuracy": draw_panels(panels, "accuracy (%)", levels=lines), "failures": plot_first_failures(scores)},
    )


TOKEN_TRAINING: dict[str, Any] = {"steps": 200, "batch_size": 4, "lr": 0.02}
TOKEN_IMAGES = 40
"""Real images of each class that a token is trained on, at small scale."""

TOKEN_SEEDS = {"small": 20, "paper": 2}


@experiment(
    "tokens",
    "images by class names, and by tokens learned from real images (4.2)",
    claim="ResNet-50 (DeiT) is right on 68.2 % (71.6 %) of images drawn by names, and on 74.1 % (79.1 %) of those by "
    "the tokens of IN*: these are nearer to ImageNet.",
    minutes=0.4,
    after=("fig1",),
    needs=(*drawn.DRAWING, *runs.MODELS),
    small_needs=runs.SMALL_NEEDS,
    cost="400 images",
)
def class_tokens(setting: Setting) -> Outcome:
    """The accuracy of two classifiers on images without a shift, by names and by tokens, and on real ones."""
    names = drawn.named_pipeline(setting, tokens=False)
    tokens = _token_pipeline(setting)
    models = runs.models_by_name(setting, TOKEN_MODELS[setting.scale])
    sets = {}
    for title, chosen in (("names", names), ("tokens", tokens)):
        picks = pick_sliders(chosen, None, classes=drawn.CLASSES[setting.scale], unshifted=True, seed=setting.seed)
        seeds = drawn.seeds_of(setting, TOKEN_SEEDS[setting.scale])
        sets[title] = cns_bench(drawn.draw(setting, chosen, picks, f"by-{title}", scales=(0.0,), seeds=seeds))
    sets["real images"] = runs.real_images(setting, sets["names"])
    rows = []
    for title, images in sets.items():
        results = runs.run(setting, models, images, f"run-{title.replace(' ', '-')}")
        row: dict[str, Any] = {"images": title, "number": len(images)}
        for model, printed in zip(models, ("resnet50", "deit"), strict=True):
            right = results.rows.filter(pl.col("model") == model.name).select("correct").collect()["correct"].to_numpy()
            found = accuracy_estimate(right)
            row |= {model.name: 100 * found.value, f"{model.name} low": 100 * (found.low or 0)}
            row |= {f"{model.name} high": 100 * (found.high or 0)}
            kind = {"names": "SD", "tokens": "INstar"}.get(title)
            number = None if kind is None else drawn.published_number(f"{printed}_accuracy_{kind}_percent")
            row[f"published {'ResNet-50' if printed == 'resnet50' else 'DeiT'}"] = number
        rows.append(row)
    gaps = {
        title: float(np.mean([abs(row[model.name] - rows[-1][model.name]) for model in models]))
        for title, row in zip(sets, rows, strict=True)
    }
    nearer = "nearer to" if gaps["tokens"] < gaps["names"] else "not nearer to"
    verdict = (
        "; ".join(
            f"{model.name}: {rows[0][model.name]:.1f} % by names, {rows[1][model.name]:.1f} % by tokens, "
            f"{rows[2][model.name]:.1f} % on real images"
            for model in models
        )
        + f". Tokens are {nearer} the real images ({gaps['tokens']:.1f} against {gaps['names']:.1f} points away)"
    )
    more = (
        [f"tokens are trained for {TOKEN_TRAINING['steps']} steps of {TOKEN_TRAINING['batch_size']} images, and the "
         "demo pipeline learned its class names from Fashion-MNIST itself"]
        if setting.small
        else []
    )  # fmt: skip
    return Outcome(verdict, {"accuracy": rows}, differs=drawn.differences(setting, *more))


TOKEN_MODELS = {"small": ("width-8", "world-standard"), "paper": ("ResNet-50", "DeiT-B")}


def _token_pipeline(setting: Setting) -> ChosenPipeline:
    """The pipeline with tokens: the published ones, or at small scale such as are trained on real clothes."""
    if not setting.small:
        return drawn.named_pipeline(setting)
    plain, folder = drawn.named_pipeline(setting), setting.work("tokens")
    targets = plain.find_classes(drawn.CLASSES["small"])
    train_tokens(
        plain.base,
        clothes(setting, runs.TEST_IMAGES, train=True),
        targets,
        folder,
        names=plain.names,
        limit=TOKEN_IMAGES,
        progress=setting.progress,
        seed=setting.seed,
        **TOKEN_TRAINING,
    )
    return choose_pipeline(drawn.pipeline_of(setting), tokens=folder, device=setting.device)


@experiment(
    "fig5",
    "accuracy on images that people keep, and that the filter keeps",
    claim="The accuracy curves of ResNet-50 and DINOv2 on the filtered and on the labelled images are comparable.",
    minutes=0.1,
    after=("fig1",),
    needs=(*drawn.SLIDES, *runs.MODELS, drawn.LABELS),
    small_needs=runs.SMALL_NEEDS,
    optional={drawn.ADAPTERS: (), drawn.PUBLISHED: drawn.DRAWING},
    cost="after filter, minutes",
)
def fig5(setting: Setting) -> Outcome:
    """The accuracy of two models at each scale: on all labelled images, on those in class, and on those kept."""
    folder, models = drawn.labelled_slides(setting), runs.models_by_name(setting, runs.PAIR[setting.scale])
    labels = drawn.slide_labels(setting)
    place = setting.work("run-labelled")
    make_folder(place)
    stored = trajectory_dataset(folder, keep=list(labels))
    results = evaluate_stored(models, stored, place, progress=setting.progress)
    passed = ooc_filter(drawn.scores_of(setting, folder), drawn.filter_thresholds(setting)).filter("passed")
    table = labelled_accuracy(results, labels, passed["sample"].to_list())
    panels = {
        part["model"][0]: curves_by(part, "selection", ("accuracy", "low", "high"))
        for part in table.partition_by("model", maintain_order=True)
    }
    wide = table.pivot(on="selection", index=["model", "scale"], values="accuracy")
    gap = (wide["by the filter"] - wide["by hand"]).abs().drop_nulls().to_numpy() * 100
    without = (wide["all labelled"] - wide["by hand"]).abs().drop_nulls().to_numpy() * 100
    verdict = (
        f"What the filter keeps and what the labels keep differ by {gap.mean():.1f} points on average and by "
        f"{gap.max():.1f} at most, over {len(models)} models and {wide['scale'].n_unique()} scales; without any filter "
        f"it is {without.mean():.1f} and {without.max():.1f}: the filter is "
        f"{'comparable to' if gap.mean() < without.mean() else 'no substitute for'} labels"
    )
    gap_of = Estimate("mean absolute difference, points", float(gap.mean()), n=len(gap), percent=False)
    more = ["the oracle classifier labels in place of people"] if setting.small else []
    return Outcome(
        verdict,
        {"accuracy": drawn.rows_of(table)},
        [gap_of],
        drawn.differences(setting, *more, "the figure's own numbers are not in the text that we have"),
        {"fig5": draw_panels(panels, "accuracy (%)")},
    )
