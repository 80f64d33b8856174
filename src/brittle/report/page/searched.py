"""Failure points that were searched for on the continuous axis: the share of images still right at every severity."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from brittle.benchmarks import Entry
from brittle.evaluation.failure_search import drawn_key, load_failure_points
from brittle.metrics import FailurePoints
from brittle.report.page.axes import Axes, severity_ticks
from brittle.report.page.markup import Html, tag, together
from brittle.report.page.measure import Measure
from brittle.report.page.models import Looks
from brittle.report.page.numbers import tenths
from brittle.report.page.parts import Part

STEPS = 60
"""Points of a curve."""


@dataclass(frozen=True, eq=False)
class Searched:
    """What was found for one model under one corruption."""

    model: str
    points: FailurePoints
    looks: float

    @property
    def last(self) -> float:
        """The end of the axis."""
        return float(self.points.severities[-1])


def searched(part: Part, _: list[Measure], looks: Looks) -> Html | None:
    """A panel for each corruption of the benchmark that `brittle failure-points` was run on."""
    if part.benchmark is None:
        return None
    found = _found(part)
    if not found:
        return None
    rows = [one for several in found.values() for one in several]
    shown, grid = sum(one.looks for one in rows), sum(len(one.points.severities) for one in rows)
    words = (
        "The share of images still right at every severity, from failure points that were found by halving on the "
        f"continuous axis: {shown / len(rows):.1f} looks an image and corruption, where a grid as fine takes "
        f"{grid / len(rows):.0f}. Images that are wrong when clean are in the share. Bands are 95 % intervals."
    )
    models = [name for name in part.models if any(one.model == name for one in rows)]
    panels = [_panel(entry, found[entry.id], looks) for entry in part.benchmark.entries if entry.id in found]
    return together(tag("p", words, class_="note"), looks.legend(models), tag("div", *panels, class_="grid"))


def _found(part: Part) -> dict[str, list[Searched]]:
    assert part.benchmark is not None
    tables = [table for run in part.results.runs if (table := load_failure_points(run["folder"])) is not None]
    if not tables:
        return {}
    wanted = [drawn_key(part.benchmark, entry) for entry in part.benchmark.entries]
    known = {m["key"]: m["name"] for run in part.results.runs for m in run["models"]}
    names = pl.col("key").replace_strict(_names(known, part.models), default=None)
    rows = (
        pl.concat(tables)
        .with_columns(model=names)
        .filter(pl.col("drawn").is_in(wanted) & pl.col("model").is_not_null())
    )
    finest = pl.col("resolution") == pl.col("resolution").min().over("model", "corruption")
    found: dict[str, list[Searched]] = {}
    for (model, corruption), group in rows.filter(finest).group_by("model", "corruption", maintain_order=True):
        steps = round(group["max_severity"][0] / group["resolution"][0])
        axis = np.arange(steps + 1, dtype=np.float64) * group["resolution"][0]
        points = FailurePoints(group["failed"].to_numpy(), axis)
        found.setdefault(str(corruption), []).append(Searched(str(model), points, float(group["shown"][0])))
    return found


def _names(known: dict[str, str], models: list[str]) -> dict[str, str]:
    """What the report calls the model of each key: its name, with the beginning of the key where two share one."""
    found = {key: name if name in models else f"{name} {key[:6]}" for key, name in known.items()}
    return {key: name for key, name in found.items() if name in models}


def _panel(entry: Entry, several: list[Searched], looks: Looks) -> Html:
    last = max(one.last for one in several)
    axes = Axes(220, 150, last, 1.0)
    xs = [float(x) for x in np.linspace(0, last, STEPS + 1)]
    layers, rows = [], []
    for one in sorted(several, key=lambda one: one.points.mean()):
        look = looks[one.model]
        low, high = one.points.survival_interval(xs)
        line = axes.path(zip(xs, one.points.survival(xs), strict=True))
        drawn = tag("path", d=line, class_="line", stroke_dasharray=look.dash)
        layers.append(tag("g", axes.band(xs, low, high) if look.shown else None, drawn, class_=look.name))
    for one in several:
        median = one.points.median()
        half = f"half at {median:.2f}" if np.isfinite(median) else f"more than half hold to {last:g}"
        rows.append(f"{one.model}  {half}, {tenths(float(one.points.survival([last])[0]))} % never fail")
    name, family = entry.corruption.name, entry.corruption.family
    tip = "\n".join([name, *rows])
    return tag(
        "figure",
        tag("figcaption", tag("b", name, title=name), tag("span", family, class_=f"family f-{family}")),
        axes.drawing(
            f"{name}: {'; '.join(rows)}", axes.frame(severity_ticks(last), 0.2), layers, [axes.hit(0, last, tip)]
        ),
        class_="panel",
    )
