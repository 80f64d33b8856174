"""How far each candidate takes a benchmark away from another one, and which were picked."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

from brittle.report.figures.look import width_of
from brittle.report.figures.plot import Plot, ticks
from brittle.report.figures.sheet import MARGIN, WIDTH, sheet, short_names
from brittle.report.page.markup import Html, tag, together
from brittle.report.page.models import short

if TYPE_CHECKING:
    from brittle.design.dissimilar import Dissimilar

ROW, TOP = 24, 34


def dissimilar_figure(
    found: Dissimilar, *, published: Collection[str] = (), title: str = "The corruptions farthest from the benchmark"
) -> Html:
    """A bar for each candidate, the farthest first, blue if picked; a diamond marks those that were published."""
    table = found.table().drop_nulls("shift")
    names = short_names(table["candidate"])
    values, errors = table["shift"].to_list(), table["standard_error"].to_list()
    reach = [2 * (error or 0.0) for error in errors]
    low = 1.06 * min(0.0, *(value - more for value, more in zip(values, reach, strict=True)))
    high = 1.06 * max(0.1, *(value + more for value, more in zip(values, reach, strict=True)))
    left = MARGIN + max(width_of(name, 13) for name in names) + 34
    plot = Plot(left, TOP, WIDTH - left - 2 * MARGIN, ROW * len(names), (low, high), (0, 1))
    parts = []
    for i, (row, name, error) in enumerate(zip(table.iter_rows(named=True), names, errors, strict=True)):
        y, x = plot.top + i * ROW, plot.x(row["shift"])
        start = min(x, plot.x(0))
        box = {"x": short(start), "y": short(y + 4), "width": short(max(abs(x - plot.x(0)), 1)), "height": ROW - 8}
        tip = f"{name}: {row['shift']:.2f} standard deviations" + (f", levels {row['levels']}" if row["levels"] else "")
        parts += [
            tag("text", name, x=short(left - 30), y=short(y + ROW / 2 + 4.5), class_="end"),
            _diamond(left - 16, y + ROW / 2) if row["candidate"] in published else None,
            tag("rect", tag("title", tip), class_="bar" if row["picked"] else "rest", **box),
        ]
        if error is not None:
            ends = {"x1": short(plot.x(row["shift"] - 2 * error)), "x2": short(plot.x(row["shift"] + 2 * error))}
            parts.append(tag("line", y1=short(y + ROW / 2), y2=short(y + ROW / 2), class_="bracket", **ends))
    zero = short(plot.x(0))
    axis = tag("line", x1=zero, x2=zero, y1=short(plot.top), y2=short(plot.top + plot.height), class_="bracket")
    label = tag(
        "text",
        "shift of the mean distance of data sets with it, in standard deviations",
        x=short(plot.left + plot.width / 2),
        y=short(plot.top + plot.height + 40),
        class_="mid",
    )
    runs = len(found.shifts)
    note = (
        f"{len(found.picked)} of {len(names)} candidates picked, {found.datasets:,} sampled data sets"
        + (f" in each of {runs} runs; thin lines are ± 2 standard errors over runs" if runs > 1 else "")
        + f". Mean error {100 * found.error:.1f} %, the benchmark's {100 * found.target:.1f} %."
    )
    body = together(_key(left, bool(published)), plot.frame(ticks(low, high, 8), []), parts, axis, label)
    return sheet(title, note, body, width=WIDTH, height=plot.top + plot.height + 46)


def _diamond(x: float, y: float) -> Html:
    points = " ".join(f"{short(x + a)},{short(y + b)}" for a, b in ((0, -6), (6, 0), (0, 6), (-6, 0)))
    return tag("polygon", tag("title", "published"), points=points, class_="bad")


def _key(left: float, published: bool) -> Html:
    parts, x = [], left
    for kind, words in (("bar", "picked"), ("rest", "not picked")):
        parts.append(tag("rect", x=short(x), y=4, width=14, height=14, class_=kind))
        parts.append(tag("text", words, x=short(x + 20), y=16))
        x += 20 + width_of(words, 13) + 18
    if published:
        parts += [_diamond(x + 6, 11), tag("text", "in the published benchmark", x=short(x + 20), y=16)]
    return together(parts)
