"""Accuracy against severity: a small panel for each corruption, all with the same axes."""

from __future__ import annotations

import numpy as np

from brittle.metrics import Estimate
from brittle.report.page.axes import Axes, severity_ticks, share_axis
from brittle.report.page.bars import Bar, group, scale
from brittle.report.page.columns import Columns, columns
from brittle.report.page.markup import Html, tag, together
from brittle.report.page.measure import Measure
from brittle.report.page.models import Looks
from brittle.report.page.numbers import severity, tenths
from brittle.report.page.parts import Part

BANDS = 3
"""More bands than these hide each other."""


def curves(part: Part, measures: list[Measure], looks: Looks) -> Html | None:
    """A panel for each corruption with several severities, bars for those with one."""
    if part.benchmark is None:
        return None
    climbed = [own for own in columns(part.benchmark) if own.ladder]
    single = [own for own in columns(part.benchmark) if not own.ladder]
    found: list[Html | None] = []
    if climbed:
        most = max(own.ladder[-1] for own in climbed)
        top, every = share_axis(max(float(np.nanmax(mine.high)) for mine in measures))
        axes = Axes(220, 150, most, top)
        panels = [_panel(own, measures, looks, axes, every) for own in climbed]
        words = "Accuracy in percent against severity" + (", from the clean images at 0." if part.has_clean else ".")
        band = " Bands are 95 % intervals." if len(measures) <= BANDS else ""
        found += [tag("p", words + band, class_="note"), looks.legend(part.models), tag("div", *panels, class_="grid")]
    if single:
        words = "Corruptions with one level, which may be drawn for each image from a range: accuracy and its interval."
        groups = [_bars(own, measures, looks) for own in single]
        found += [
            tag("p", words, class_="note"),
            None if climbed else looks.legend(part.models),
            tag("div", *groups, scale(), class_="bars dense"),
        ]
    return together(found)


def _panel(own: Columns, measures: list[Measure], looks: Looks, axes: Axes, every: float) -> Html:
    name, family = own.entry.corruption.name, own.entry.corruption.family
    xs, at = [*own.ladder], [*own.places]
    if measures[0].clean is not None:
        xs, at = [0.0, *xs], [0, *at]
    bands, lines = [], []
    for mine in reversed(measures):  # the best on top
        look = looks[mine.model]
        marks = [look.marker(axes.x(x), axes.y(mine.accuracy[i])) for x, i in zip(xs, at, strict=True)]
        if look.shown and len(measures) <= BANDS:
            bands.append(tag("g", axes.band(xs, mine.low[at], mine.high[at]), class_=look.name))
        path = axes.path(zip(xs, mine.accuracy[at], strict=True))
        line = tag("path", d=path, class_="line", stroke_dasharray=look.dash)
        lines.append(tag("g", line, marks if look.shown else None, class_=look.name))
    hits = []
    for place, (x, i) in enumerate(zip(xs, at, strict=True)):
        before = (xs[place - 1] + x) / 2 if place else 0
        after = (xs[place + 1] + x) / 2 if place + 1 < len(xs) else x + (x - before)
        rows = [
            f"{mine.model}  {tenths(mine.accuracy[i])} % [{tenths(mine.low[i])}, {tenths(mine.high[i])}]"
            for mine in measures
            if looks[mine.model].shown
        ]
        hits.append(axes.hit(before, after, "\n".join([f"{name}, severity {severity(x)}", *rows])))
    first = measures[0]
    ends = [f"{tenths(first.accuracy[i])} % at severity {severity(x)}" for x, i in zip(xs, at, strict=True)]
    label = f"{name}: the accuracy of {first.model} goes from {ends[0]} to {ends[-1]}"
    return tag(
        "figure",
        tag("figcaption", tag("b", name, title=name), tag("span", family, class_=f"family f-{family}")),
        axes.drawing(label, axes.frame(severity_ticks(axes.right), every), bands, lines, hits),
        class_="panel",
    )


def _bars(own: Columns, measures: list[Measure], looks: Looks) -> Html:
    entry, i = own.entry, own.places[0]
    family = entry.corruption.family
    title = tag("h4", tag("b", entry.corruption.name), tag("span", family, class_=f"family f-{family}"))
    bars = [
        Bar(
            mine.model,
            Estimate(entry.id, float(mine.accuracy[i]), float(mine.low[i]), float(mine.high[i])),
            mine.clean,
        )
        for mine in measures
    ]
    return group(title, bars, looks)
