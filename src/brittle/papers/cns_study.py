"""What models do along the scales of CNS-Bench: rCE, drops, rankings, failure points, ID and OOD accuracy (4.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
import polars as pl

from brittle._errors import BrittleError
from brittle.evaluation import OVERALL, CnsScores, cns_scores, grouped_drops, shift_title
from brittle.metrics import Estimate, correlate, kendall, mean_ranks, published_table
from brittle.papers import cns_runs as runs
from brittle.papers import cns_slides as drawn
from brittle.papers.cns_figures import curves_by, draw_panels
from brittle.papers.experiments import Outcome, Setting, experiment
from brittle.papers.noc_setup import agreement_of
from brittle.plots import plot_drop, plot_first_failures, plot_ranks, plot_rce, plot_slopes

NEEDS = (*drawn.SLIDES, *runs.MODELS)
SHARED = "after fig1, minutes"
THREE = {
    "small": ("heavy_snow", "graffiti_style", "cartoon_style"),
    "paper": ("heavy_snow", "painting_style", "cartoon_style"),
}
"""The shifts of Figs. 6b and 6c; the demo pipeline knows no paintings."""

CLEAR = 0.5
"""A rank correlation along an axis of some four models says nothing below this."""


def _differs(setting: Setting, *more: str) -> list[str]:
    small = [f"{len(runs.CLASSIFIERS)} small classifiers of clothes and three bundled ones in place of 40 of ImageNet"]
    lists = ["zero-shot CLIP is not among the models"]
    return drawn.differences(setting, *(small if setting.small else lists), drawn.filter_note(setting), *more)


def mean_drops(scores: CnsScores) -> dict[str, float]:
    """The accuracy drop of each model, mean over shifts and scales."""
    shift = "mean" if "mean" in scores.accuracy["shift"] else scores.accuracy["shift"][0]
    rows = scores.accuracy.filter((pl.col("shift") == shift) & (pl.col("scale") > 0))
    means = rows.group_by("model", maintain_order=True).agg(pl.col("drop").mean())
    return dict(means.select("model", "drop").iter_rows())


def _order(correlation: float | None) -> str:
    """What a rank correlation of a few models with their size allows to say of the larger ones."""
    if correlation is None or abs(correlation) < CLEAR:
        return "no clearly lower or higher"
    return "a lower" if correlation < 0 else "a higher"


@experiment(
    "table1",
    "rCE along the model axes",
    claim="DeiT3 is the most robust architecture, larger DeiT3 are more robust, and so are models with self-supervised "
    "pre-training or more data.",
    minutes=0.2,
    after=("fig1",),
    needs=NEEDS,
    small_needs=runs.SMALL_NEEDS,
    optional=drawn.OPTIONAL,
    cost=SHARED,
)
def table1(setting: Setting) -> Outcome:
    """The relative corruption error of the models along each axis, mean over shifts, and the published ones."""
    runs.models_by_name(setting, [runs.BASELINE[setting.scale]])
    scores, clean = runs.slide_scores(setting), runs.id_accuracy(setting)
    rce = {row["model"]: row for row in scores.rce.filter(pl.col("shift") == "mean").iter_rows(named=True)}
    table = published_table("cns-table1")
    printed = list(zip(table.text("axis"), table.text("model_label"), table.numbers("rCE").tolist(), strict=True))
    numbers = {(axis, label): float(value) for axis, label, value in printed}
    drops, rows = mean_drops(scores), []
    for axis, labels in runs.model_axes(setting).items():
        for model, label in labels.items():
            row = {"axis": axis, "model": label, "rCE": rce[model]["rce"], "low": rce[model]["low"]}
            row |= {"high": rce[model]["high"], "mean drop": 100 * drops[model], "ID accuracy": 100 * clean[model]}
            rows.append(row | ({} if setting.small else {"published rCE": numbers.get((axis, label))}))
    ours = {axis: [row["rCE"] for row in rows if row["axis"] == axis] for axis in runs.model_axes(setting)}
    theirs = {axis: [value for each, _, value in printed if each == axis] for axis in ours}
    along = [
        {
            "axis": axis,
            "least rCE": min(ours[axis]),
            "of": next(row["model"] for row in rows if row["rCE"] == min(ours[axis]) and row["axis"] == axis),
            "most rCE": max(ours[axis]),
            "rank correlation with size or data": _rising(setting, axis, ours[axis]),
            "published least rCE": min(theirs[axis]),
            "published most rCE": max(theirs[axis]),
            "published rank correlation": _rising(setting, axis, theirs[axis], published=True),
        }
        for axis in ours
    ]
    tables: dict[str, Any] = {"models": rows, "axes": along}
    agreement: list[Estimate] = []
    if setting.small:
        tables["published"] = [
            {"axis": axis, "published model": label, "published rCE": value} for axis, label, value in printed
        ]
    else:
        agreement = agreement_of([row["rCE"] for row in rows], [row["published rCE"] for row in rows], "rCE")
    size = next((row for row in along if row["axis"] == "size"), along[0])
    verdict = (
        "; ".join(
            f"{row['axis']}: rCE from {row['least rCE']:.2f} ({row['of']}) to {row['most rCE']:.2f}, the paper "
            f"{row['published least rCE']:.2f} to {row['published most rCE']:.2f}"
            for row in along
        )
        + ". Larger networks have "
        + _order(size["rank correlation with size or data"])
        + f" rCE (rank correlation {rounded(size['rank correlation with size or data'])}, the paper "
        f"{rounded(size['published rank correlation'])})"
    )
    base = f"{runs.BASELINE['small']} divides in place of AlexNet, so that rCE cannot be compared with the printed ones"
    more = [base, "axes are architecture and recipe, width, and number of training images"] if setting.small else []
    shown = list(dict.fromkeys(model for labels in runs.model_axes(setting).values() for model in labels))
    return Outcome(verdict, tables, agreement, _differs(setting, *more), {"rce": plot_rce(scores, models=shown)})


def _rising(setting: Setting, axis: str, values: Sequence[float], *, published: bool = False) -> float | None:
    """Spearman's correlation of values with the order of the models on an axis that has one."""
    ordered = axis == "size" or (axis == "pretraining" and setting.small and not published)
    if not ordered or len(values) < 3 or np.ptp(values) == 0:
        return None
    return float(correlate(np.arange(len(values), dtype=float), mean_ranks(np.asarray(values))))


