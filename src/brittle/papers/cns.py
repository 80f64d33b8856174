"""CNS-Bench: shifts that grow, failure points, and the filter of what shifts destroy, figure by figure.

The paper slides images of a class towards a nuisance shift, so that a classifier has a failure point. The first half of
it is about the images: do sliders shift gradually, and do the images still show their class? Whether they are like real
ones is for `cns_checks`, what models do with them for `cns_study` and `cns_variants`. What takes long is made once, in
`cns_slides`, `cns_runs` and `cns_ood_cv`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from brittle._errors import BrittleError
from brittle.datasets import Dataset, class_name, cns_bench
from brittle.evaluation import shift_title, trajectories, typical_trajectory
from brittle.metrics import Estimate, failure_points
from brittle.papers import cns_runs as runs
from brittle.papers import cns_slides as drawn
from brittle.papers.cns_figures import draw_answers
from brittle.papers.experiments import Outcome, Setting, experiment
from brittle.plots import plot_ooc_scores, plot_roc, plot_shift_curves
from brittle.report import slide_sheet
from brittle.sliders import (
    annotator_agreement,
    filter_roc,
    label_counts,
    labelled,
    ooc_filter,
    rises_throughout,
    shift_curves,
    validated_filters,
    with_baseline,
)

SNOW = drawn.LABELLED[0]
SHOWN = 5
"""Models of Fig. 1."""

SHOWN_CLASSES = 3
"""Classes of the pictures of Fig. 2."""

NEVER = 3.0
"""What a trajectory on which a model never fails counts as, as in the paper's code."""


