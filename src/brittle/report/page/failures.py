"""Where images break: the survival curve, the histogram of failure points, and a table of corruptions."""

from __future__ import annotations

import math

from brittle.report.page.axes import Axes, share_axis
from brittle.report.page.breaking import Breaking, Breaks
from brittle.report.page.markup import Html, tag, together
from brittle.report.page.measure import Measure
from brittle.report.page.models import Looks, short
from brittle.report.page.numbers import listed, percent, severity, tenths
from brittle.report.page.parts import Part

IN_TABLE = 4
"""More models than these do not fit beside each other."""

Pair = tuple[Measure, Breaking]


def failures(_: Part, measures: list[Measure], looks: Looks) -> Html | None:
    """Only for benchmarks whose corruptions have several severities."""
    pairs = [(mine, mine.breaking) for mine in measures if mine.breaking is not None and looks[mine.model].shown]
    if not pairs:
        return None
    first = pairs[0][1]
    what = "severity" if first.shared else "level (corruptions have severities of their own)"
    left_out = (
        first.left_out and f" Left out of the two charts, with other numbers of levels: {listed(first.left_out)}."
    )
    note = (
        "Of the images that are right when clean: an image breaks at the lowest level at which it is wrong, under each "
        f"corruption. Both charts pool all corruptions.{left_out or ''}"
    )
    return together(
        tag("p", note, class_="note"),
        looks.legend([mine.model for mine, _ in pairs]),
        tag(
            "div",
            _figure("Still right", f"share of images against {what}", _survival(pairs, looks)),
            _figure("Break here first", f"share of images at each {what}", _histogram(pairs, looks)),
            class_="two",
        ),
        _table(pairs[:IN_TABLE], looks),
    )


def _figure(title: str, what: str, drawing: Html) -> Html:
    return tag("figure", tag("figcaption", tag("b", title), tag("span", what)), drawing, class_="panel")


def _survival(pairs: list[Pair], looks: Looks) -> Html:
    ticks = ["clean", *pairs[0][1].ticks]
    axes = Axes(440, 250, len(ticks) - 0.7, 1.0, (10, 10, 24, 32))
    xs = [0.3 + i for i in range(len(ticks))]
    layers = []
    for mine, found in reversed(pairs):
        look = looks[mine.model]
        band = axes.band(xs, found.low, found.high) if len(pairs) <= IN_TABLE else None
        line = tag("path", d=axes.path(zip(xs, found.survival, strict=True)), class_="line", stroke_dasharray=look.dash)
        marks = [look.marker(axes.x(x), axes.y(y), 4) for x, y in zip(xs, found.survival, strict=True)]
        layers.append(tag("g", band, line, marks, class_=look.name))
    hits = []
    for i, name in enumerate(ticks):
        rows = [
            f"{mine.model}  {tenths(own.survival[i])} % [{tenths(own.low[i])}, {tenths(own.high[i])}]"
            for mine, own in pairs
        ]
        hits.append(axes.hit(xs[i] - 0.5, xs[i] + 0.5, "\n".join([f"still right at {name}", *rows])))
    ends = [f"{percent(own.survival[-1])} of {mine.model}" for mine, own in pairs]
    label = f"Survival curve: still right at the last level are {listed(ends)}"
    return axes.drawing(label, axes.frame(zip(xs, ticks, strict=True), 0.2), layers, hits)


def _histogram(pairs: list[Pair], looks: Looks) -> Html:
    ticks = [*pairs[0][1].ticks, "never"]
    bars = [[*map(float, own.histogram), own.never] for _, own in pairs]
    top, every = share_axis(max(map(max, bars)))
    axes = Axes(440, 250, len(ticks), top, (14, 10, 24, 32))
    wide = 0.76 / len(pairs)
    layers = []
    for place, ((mine, _), heights) in enumerate(zip(pairs, bars, strict=True)):
        look, shapes = looks[mine.model], []
        for i, height in enumerate(heights):
            x, y = axes.x(i + 0.12 + place * wide), axes.y(height)
            width = axes.x(wide) - axes.x(0) - 2
            where = {"x": short(x), "y": short(y), "width": short(width), "height": short(axes.y(0) - y)}
            shapes += [tag("rect", class_="column", **where), look.marker(x + width / 2, y, 3.6)]
        layers.append(tag("g", shapes, class_=look.name))
    hits = []
    for i, name in enumerate(ticks):
        rows = [f"{mine.model}  {tenths(own[i])} %" for (mine, _), own in zip(pairs, bars, strict=True)]
        title = "never break" if i + 1 == len(ticks) else f"break first at {name}"
        hits.append(axes.hit(i, i + 1, "\n".join([title, *rows])))
    label = f"Histogram of failure points: {percent(bars[0][0])} of {pairs[0][0].model} break at the first level"
    middle = [(i + 0.5, name) for i, name in enumerate(ticks)]
    return axes.drawing(label, axes.frame(middle, every), layers, hits)


def _table(pairs: list[Pair], looks: Looks) -> Html:
    first = pairs[0][1]
    names = sorted(first.corruptions, key=lambda name: (first.corruptions[name].still_right, name))
    several = len(pairs) > 1
    heads = [tag("th", looks[mine.model].swatch() if several else None, mine.model, colspan=3, scope="colgroup")
             for mine, _ in pairs]  # fmt: skip
    columns = [tag("th", word, scope="col", class_="num") for _ in pairs for word in ("median", "mean", "survive")]
    rows = [
        tag("tr", tag("th", name.rpartition("/")[2], scope="row"), [_breaks(own.corruptions[name]) for _, own in pairs])
        for name in names
    ]
    unit = "" if first.shared else " (in levels)"
    total = tag("tr", tag("th", f"all together{unit}", scope="row"), [_breaks(own.pooled) for _, own in pairs])
    words = (
        "Failure points in severities, the most fragile first. Median: half of the images have broken there. Mean: "
        "those that never break count as the last severity. Survive: still right at the last one."
    )
    head = together(
        tag("tr", tag("th", "corruption", scope="col", rowspan=2), *heads) if several else None,
        tag("tr", None if several else tag("th", "corruption", scope="col"), *columns),
    )
    table = tag("table", tag("thead", head), tag("tbody", *rows), tag("tfoot", total))
    scroll = tag("div", table, class_="scroll", tabindex=0, role="region", aria_label="failure points")
    return together(tag("p", words, class_="note"), scroll)


def _breaks(found: Breaks) -> Html:
    median = f"> {severity(found.last)}" if math.isinf(found.median) else severity(found.median)
    return together(
        tag("td", median, class_="num"),
        tag("td", f"{found.mean:.2f}", class_="num"),
        tag("td", percent(found.still_right), class_="num"),
    )