def rounded(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.2f}".replace("-", "−")


@experiment(
    "fig6",
    "accuracy drops along the model axes (Fig. 6a)",
    claim="The architecture matters, more parameters lower the drop, and so do self-supervised pre-training and more "
    "data, at small and large scales.",
    minutes=0.1,
    after=("fig1",),
    needs=NEEDS,
    small_needs=runs.SMALL_NEEDS,
    optional=drawn.OPTIONAL,
    cost=SHARED,
)
def fig6(setting: Setting) -> Outcome:
    """The accuracy drop of the models along each axis at each scale, averaged over all shifts."""
    scores, panels, rows = runs.slide_scores(setting), {}, []
    names = ("drop", "drop_low", "drop_high")
    mean = scores.accuracy.filter(pl.col("shift") == "mean")
    for axis, labels in runs.model_axes(setting).items():
        chosen = pl.concat([mean.filter(pl.col("model") == model) for model in labels])
        chosen = chosen.with_columns(pl.col("model").replace_strict(labels))
        panels[axis] = curves_by(chosen, "model", names)
        rows += [
            {"axis": axis, "model": label, **{f"{x:g}": y for x, y in zip(xs[1:], ys[1:], strict=True)}}
            for label, (xs, ys, *_) in panels[axis].items()
        ]
    last = {axis: [curve[1][-1] for curve in series.values()] for axis, series in panels.items()}
    first = {axis: [curve[1][2] for curve in series.values()] for axis, series in panels.items()}
    trend = {axis: _rising(setting, axis, values) for axis, values in last.items()}
    best = {axis: min(series, key=lambda label: series[label][1][-1]) for axis, series in panels.items()}
    changed = [axis for axis, series in panels.items() if best[axis] != list(series)[int(np.argmin(first[axis]))]]
    verdict = (
        "At the last scale the drops are "
        + "; ".join(
            f"{min(values):.1f} ({best[axis]}) to {max(values):.1f} points along {axis}"
            for axis, values in last.items()
        )
        + f". The rank correlation of the drop with the size is {rounded(trend.get('size'))}"
        + (f", with the number of images {rounded(trend.get('pretraining'))}" if setting.small else "")
        + f"; on {len(changed)} of {len(panels)} axes another model was best at {mean['scale'].unique().sort()[2]:g}"
    )
    grouped = grouped_drops(scores, runs.model_families(setting)).filter(pl.col("shift") == "mean")
    grouped = _in_points(grouped, "drop", "least", "most")
    return Outcome(
        verdict,
        {"drops": rows, "groups": drawn.rows_of(grouped, "group", "scale", "models", "drop", "least", "most")},
        differs=_differs(setting, "the figure's own numbers are not in the text that we have"),
        figures={"fig6a": draw_panels(panels, "accuracy drop (points)", height=2.2)},
    )