@experiment(
    "fig1",
    "one trajectory, and where models fail on it",
    claim="Under a gradually increasing shift each model has a failure point: one fails in any snow, another only when "
    "the object is heavily covered.",
    minutes=8,
    needs=(*drawn.SLIDES, *runs.MODELS),
    small_needs=runs.SMALL_NEEDS,
    optional=drawn.OPTIONAL,
    cost="1,400 sliders of Stable Diffusion 2.0 and 420,000 images, which the other experiments share",
)
def fig1(setting: Setting) -> Outcome:
    """The failure points of models on one trajectory in snow, and how far they lie apart on all of them."""
    results = runs.slide_results(setting)
    part = next((each for each in trajectories(results) if each.shift == SNOW), None)
    if part is None:
        raise BrittleError(
            f"no trajectory in {shift_title(SNOW)} is left to show; its slides are missing or filtered out"
        )
    points = {model: failure_points(right, part.scales) for model, right in zip(part.models, part.correct, strict=True)}
    order = sorted(points, key=lambda model: -points[model].mean(NEVER))
    models = [order[i] for i in np.linspace(0, len(order) - 1, min(SHOWN, len(order))).astype(int)]
    spread = np.ptp([np.minimum(each.points, NEVER) for each in points.values()], axis=0)
    chosen = typical_trajectory(results, models[len(models) // 2], SNOW)
    name = chosen["way"][0]
    data = cns_bench(drawn.slides(setting))
    place = {str(sample): i for i, sample in enumerate(data.ids)}
    rows = results.rows.filter(pl.col("sample").is_in(chosen["sample"].to_list()) & pl.col("model").is_in(models))
    seen = {
        (row["model"], row["level"]): (class_name(row["prediction"], data.classes).replace("_", " "), row["correct"])
        for row in rows.select("model", "level", "prediction", "correct").collect().iter_rows(named=True)
    }
    scales = chosen["level"].to_list()
    table = [
        {
            "model": model,
            "failure point here": _first([seen[model, scale][1] for scale in scales], scales),
            "mean failure point": points[model].mean(NEVER),
            "never fails": points[model].never / len(points[model]),
        }
        for model in models
    ]
    answers = {model: [seen[model, scale] for scale in scales] for model in models}
    pictures = [data.image(place[sample]) for sample in chosen["sample"]]
    verdict = (
        f"On {(spread > 0).mean():.0%} of {len(spread)} trajectories in snow the {len(part.models)} models fail at "
        f"different scales, by {spread.mean():.2f} between the first and the last on average; on the one shown "
        f"({_trajectory_title(name)}) " + ", ".join(f"{row['model']} {_at(row['failure point here'])}" for row in table)
    )
    return Outcome(
        verdict,
        {"models": table},
        differs=drawn.differences(setting, drawn.filter_note(setting)),
        figures={"fig1": draw_answers(pictures, scales, answers)},
    )


def _trajectory_title(name: str) -> str:
    """A trajectory in words: heavy_snow/001_trouser/seed_0003 is trouser, seed 3."""
    *_, one, seed = name.split("/")
    return f"{one.partition('_')[2]}, seed {int(seed.rpartition('_')[2])}"


def _first(right: list[bool], scales: list[float]) -> float | None:
    return next((scale for scale, good in zip(scales, right, strict=True) if not good), None)


def _at(point: float | None) -> str:
    return "never" if point is None else f"at {point:g}"


@experiment(
    "fig2",
    "a shift by a prompt, and by a slider",
    claim="A shift by the prompt comes in one step, varies with the seed, and may change the whole image; a slider "
    "changes it gradually and keeps its structure, but may lose the class at higher scales.",
    minutes=0.2,
    after=("fig1",),
    needs=drawn.SLIDES,
    optional={drawn.ADAPTERS: (), drawn.LABELS: ()},
    cost="after fig1, 20,000 more images",
)
def fig2(setting: Setting) -> Outcome:
    """Both shifts of the same seeds: how strong, how even over seeds and classes, and how much of the image is left."""
    thresholds = drawn.filter_thresholds(setting)
    scores = drawn.scores_of(setting, drawn.slides(setting))
    prompts = drawn.scores_of(setting, drawn.two_prompt_slides(setting))
    rows: list[dict[str, Any]] = []
    for shift in drawn.LABELLED:
        of_sliders = [(f"slider, {scale:g}", scores, scale) for scale in sorted(scores["scale"].unique()) if scale > 0]
        for method, table, scale in (("two prompts", prompts, 1.0), *of_sliders):
            rows.append({"shift": shift_title(shift), "method": method, **_moved(table, shift, scale, thresholds)})
    pairs = []
    for shift in drawn.LABELLED:
        mine = [row for row in rows if row["shift"] == shift_title(shift)]
        pairs.append((mine[0], min(mine[1:], key=lambda row: abs(row["ΔCLIP shift"] - mine[0]["ΔCLIP shift"]))))
    verdict = "; ".join(
        f"{prompt['shift']}: the prompt moves by {prompt['ΔCLIP shift']:.0f} ± {prompt['std']:.0f} and leaves a cosine "
        f"of {prompt['DINO to scale 0']:.2f} to the image before, a {slider['method']} by "
        f"{slider['ΔCLIP shift']:.0f} ± {slider['std']:.0f} and {slider['DINO to scale 0']:.2f}"
        for prompt, slider in pairs
    )
    verdict += (
        f"; the filter finds {_most_lost(rows)} out of class at the last scale of the sliders. ± is the standard "
        "deviation over seeds and classes"
    )
    figures = {
        "two_prompts": slide_sheet(_few_classes(cns_bench(drawn.two_prompt_slides(setting)))),
        "sliders": _marked_sheet(setting, scores, thresholds),
    }
    return Outcome(verdict, {"images": rows}, differs=drawn.differences(setting), figures=figures)


def _moved(table: pl.DataFrame, shift: str, scale: float, thresholds: dict[str, float]) -> dict[str, Any]:
    """How far images of a shift have moved at a scale, over seeds and classes."""
    way = ["label", "seed"]
    rows = table.filter(pl.col("shift") == shift)
    start = rows.filter(pl.col("scale") == 0).select(*way, pl.col("CLIP_shift").alias("before"))
    joined = rows.filter(pl.col("scale") == scale).join(start, on=way)
    delta = (joined["CLIP_shift"] - joined["before"]).to_numpy()
    passed = ooc_filter(joined, thresholds)["passed"]
    return {
        "ΔCLIP shift": float(delta.mean()),
        "std": float(delta.std()),
        "CLIP to scale 0": float(joined["CLIP_ref"].to_numpy().mean()),
        "DINO to scale 0": float(joined["DINO_ref_no_head"].to_numpy().mean()),
        "out of class by the filter": float(1 - passed.to_numpy().mean()),
        "images": len(joined),
    }


def _most_lost(rows: list[dict[str, Any]]) -> str:
    last = {row["shift"]: row["out of class by the filter"] for row in rows}  # the last row of a shift stays
    return " and ".join(f"{share:.0%} ({shift})" for shift, share in last.items())


def _few_classes(data: Dataset) -> Dataset:
    """Slides of a few classes, evenly over all that there are, in the labelled shifts."""
    labels = np.asarray(data.labels)
    known = np.unique(labels)
    shown = known[np.linspace(0, len(known) - 1, min(SHOWN_CLASSES, len(known))).astype(int)]
    return data.subset(np.flatnonzero(np.isin(labels, shown) & np.isin(data.columns["shift"], drawn.LABELLED)))


def _marked_sheet(setting: Setting, scores: pl.DataFrame, thresholds: dict[str, float]) -> Any:
    """The trajectories of the sliders, with the images that the filter finds out of class marked."""
    out = ooc_filter(scores, thresholds).filter(~pl.col("passed"))["sample"].to_list()
    predictions = dict.fromkeys(out, ("out of class", False))
    return slide_sheet(_few_classes(cns_bench(drawn.slides(setting))), predictions=predictions)


@experiment(
    "fig3",
    "ΔCLIP of sliders and of two prompts, against the scale",
    claim="Sliders perform a gradual shift in snow; two prompts only allow a binary one.",
    minutes=0.1,
    after=("fig1", "fig2"),
    needs=drawn.SLIDES,
    optional={drawn.ADAPTERS: ()},
    cost="after fig2, minutes",
)
def fig3(setting: Setting) -> Outcome:
    """The CLIP shift difference of snow at each scale, the baseline beside; all other shifts as a table."""
    curves = shift_curves(drawn.scores_of(setting, drawn.slides(setting)))
    baseline = shift_curves(drawn.scores_of(setting, drawn.two_prompt_slides(setting)))
    both = with_baseline(curves, baseline)
    rising = {
        shift: rises_throughout(curves.filter(pl.col("shift") == shift)) for shift in curves["shift"].unique().sort()
    }
    snow = curves.filter((pl.col("shift") == SNOW) & (pl.col("measure") == "ΔCLIP shift")).sort("scale")
    binary = baseline.filter((pl.col("shift") == SNOW) & (pl.col("measure") == "ΔCLIP shift") & (pl.col("scale") == 1))
    worst = curves.filter(pl.col("measure") == "ΔCLIP class").sort("value").row(0, named=True)
    flat = [shift_title(shift) for shift, up in rising.items() if not up]
    verdict = (
        f"In snow ΔCLIP to the shift is {', '.join(f'{value:.1f}' for value in snow['value'])} at scales "
        f"{', '.join(f'{scale:g}' for scale in snow['scale'])}, and {binary['value'][0]:.1f} by two prompts; it rises "
        f"at every scale for {sum(rising.values())} of {len(rising)} shifts"
        + (f" (not for {', '.join(flat)})" if flat else "")
        + f". To the class it falls by {-worst['value']:.1f} at most "
        f"({shift_title(worst['shift'])}, scale {worst['scale']:g})"
    )
    of_snow = both.filter(pl.col("shift").is_in(drawn.LABELLED))
    return Outcome(
        verdict,
        {"curves": drawn.rows_of(both)},
        differs=drawn.differences(setting, "the figure's own numbers are not in the text that we have"),
        figures={"fig3": plot_shift_curves(of_snow), "all_shifts": plot_shift_curves(curves)},
    )


PUBLISHED_FILTERS = {"2 of 4": "ooc_filter", "CLIP_class": "clip_only_filter"}
RATES = {"tpr": "TPR", "fpr": "FPR", "accuracy": "accuracy"}


@experiment(
    "filter",
    "the out-of-class filter (3.3 and 4.2)",
    claim="Two of four scores remove 87.9 % of out-of-class images and 12.0 % of the others, with an accuracy of "
    "88.0 %; a threshold on CLIP alone 89.9, 35.7 and 65.1 %.",
    minutes=0.1,
    after=("fig1",),
    needs=(*drawn.SLIDES, drawn.LABELS),
    optional={drawn.ADAPTERS: (), drawn.PUBLISHED: drawn.DRAWING},
    cost="after fig1; 18,000 labels by hand, made with `brittle slide label`",
)
def ooc_filter_quality(setting: Setting) -> Outcome:
    """TPR, FPR and accuracy of the filter and of each score alone, on images that it was not tuned on."""
    scores, labels = drawn.scores_of(setting, drawn.labelled_slides(setting)), drawn.slide_labels(setting)
    thresholds = drawn.filter_thresholds(setting)
    quality, how = validated_filters(scores, labels, thresholds, tpr=drawn.TPR)
    without: dict[str, float] = {}
    if labelled(scores, labels, partial="skip")["out_of_class"].n_unique() == 2:
        sure, _ = validated_filters(scores, labels, thresholds, tpr=drawn.TPR, partial_as="skip")
        without = {row["filter"]: 100 * row["fpr"] for row in sure.iter_rows(named=True)}
    rows, gaps = [], []
    for one in quality.iter_rows(named=True):
        row: dict[str, Any] = {"filter": one["filter"]}
        published = PUBLISHED_FILTERS.get(one["filter"])
        for rate, name in RATES.items():
            row |= {name: 100 * one[rate], f"{name} low": 100 * one[f"{rate}_low"]}
            row |= {f"{name} high": 100 * one[f"{rate}_high"]}
            printed = None if published is None else drawn.published_number(f"{published}_{name}_percent")
            row[f"published {name}"] = printed
            gaps += [] if printed is None else [abs(100 * one[rate] - printed)]
        more = {end or "gap": one[f"fpr_gap{end}"] for end in ("", "_low", "_high")}
        row |= {f"FPR minus that of {quality['filter'][0]}": None if more["gap"] is None else 100 * more["gap"]}
        row |= {f"its {end[1:]}": None if more[end] is None else 100 * more[end] for end in ("_low", "_high")}
        rows.append(row | {"FPR without partial ones": without.get(one["filter"])})
    two, alone = rows[0], next(row for row in rows if row["filter"] == "CLIP_class")
    counts = [
        {"label": name, "images": list(labels.values()).count(name)} for name in ("class", "partial", "not class")
    ]
    tables: dict[str, Any] = {"filters": rows, "labels": counts}
    tables["thresholds"] = [{"score": name, "threshold": value} for name, value in thresholds.items()]
    if not setting.small:
        made = drawn.slide_annotations(setting, cns_bench(drawn.labelled_slides(setting)))
        tables["labels"] = drawn.rows_of(label_counts(made))
        if made["annotator"].n_unique() > 1:
            tables["annotators"] = drawn.rows_of(annotator_agreement(made))
    curves = filter_roc(scores, labels)
    tables["roc"] = [
        {"filter": one["filter"][0], "area below the ROC curve": one["auc"][0]}
        for one in curves.partition_by("filter", maintain_order=True)
    ]
    gap, low, high = (alone[name] for name in (f"FPR minus that of {two['filter']}", "its low", "its high"))
    better = "better" if low > 0 else "worse" if high < 0 else "neither better nor worse"
    more_removed, *interval = (f"{value:.1f}".replace("-", "−") for value in (gap, low, high))
    verdict = (
        f"Two of four remove {two['TPR']:.1f} % of out-of-class images and {two['FPR']:.1f} % of the others, with an "
        f"accuracy of {two['accuracy']:.1f} %; CLIP alone {alone['TPR']:.1f}, {alone['FPR']:.1f} and "
        f"{alone['accuracy']:.1f} %: by its FPR the combination is {better} than CLIP alone, which removes "
        f"{more_removed} [{', '.join(interval)}] points more of the same images ({how})"
    )
    by = ["an oracle classifier in place of people labels, images up to scale 5"] if setting.small else []
    return Outcome(
        verdict,
        tables,
        [
            Estimate(
                "mean absolute difference of the six rates, points", float(np.mean(gaps)), n=len(gaps), percent=False
            )
        ],
        drawn.differences(setting, *by, "the paper's thresholds were chosen on the labels that they were tested on"),
        {"scores": plot_ooc_scores(labelled(scores, labels), thresholds), "roc": plot_roc(curves)},
    )
