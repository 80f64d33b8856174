"""Accuracy of every corruption at every level, as numbers on colours; and the difference to the best model."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from brittle.benchmarks import Benchmark, Entry
from brittle.metrics.fraction import Floats
from brittle.report.page.columns import columns
from brittle.report.page.markup import Html, breakable, tag, together
from brittle.report.page.measure import Measure
from brittle.report.page.models import Looks
from brittle.report.page.numbers import percent, severity, signed, tenths
from brittle.report.page.palette import STEPS, step
from brittle.report.page.parts import Part
from brittle.report.page.views import views

Paint = Callable[[float], tuple[str, str]]
"""From a value to its words and its CSS class."""


def heat_maps(part: Part, measures: list[Measure], looks: Looks) -> Html | None:
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
    return together(tag("p", words, class_="note"), views("Show", items))


def _accuracies(top: float) -> tuple[Paint, Html]:
    def paint(value: float) -> tuple[str, str]:
        return tenths(value), f"h{step(value / top)}"

    return paint, _key("h", percent(0), percent(top), "accuracy")


def _differences(most: float) -> tuple[Paint, Html]:
    def paint(value: float) -> tuple[str, str]:
        return signed(value), f"d{step((value / most + 1) / 2)}"

    return paint, _key("d", f"{signed(-most)} points", f"{signed(most)} points", "difference in percentage points")


def _key(kind: str, low: str, high: str, what: str) -> Html:
    cells = [tag("span", class_=f"{kind}{i}") for i in range(0, STEPS + 1, 2)]
    return tag("p", tag("span", low), tag("span", *cells, class_="ramp"), tag("span", high), tag("span", what),
               class_="key")  # fmt: skip


def _table(benchmark: Benchmark, values: Floats, paint: Paint, key: Html) -> Html:
    most = max(len(entry.levels) for entry in benchmark.entries)
    shared = len({entry.levels for entry in benchmark.entries}) == 1
    levels = [severity(x) for x in columns(benchmark)[0].levels] if shared else [str(i + 1) for i in range(most)]
    word = "severity" if shared else "level"
    heads = [tag("th", tag("span", f"{word} ", class_="wide"), name, scope="col") for name in levels]
    clean = None if np.isnan(values[0]) else tag("th", "clean", scope="col")
    head = tag("tr", tag("th", "corruption", scope="col"), clean, *heads, tag("th", "mean", scope="col"))
    body = list(_rows(benchmark, values, paint, most, shared=shared))
    table = tag("table", tag("thead", head), tag("tbody", *body), class_="heat")
    scroll = tag("div", table, class_="scroll", tabindex=0, role="region", aria_label="heat map")
    return together(scroll, key)


def _rows(benchmark: Benchmark, values: Floats, paint: Paint, most: int, *, shared: bool) -> Iterable[Html]:
    for own in columns(benchmark):
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