def _in_points(table: pl.DataFrame, *columns: str) -> pl.DataFrame:
    return table.with_columns(pl.col(*columns) * 100)


@lru_cache(maxsize=2)
def _architectures(setting: Setting) -> CnsScores:
    """Scores of the models along the axis of architectures, ranked among themselves, on three shifts."""
    names = list(next(iter(runs.model_axes(setting).values())))
    scores = cns_scores(runs.slide_results(setting), models=names, rank_by="drop", seed=setting.seed)
    return _only(scores, THREE[setting.scale])


def _only(scores: CnsScores, shifts: Sequence[str]) -> CnsScores:
    """The tables of scores for some shifts."""
    known = [shift for shift in shifts if shift in scores.accuracy["shift"]]
    tables = ("accuracy", "failure_points", "margins", "rankings", "agreement")
    kept = {name: getattr(scores, name).filter(pl.col("shift").is_in(known)) for name in tables}
    return replace(scores, **kept)


@experiment(
    "rankings",
    "accuracy drops and rankings for three shifts (Fig. 6b)",
    claim="Rankings by the accuracy drop change with the shift and its scale: they do for snow and painting, and stay "
    "the same for the cartoon style, where drops are far larger.",
    minutes=0.1,
    after=("fig1",),
    needs=NEEDS,
    small_needs=runs.SMALL_NEEDS,
    optional=drawn.OPTIONAL,
    cost=SHARED,
)
def rankings(setting: Setting) -> Outcome:
    """Ranks by the drop at each scale with intervals, Kendall's τ to the first one, and ViT-B/16's drops beside."""
    scores = _architectures(setting)
    rows, said = [], []
    for shift in [each for each in THREE[setting.scale] if each in scores.accuracy["shift"]]:
        part = scores.rankings.filter(pl.col("shift") == shift)
        end = part.filter(pl.col("scale") == part["scale"].max())
        moved = end.filter((pl.col("fallen_low") > 0) | (pl.col("fallen_high") < 0))["model"].to_list()
        tau, later = scores.agreement.filter(pl.col("shift") == shift).sort("scale")["kendall"][-1], _late_tau(part)
        worst = float(end["drop"].max())  # type: ignore[arg-type]
        rows.append(
            {
                "shift": shift_title(shift),
                "τ of the last scale to the first": tau,
                f"τ of the last scale to {LATE:g}": later,
                "models that change their rank beyond the interval": ", ".join(moved) or "none",
                "largest drop": 100 * worst,
                "published": "stays" if shift == "cartoon_style" else "changes",
            }
        )
        since = "undefined" if tau is None else rounded(tau)
        said.append(
            f"{shift_title(shift)}: τ of the last scale is {since} to the first and {rounded(later)} to {LATE:g}, the "
            f"largest drop {100 * worst:.0f} points"
        )
    columns = ("shift", "scale", "model", "drop", "rank", "rank_low", "rank_high", "fallen_low", "fallen_high")
    verdict = (
        "; ".join(said) + ". Beyond the intervals of 95 % "
        f"{sum(row['models that change their rank beyond the interval'] != 'none' for row in rows)} of {len(rows)} "
        "shifts have models that change their rank between the first and the last scale"
    )
    beside, agreement = _beside_vit(setting)
    more = ["graffiti in place of paintings"] if setting.small else []
    return Outcome(
        verdict,
        {"shifts": rows, "ranks": drawn.rows_of(_in_points(scores.rankings, "drop"), *columns), "vit": beside},
        agreement,
        _differs(setting, *more, "the published drops of ViT-B/16 are read from a plot by eye, to about half a point"),
        {"drops": plot_drop(scores), "ranks": plot_ranks(scores)},
    )


