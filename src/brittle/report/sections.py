"""The sections of the page."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable

import numpy as np

from brittle._types import FloatArray
from brittle.benchmarks import Benchmark, Entry
from brittle.metrics import Estimate
from brittle.plots import STEPS, ramp_step
from brittle.report.charts import Axes, Bar, group, scale, severity_ticks, share_axis
from brittle.report.data import Columns, FailureCurves, FailureSummary, Measure, Part, families, severity_columns
from brittle.report.examples import film
from brittle.report.html import (
    Html,
    ModelStyles,
    breakable,
    concat,
    count,
    fmt,
    interval,
    listed,
    percent,
    severity,
    signed,
    tag,
    tenths,
    views,
)

CARDS = 6
WORST = 3


def headline(part: Part, measures: list[Measure], looks: ModelStyles) -> Html:
    """A card for each of the first models."""
    cards = [_card(part, mine, looks) for mine in measures[:CARDS]]
    more = len(measures) - len(cards)
    note = tag("p", f"The other {more} are in the comparison below.", class_="note") if more else None
    left_out = part.left_out and tag(
        "p", f"Not shown, because some cells are missing: {listed(part.left_out)}.", class_="note"
    )
    return concat(tag("div", *cards, class_="cards"), note, left_out or None, film(part, measures[0]))


def _card(part: Part, mine: Measure, looks: ModelStyles) -> Html:
    several = len(looks.order) > 1
    return tag(
        "article",
        tag("h4", looks[mine.model].swatch() if several else None, mine.model, class_="model-name"),
        tag("p", sentence(part, mine), class_="lead"),
        tag("dl", *(_tile(estimate, note) for estimate, note in key_numbers(mine)), class_="tiles"),
        class_=f"card {looks[mine.model].name}",
    )


def sentence(part: Part, mine: Measure) -> Html:
    """What a busy reader takes away."""
    name = tag("span", part.name, class_="whole" if len(part.name) < 24 else None)
    if mine.scores is None:
        return concat("It gets ", _strong(mine.main), " of the images of ", name, " right.")
    kept = mine.scores.robustness
    words = (
        concat("It gets ", _strong(mine.main), " of the images right under ", name)
        if kept is None
        else concat("It keeps ", _strong(kept), " of its clean accuracy under ", name)
    )
    clean = mine.clean.value if mine.clean else 1.0
    harmful = [name for name in mine.worst() if mine.corruptions[name].value < clean][:WORST]
    if not harmful:
        return concat(words, ". No corruption lowers its accuracy.")
    worst = [
        concat(tag("b", name.rpartition("/")[2]), f" ({percent(mine.corruptions[name].value)} right)")
        for name in harmful
    ]
    tail = [concat(", " if i < len(worst) - 1 else " and ", item) for i, item in enumerate(worst)][1:]
    return concat(words, ". What breaks it most: ", worst[0], tail, ".")


def _strong(estimate: Estimate) -> Html:
    return concat(tag("strong", percent(estimate.value)), " ", tag("span", interval(estimate), class_="ci"))


def key_numbers(mine: Measure) -> list[tuple[Estimate, str]]:
    """The numbers of a card, each with the direction that is good."""
    if mine.scores is None:
        return [(mine.main, "higher is better")]
    own = mine.scores
    last = (own.error, "lower is better")
    if own.mce is not None and own.reference is not None:
        last = (own.mce, f"lower is better; {own.reference.partition(':')[0]} is 100 %")
    known = [(own.clean, ""), (own.mean_accuracy, "over corruptions"), (own.robustness, "mean ÷ clean"), last]
    return [(estimate, note) for estimate, note in known if estimate is not None]


def _tile(estimate: Estimate, note: str) -> Html:
    return tag(
        "div",
        tag("dt", estimate.name),
        tag("dd", tag("span", percent(estimate.value), class_="big"), tag("span", interval(estimate), class_="ci")),
        tag("dd", note, class_="hint") if note else None,
    )


def by_family(part: Part, measures: list[Measure], looks: ModelStyles) -> Html | None:
    """One group of bars for each family."""
    if part.benchmark is None:
        return None
    groups = []
    for family, columns in families(part.benchmark).items():
        ids = [part.benchmark.entries[i].id for i in columns]
        names = ", ".join(name.rpartition("/")[2] for name in ids)
        bars = [
            Bar(
                mine.model,
                mine.families[family],
                mine.clean,
                [(name.rpartition("/")[2], mine.corruptions[name].value) for name in ids],
            )
            for mine in measures
        ]
        title = tag("h4", tag("span", family, class_=f"family f-{family}"), tag("small", names))
        groups.append(group(title, bars, looks))
    return concat(
        tag(
            "p",
            f"Mean accuracy over the corruptions and levels of a family ({count(len(groups), 'family', 'families')}), "
            "with its 95 % interval. Each ring is one corruption"
            + ("; the upright mark is the clean accuracy." if part.has_clean else "."),
            class_="note",
        ),
        tag("div", *groups, scale(), class_="bars"),
    )


BANDS = 3
"""More bands than these hide each other."""


def curves(part: Part, measures: list[Measure], looks: ModelStyles) -> Html | None:
    """A panel for each corruption with several severities, bars for those with one."""
    if part.benchmark is None:
        return None
    climbed = [own for own in severity_columns(part.benchmark) if own.ladder]
    single = [own for own in severity_columns(part.benchmark) if not own.ladder]
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
    return concat(found)


def _panel(own: Columns, measures: list[Measure], looks: ModelStyles, axes: Axes, every: float) -> Html:
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


def _bars(own: Columns, measures: list[Measure], looks: ModelStyles) -> Html:
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


Paint = Callable[[float], tuple[str, str]]
"""From a value to its words and its CSS class."""


def heat_maps(part: Part, measures: list[Measure], looks: ModelStyles) -> Html | None:
    """A table for each model, and the difference of each coloured one to the best."""
    if part.benchmark is None:
        return None
    best, top = measures[0], max(float(np.nanmax(mine.accuracy)) for mine in measures) or 1.0
    items = [(mine.model, _table(part.benchmark, mine.accuracy, *_accuracies(top))) for mine in measures]
    for mine in measures[1:]:
        if looks[mine.model].shown:
            gap = mine.accuracy - best.accuracy
            map_ = _table(part.benchmark, gap, *_differences(float(np.nanmax(np.abs(gap))) or 0.1))
            items.append((f"{mine.model} − {best.model}", map_))
    words = "Accuracy in percent of each corruption at each level; the last column is the mean over levels."
    if len({entry.levels for entry in part.benchmark.entries}) > 1:
        words += " The small number after s is the severity."
    return concat(tag("p", words, class_="note"), views("Show", items))


def _accuracies(top: float) -> tuple[Paint, Html]:
    def paint(value: float) -> tuple[str, str]:
        return tenths(value), f"h{ramp_step(value / top)}"

    return paint, _key("h", percent(0), percent(top), "accuracy")


def _differences(most: float) -> tuple[Paint, Html]:
    def paint(value: float) -> tuple[str, str]:
        return signed(value), f"d{ramp_step((value / most + 1) / 2)}"

    return paint, _key("d", f"{signed(-most)} points", f"{signed(most)} points", "difference in percentage points")


def _key(kind: str, low: str, high: str, what: str) -> Html:
    cells = [tag("span", class_=f"{kind}{i}") for i in range(0, STEPS + 1, 2)]
    return tag("p", tag("span", low), tag("span", *cells, class_="ramp"), tag("span", high), tag("span", what),
               class_="key")  # fmt: skip


def _table(benchmark: Benchmark, values: FloatArray, paint: Paint, key: Html) -> Html:
    most = max(len(entry.levels) for entry in benchmark.entries)
    shared = len({entry.levels for entry in benchmark.entries}) == 1
    levels = (
        [severity(x) for x in severity_columns(benchmark)[0].levels] if shared else [str(i + 1) for i in range(most)]
    )
    word = "severity" if shared else "level"
    heads = [tag("th", tag("span", f"{word} ", class_="wide"), name, scope="col") for name in levels]
    clean = None if np.isnan(values[0]) else tag("th", "clean", scope="col")
    head = tag("tr", tag("th", "corruption", scope="col"), clean, *heads, tag("th", "mean", scope="col"))
    body = list(_rows(benchmark, values, paint, most, shared=shared))
    table = tag("table", tag("thead", head), tag("tbody", *body), class_="heat")
    scroll = tag("div", table, class_="scroll", tabindex=0, role="region", aria_label="heat map")
    return concat(scroll, key)


def _rows(benchmark: Benchmark, values: FloatArray, paint: Paint, most: int, *, shared: bool) -> Iterable[Html]:
    for own in severity_columns(benchmark):
        cells = [_cell(value, paint, "" if shared else severity(level))
                 for value, level in zip(values[[*own.places]], own.levels, strict=True)]  # fmt: skip
        empty = [tag("td", class_="none")] * (most - len(cells))
        clean = None if np.isnan(values[0]) else _cell(values[0], paint)
        yield tag("tr", _name(own.entry), clean, *cells, *empty, _cell(values[[*own.places]].mean(), paint, mean=True))


def _name(entry: Entry) -> Html:
    family = entry.corruption.family
    return tag("th", breakable(entry.corruption.name), scope="row", class_=f"f-{family}", title=family)


def _cell(value: float, paint: Paint, level: str = "", *, mean: bool = False) -> Html:
    words, colour = paint(float(value))
    small = tag("small", level, title=f"severity {level}") if level else None
    return tag("td", words, small, class_=f"{colour} mean" if mean else colour)


IN_TABLE = 4
"""More models than these do not fit beside each other."""

Pair = tuple[Measure, FailureCurves]


def failures(_: Part, measures: list[Measure], looks: ModelStyles) -> Html | None:
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
    return concat(
        tag("p", note, class_="note"),
        looks.legend([mine.model for mine, _ in pairs]),
        tag(
            "div",
            _figure("Still right", f"share of images against {what}", _survival(pairs, looks)),
            _figure("Fail here first", f"share of images at each {what}", _histogram(pairs, looks)),
            class_="two",
        ),
        _failures_table(pairs[:IN_TABLE], looks),
    )


def _figure(title: str, what: str, drawing: Html) -> Html:
    return tag("figure", tag("figcaption", tag("b", title), tag("span", what)), drawing, class_="panel")


def _survival(pairs: list[Pair], looks: ModelStyles) -> Html:
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


def _histogram(pairs: list[Pair], looks: ModelStyles) -> Html:
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
            where = {"x": fmt(x), "y": fmt(y), "width": fmt(width), "height": fmt(axes.y(0) - y)}
            shapes += [tag("rect", class_="column", **where), look.marker(x + width / 2, y, 3.6)]
        layers.append(tag("g", shapes, class_=look.name))
    hits = []
    for i, name in enumerate(ticks):
        rows = [f"{mine.model}  {tenths(own[i])} %" for (mine, _), own in zip(pairs, bars, strict=True)]
        title = "never fail" if i + 1 == len(ticks) else f"fail first at {name}"
        hits.append(axes.hit(i, i + 1, "\n".join([title, *rows])))
    label = f"Histogram of failure points: {percent(bars[0][0])} of {pairs[0][0].model} break at the first level"
    middle = [(i + 0.5, name) for i, name in enumerate(ticks)]
    return axes.drawing(label, axes.frame(middle, every), layers, hits)


def _failures_table(pairs: list[Pair], looks: ModelStyles) -> Html:
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
    head = concat(
        tag("tr", tag("th", "corruption", scope="col", rowspan=2), *heads) if several else None,
        tag("tr", None if several else tag("th", "corruption", scope="col"), *columns),
    )
    table = tag("table", tag("thead", head), tag("tbody", *rows), tag("tfoot", total))
    scroll = tag("div", table, class_="scroll", tabindex=0, role="region", aria_label="failure points")
    return concat(tag("p", words, class_="note"), scroll)


def _breaks(found: FailureSummary) -> Html:
    median = f"> {severity(found.last)}" if math.isinf(found.median) else severity(found.median)
    return concat(
        tag("td", median, class_="num"),
        tag("td", f"{found.mean:.2f}", class_="num"),
        tag("td", percent(found.still_right), class_="num"),
    )
