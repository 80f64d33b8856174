"""How evenly benchmarks weigh their corruptions: a score for each model that knows one of them."""

from __future__ import annotations

from collections.abc import Mapping

from brittle.design.single_scores import SingleScores
from brittle.metrics import Estimate
from brittle.report.figures.look import width_of
from brittle.report.figures.plot import Plot, ticks
from brittle.report.figures.sheet import MARGIN, WIDTH, sheet, short_names
from brittle.report.page.markup import Html, tag, together
from brittle.report.page.models import short

ROW, HEAD = 22, 40


def balance_figure(benchmarks: Mapping[str, SingleScores], *, title: str = "Balance") -> Html:
    """A panel for each benchmark with a dot for each model; the shaded band reaches from the best to the worst."""
    if not benchmarks:
        raise ValueError("give at least one benchmark to draw")
    every = [one for found in benchmarks.values() for one in found.scores.values()]
    low = min(one.value if one.low is None else one.low for one in every)
    high = max(one.value if one.high is None else one.high for one in every)
    room = max((high - low) * 0.04, 0.5)
    names = {name for found in benchmarks.values() for name in found.scores}
    plain = dict(zip(sorted(names), short_names(sorted(names)), strict=True))
    left = MARGIN + max(width_of(one, 13) for one in plain.values()) + 10
    panels, top = [], 0.0
    for name, found in benchmarks.items():
        height = ROW * len(found.scores)
        plot = Plot(left, top + HEAD, WIDTH - left - 2 * MARGIN, height, (low - room, high + room), (0, 1))
        panels.append(_panel(plot, name, found, plain))
        top += HEAD + height + 26
    references = " or ".join(dict.fromkeys(found.reference for found in benchmarks.values()))
    note = (
        "Each dot is a model that learned one corruption of the benchmark: its relative mCE over the whole benchmark, "
        f"100 for {references}. The narrower the band, the more evenly the benchmark weighs its corruptions."
    )
    return sheet(title, note, together(panels), width=WIDTH, height=top + 8)


def _panel(plot: Plot, name: str, found: SingleScores, plain: Mapping[str, str]) -> Html:
    order = sorted(found.scores.items(), key=lambda item: item[1].value)
    first, last = plot.x(order[0][1].value), plot.x(order[-1][1].value)
    words = f"{name}: range {found.balance.range:.1f}, standard deviation {found.balance.std:.1f}"
    band = {"x": short(first), "y": short(plot.top), "width": short(max(last - first, 1)), "height": short(plot.height)}
    dots = [_dot(plot, i, plain[one], score) for i, (one, score) in enumerate(order)]
    return together(
        tag("text", words, x=MARGIN, y=short(plot.top - 14), class_="strong"),
        tag("rect", class_="band", **band),
        plot.frame(ticks(*plot.xs, 8), []),
        plot.down(100) if plot.xs[0] < 100 < plot.xs[1] else "",
        dots,
    )


def _dot(plot: Plot, i: int, name: str, score: Estimate) -> Html:
    y = plot.top + (i + 0.5) * ROW
    ends = "" if score.low is None or score.high is None else f" [{score.low:.1f}, {score.high:.1f}]"
    line: Html | str = ""
    if score.low is not None and score.high is not None:
        across = {"x1": short(plot.x(score.low)), "x2": short(plot.x(score.high))}
        line = tag("line", y1=short(y), y2=short(y), class_="line", **across)
    dot = tag("title", f"{name}: {score.value:.1f}{ends}")
    return together(
        tag("text", name, x=short(plot.left - 10), y=short(y + 4.5), class_="end"),
        line,
        tag("circle", dot, cx=short(plot.x(score.value)), cy=short(y), r=4, class_="mark"),
    )