LATE = 1.5
"""A scale at which models have begun to fail; before, drops are small and ranks are those of a few images."""


def _late_tau(part: pl.DataFrame) -> float | None:
    """Kendall's τ of the drops at the last scale with those at `LATE`, of the rankings of one shift."""
    drops = [part.filter(pl.col("scale") == scale).sort("model")["drop"] for scale in (LATE, part["scale"].max())]
    first, last = (column.to_numpy().round(12) for column in drops)
    return None if len(first) < 3 or np.ptp(first) == 0 or np.ptp(last) == 0 else kendall(first, last).value


VIT = {"small": "world-standard", "paper": "ViT-B-16"}


def _beside_vit(setting: Setting) -> tuple[list[dict[str, Any]], list[Estimate]]:
    """The drops of one model by shift and scale, beside the digitised ones of ViT-B/16 where both are known."""
    scores, model = runs.slide_scores(setting), VIT[setting.scale]
    table = published_table("cns-vit-b16-accuracy-drop")
    scales = [column for column in table.columns if column.startswith("scale_")]
    printed = {
        (shift, float(column.removeprefix("scale_"))): 100 * float(table.numbers(column)[place])
        for place, shift in enumerate(table.text("shift"))
        for column in scales
    }
    drops = scores.accuracy.filter((pl.col("model") == model) & (pl.col("scale") > 0))
    rows = [
        {
            "shift": shift_title(row["shift"]),
            "scale": row["scale"],
            f"drop of {model}": 100 * row["drop"],
            "low": 100 * row["drop_low"],
            "high": 100 * row["drop_high"],
            "published drop of ViT-B/16": printed.get((row["shift"], row["scale"])),
        }
        for row in drops.iter_rows(named=True)
        if row["shift"] not in OVERALL
    ]
    both = [row for row in rows if row["published drop of ViT-B/16"] is not None]
    ours = [row[f"drop of {model}"] for row in both]
    return rows, agreement_of(ours, [row["published drop of ViT-B/16"] for row in both], "drops by shift and scale")


