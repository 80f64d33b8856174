"""Failure points that were searched for on the continuous axis: quantiles, survival curves and pictures."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from brittle.corruptions import get_corruption
from brittle.evaluation import FailureSummary, SearchedFolder, drawn_key, load_failure_points
from brittle.metrics import Estimate
from brittle.report.charts import Axis, Caption, Chart, Frame, Series, line_chart, severity_ticks, share_axis
from brittle.report.data import Measured, Part
from brittle.report.pictures import Picture, Shot, Strip
from brittle.report.theme import ModelStyles, percent, short_name, tenths

STEPS = 60
"""Points of a curve."""

STRIPS = 6
"""So many corruptions are shown in pictures."""

ClassName = Callable[[int], str]


@dataclass(frozen=True, eq=False)
class Searched:
    """The failure points of one model under one corruption, and the folder they are kept in."""

    model: str
    summary: FailureSummary
    folder: SearchedFolder

    @property
    def change(self) -> Any:
        """What the severity at which the first fail does to an image."""
        return self.folder.change(self.summary)


def searched(measured: Measured, styles: ModelStyles) -> dict[str, Any] | None:
    """The corruptions of a benchmark that `brittle failure-points` was run on, beside the run of its levels."""
    part = measured.part
    searches = [] if part.benchmark is None else _of_part(part)
    if not searches:
        return None
    strips = failure_strips(searches, styles, part.class_name)
    blocks = ("survival", "quantiles", *(["strips"] if strips else []))
    where = {"template": "searched.html", "blocks": blocks, "strips": strips}
    return {**survival_curves(searches, styles), **quantiles(searches, styles), **where}


def failure_sections(
    searches: Sequence[Searched], styles: ModelStyles, class_name: ClassName
) -> list[tuple[str, str, str, dict[str, Any]]]:
    """The sections of a page of failure points alone: key, title, block, and what that shows."""
    strips = failure_strips(searches, styles, class_name)
    shown = [
        ("summary", "In short", "failure_cards", {"cards": _cards(searches, styles), "styles": styles}),
        ("searched", "Survival curves", "survival", survival_curves(searches, styles)),
        ("failure", "Failure points", "quantiles", quantiles(searches, styles)),
    ]
    return [*shown, ("examples", "Pictures", "strips", {"strips": strips})] if strips else shown


def named_searches(folders: Sequence[SearchedFolder]) -> list[list[Searched]]:
    """Everything in some folders; models of one name and different weights get the beginnings of their keys."""
    keys: dict[str, set[str]] = {}
    for one in (one for folder in folders for one in folder.summaries):
        keys.setdefault(one.model, set()).add(one.key)
    return [
        [
            Searched(one.model if len(keys[one.model]) == 1 else f"{one.model} {one.key[:6]}", one, folder)
            for one in folder.summaries
        ]
        for folder in folders
    ]


def _of_part(part: Part) -> list[Searched]:
    assert part.benchmark is not None
    wanted = {drawn_key(part.benchmark, entry) for entry in part.benchmark.entries}
    known = {m.key: m.name for run in part.results.runs for m in run.models}
    full = {key: name if name in part.models else f"{name} {key[:6]}" for key, name in known.items()}
    names = {key: name for key, name in full.items() if name in part.models}
    searches: dict[tuple[str, str], Searched] = {}
    for run in part.results.runs:
        if load_failure_points(run.folder) is None:
            continue
        folder = SearchedFolder(run.folder)
        for one in folder.summaries:
            if one.drawn in wanted and one.key in names:
                searches.setdefault((one.key, one.corruption), Searched(names[one.key], one, folder))
    return list(searches.values())


def survival_curves(searches: Sequence[Searched], styles: ModelStyles) -> dict[str, Any]:
    """A chart for each corruption: the share of images still right at every severity."""
    by_corruption: dict[str, list[Searched]] = {}
    for one in searches:
        by_corruption.setdefault(one.summary.corruption, []).append(one)
    return {
        "evaluations": sum(one.summary.evaluations for one in searches) / len(searches),
        "grid": sum(len(one.summary.points.severities) for one in searches) / len(searches),
        "legend": styles.among(list(_ranked(searches, styles))),
        "charts": [_survival(name, group, styles) for name, group in by_corruption.items()],
    }


def _ranked(searches: Sequence[Searched], styles: ModelStyles) -> dict[str, list[Searched]]:
    """Those of each model, the most brittle corruption first."""
    by_model: dict[str, list[Searched]] = {}
    for one in sorted(searches, key=lambda one: (styles[one.model].place, one.summary.rank)):
        by_model.setdefault(one.model, []).append(one)
    return by_model


def _survival(corruption: str, group: list[Searched], styles: ModelStyles) -> Chart:
    last = max(one.summary.last for one in group)
    xs = [float(x) for x in np.linspace(0, last, STEPS + 1)]
    frame = Frame(220, 150, Axis(0, last, severity_ticks(last), "severity"), share_axis(1.0, "still right"))
    series, rows = [], []
    for one in sorted(group, key=lambda one: -one.summary.points.mean()):
        style, points = styles[one.model], one.summary.points
        low, high = points.survival_interval(xs) if style.shown else ((), ())
        series.append(Series(one.model, style, xs, list(points.survival(xs)), list(low), list(high)))
    for one in group:
        median = one.summary.points.median()
        half = f"half at {median:.2f}" if np.isfinite(median) else f"more than half hold to {last:g}"
        rows.append(f"{one.model}  {half}, {tenths(float(one.summary.points.survival([last])[0]))} % never fail")
    known = get_corruption(corruption)
    caption = Caption(known.name, "", f"{known.name}: {'; '.join(rows)}", known.family)
    return line_chart(frame, series, caption, ["\n".join([known.name, *rows])], size=0)


def quantiles(searches: Sequence[Searched], styles: ModelStyles) -> dict[str, Any]:
    """For each model the severities below which 5 % and half of the images fail, the most brittle corruption first."""
    tables = [{"name": model, "rows": rows} for model, rows in _ranked(searches, styles).items()]
    return {"tables": tables, "ends": severity_ends}


def severity_ends(estimate: Estimate | None, last: float) -> list[str]:
    """A severity and the ends of its interval; beyond the axis it is only known to be larger."""
    if estimate is None or estimate.low is None or estimate.high is None:
        return []
    return [f"{end:.2f}" if end <= last else f"> {last:g}" for end in (estimate.value, estimate.low, estimate.high)]


def failure_strips(searches: Sequence[Searched], styles: ModelStyles, class_name: ClassName) -> list[dict[str, Any]]:
    """For each model and its most brittle corruptions an early and a typical image on its way to its failure point."""
    views = []
    for model, ranked in _ranked(searches, styles).items():
        strips = [strip for one in ranked if (strip := _strip(one, class_name)) is not None][:STRIPS]
        if strips:
            views.append({"name": model, "strips": strips})
    return views


def _strip(one: Searched, class_name: ClassName) -> Strip | None:
    name, shots = short_name(one.summary.corruption), []
    for example in one.summary.examples():
        truth = class_name(example.label)
        for at, label, sure, right in example.steps:
            image = one.folder.image(one.summary, example.sample, at)
            if image is None:
                return None
            place = f"severity {at:.2f}" if at else "clean"
            shots.append(Shot(Picture(image, f"{truth}, {name}, {place}"), place, class_name(label), sure, right))
    if not shots:
        return None
    half = one.summary.half
    note = f"half fail below {half.value:.2f}" if half is not None and math.isfinite(half.value) else ""
    return Strip(name, note or f"{percent(one.summary.never)} never fail", shots)


def _cards(searches: Sequence[Searched], styles: ModelStyles) -> list[dict[str, Any]]:
    """The first thing to read: one sentence a model, and its key numbers."""
    cards = []
    for model, ranked in _ranked(searches, styles).items():
        first = ranked[0].summary
        change = ranked[0].change if first.early is not None and math.isfinite(first.early.value) else None
        cards.append(
            {
                "model": model,
                "first": first,
                "parameters": change.words if change else "",
                "right": len(first.points) - first.points.at_zero,
                "images": len(first.points),
                "early": severity_ends(first.early, first.last),
                "half": severity_ends(first.half, first.last),
                "never_fails": first.early is not None and math.isinf(first.early.value),
                "never": float(np.nanmean([one.summary.never for one in ranked])),
            }
        )
    return cards