@experiment(
    "failure-points",
    "the scales at which models fail first (Fig. 6c)",
    claim="Failures increase gradually with the scale in snow, and pile up around 1.5 for the cartoon style.",
    minutes=0.1,
    after=("fig1",),
    needs=NEEDS,
    small_needs=runs.SMALL_NEEDS,
    optional=drawn.OPTIONAL,
    cost=SHARED,
)
def first_failures(setting: Setting) -> Outcome:
    """The histogram of failure points for three shifts, and the scale at which most failures are, for all shifts."""
    every = runs.slide_scores(setting).failure_points.filter(pl.col("scale") > 0)
    rows = []
    for shift in [each for each in every["shift"].unique().sort() if each not in OVERALL]:
        part = every.filter(pl.col("shift") == shift).group_by("scale").agg(pl.col("share").mean()).sort("scale")
        shares, scales = part["share"].to_numpy(), part["scale"].to_numpy()
        row: dict[str, Any] = {
            "shift": shift_title(shift),
            **{f"{x:g}": 100 * y for x, y in zip(scales, shares, strict=True)},
        }
        peak = float(scales[int(shares.argmax())]) if shares.any() else None
        row |= {"most fail at": peak, "share of all failures": shares.max() / shares.sum() if shares.any() else None}
        row["rises at every scale"] = bool((np.diff(shares) > 0).all())
        rows.append(row | {"published most fail at": {"cartoon_style": 1.5, "heavy_snow": 2.5}.get(shift)})
    shown = _architectures(setting)
    by_title = {row["shift"]: row for row in rows}
    said = [
        f"{shift_title(shift)}: most at {by_title[shift_title(shift)]['most fail at']:g} "
        f"({by_title[shift_title(shift)]['share of all failures']:.0%} of all)"
        for shift in THREE[setting.scale]
        if shift_title(shift) in by_title and by_title[shift_title(shift)]["most fail at"] is not None
    ]
    peaks = {row["most fail at"] for row in rows}
    verdict = (
        f"{'; '.join(said)}; over all {len(rows)} shifts the scale at which most failures are takes "
        f"{len(peaks)} values. Means over {every['model'].n_unique()} models, of all trajectories in percent"
    )
    return Outcome(
        verdict,
        {"shifts": rows, "models": drawn.rows_of(shown.failure_points.filter(pl.col("scale") > 0))},
        differs=_differs(setting, "for snow the paper says gradually, which is read as most at the last scale"),
        figures={"fig6c": plot_first_failures(shown)},
    )


@experiment(
    "fig7",
    "ID and OOD accuracy",
    claim="The slope of OOD accuracy on ID accuracy, over 16 models, depends on the shift and on its scale.",
    minutes=0.1,
    after=("fig1",),
    needs=NEEDS,
    small_needs=runs.SMALL_NEEDS,
    optional=drawn.OPTIONAL,
    cost=SHARED,
)
def fig7(setting: Setting) -> Outcome:
    """The line of accuracy at each scale on accuracy on real images, over sixteen models, for each shift."""
    scores = runs.slide_scores(setting)
    table = scores.slopes.filter(pl.col("scale") > 0)
    if table.is_empty():
        raise BrittleError(
            f"there is no slope over the models {', '.join(runs.slope_models(setting))}: it needs three that are not "
            "equally good on real images"
        )
    each = table.filter(~pl.col("shift").is_in(OVERALL))
    pooled = table.filter(pl.col("shift") == "all").sort("scale")
    parted = [
        shift_title(part["shift"][0])
        for part in each.partition_by("shift", maintain_order=True)
        if float(part["low"].max()) > float(part["high"].min())  # type: ignore[arg-type]
    ]
    at_last = each.filter(pl.col("scale") == each["scale"].max())
    between = bool(len(at_last)) and float(at_last["low"].max()) > float(at_last["high"].min())  # type: ignore[arg-type]
    verdict = (
        f"Over all shifts the slope is {', '.join(rounded(value) for value in pooled['slope'])} at scales "
        f"{', '.join(f'{scale:g}' for scale in pooled['scale'])}, over {pooled['models'][0]} models; for a single "
        f"shift it lies between {rounded(each['slope'].min())} and {rounded(each['slope'].max())}. "  # type: ignore[arg-type]
        f"Intervals of two scales of the same shift are apart for {len(parted)} of {each['shift'].n_unique()} shifts"
        + (f" ({', '.join(parted)})" if parted else "")
        + f", those of two shifts at the last scale are {'' if between else 'not '}"
    ) + "apart"
    id_name = "real clothes" if setting.small else "ImageNet's validation set"
    few = "the sixteen are all but the baseline" if setting.small else "which sixteen the paper took is inferred"
    return Outcome(
        verdict,
        {"slopes": drawn.rows_of(table)},
        differs=_differs(setting, few, f"ID accuracy is that on {id_name}", "the figure's numbers are lost to us"),
        figures={"fig7": plot_slopes(replace(scores, slopes=table, id_axis=id_name))},
    )
