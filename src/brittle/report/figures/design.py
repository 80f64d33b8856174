"""Figures of benchmark design."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
import polars as pl

from brittle._errors import BrittleError
from brittle.corruptions import get_corruption
from brittle.design import Calibration, Categories, OverlapMatrix, coverage
from brittle.design.covering import SingleScores
from brittle.design.matrix import compare_overlaps
from brittle.metrics import Estimate
from brittle.report.figures.drawing import HEAT_KEY, MARGIN, WIDTH, Heat, Plot, sheet, short_names, ticks, width_of
from brittle.report.html import Html, concat, fmt, tag

GAP, HEAD = 52, 62


def agreement_figure(
    reference: OverlapMatrix,
    others: Mapping[str, OverlapMatrix],
    *,
    under: Mapping[str, str] | None = None,
    across: str = "reference",
    title: str = "Agreement of overlap matrices",
) -> Html:
    """A dot for each pair of corruptions, at its score in the reference and in another matrix; `under` adds words."""
    if not others:
        raise BrittleError("give at least one other matrix to draw")
    known = [one.subset(reference.names).scores for one in others.values()]
    pairs = ~np.eye(len(reference), dtype=bool)
    most = max(1.0, *(float(np.nanmax(scores[pairs])) for scores in (reference.scores, *known)))
    side = min((WIDTH - 2 * MARGIN - GAP * len(others)) / len(others), 300)
    panels = []
    for place, (name, matrix) in enumerate(others.items()):
        plot = Plot(MARGIN + GAP + place * (side + GAP), HEAD, side, side, (0, most), (0, most))
        panels.append(_panel(plot, name, reference, matrix, (under or {}).get(name, ""), across))
    note = "Each dot is a pair of corruptions; on the dashed line both matrices give it the same overlap."
    return sheet(title, note, concat(panels), width=WIDTH, height=HEAD + side + 44)


def _panel(plot: Plot, name: str, first: OverlapMatrix, second: OverlapMatrix, words: str, across: str) -> Html:
    found = compare_overlaps(first, second)
    plain, b = short_names(first.names), second.subset(first.names).scores
    dots = [
        tag(
            "circle",
            tag("title", f"{plain[i]} and {plain[j]}: {first.scores[i, j]:.2f}, {b[i, j]:.2f}"),
            cx=fmt(plot.x(float(first.scores[i, j]))),
            cy=fmt(plot.y(float(b[i, j]))),
            r=2.8,
            class_="mark",
            fill_opacity=0.55,
        )
        for i, j in zip(*np.triu_indices(len(first), 1), strict=True)
        if not np.isnan(first.scores[i, j] + b[i, j])
    ]
    ends = {"x1": fmt(plot.x(0)), "y1": fmt(plot.y(0)), "x2": fmt(plot.x(plot.xs[1]))}
    at = {"x": fmt(plot.left + plot.width / 2), "y": fmt(plot.top + plot.height + 38)}
    numbers = f"Spearman {found.spearman.value:.2f}, mean difference {found.mean_absolute.value:.2f}"
    return concat(
        tag("text", name, x=fmt(plot.left), y=fmt(plot.top - 42), class_="strong"),
        tag("text", numbers, x=fmt(plot.left), y=fmt(plot.top - 25), class_="soft"),
        tag("text", words, x=fmt(plot.left), y=fmt(plot.top - 8), class_="soft"),
        plot.frame(ticks(0, plot.xs[1], 5), ticks(0, plot.ys[1], 5)),
        tag("line", y2=fmt(plot.y(plot.ys[1])), class_="target", **ends),
        dots,
        tag("text", f"overlap, {across}", class_="mid", **at),
    )


ROW, BALANCE_HEAD = 22, 40


def balance_figure(benchmarks: Mapping[str, SingleScores], *, title: str = "Balance") -> Html:
    """A panel for each benchmark with a dot for each model; the shaded band reaches from the best to the worst."""
    if not benchmarks:
        raise BrittleError("give at least one benchmark to draw")
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
        plot = Plot(left, top + BALANCE_HEAD, WIDTH - left - 2 * MARGIN, height, (low - room, high + room), (0, 1))
        panels.append(_balance_panel(plot, name, found, plain))
        top += BALANCE_HEAD + height + 26
    references = " or ".join(dict.fromkeys(found.reference for found in benchmarks.values()))
    note = (
        "Each dot is a model that learned one corruption of the benchmark: its relative mCE over the whole benchmark, "
        f"100 for {references}. The narrower the band, the more evenly the benchmark weighs its corruptions."
    )
    return sheet(title, note, concat(panels), width=WIDTH, height=top + 8)


def _balance_panel(plot: Plot, name: str, found: SingleScores, plain: Mapping[str, str]) -> Html:
    order = sorted(found.scores.items(), key=lambda item: item[1].value)
    first, last = plot.x(order[0][1].value), plot.x(order[-1][1].value)
    words = f"{name}: range {found.balance.range:.1f}, standard deviation {found.balance.std:.1f}"
    band = {"x": fmt(first), "y": fmt(plot.top), "width": fmt(max(last - first, 1)), "height": fmt(plot.height)}
    dots = [_dot(plot, i, plain[one], score) for i, (one, score) in enumerate(order)]
    return concat(
        tag("text", words, x=MARGIN, y=fmt(plot.top - 14), class_="strong"),
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
        across = {"x1": fmt(plot.x(score.low)), "x2": fmt(plot.x(score.high))}
        line = tag("line", y1=fmt(y), y2=fmt(y), class_="line", **across)
    dot = tag("title", f"{name}: {score.value:.1f}{ends}")
    return concat(
        tag("text", name, x=fmt(plot.left - 10), y=fmt(y + 4.5), class_="end"),
        line,
        tag("circle", dot, cx=fmt(plot.x(score.value)), cy=fmt(y), r=4, class_="mark"),
    )


ACROSS, HEIGHT, GAP_X, GAP_Y = 4, 96, 42, 70


def calibration_figure(
    calibrations: Sequence[Calibration], *, robustness: Sequence[float] = (), title: str = "Calibrated severities"
) -> Html:
    """R against severity with every severity that was tried; the range is shaded, `robustness` are dashed lines."""
    if not calibrations:
        raise BrittleError("give at least one calibration to draw")
    names = short_names(one.corruption for one in calibrations)
    width = (WIDTH - 2 * MARGIN - ACROSS * GAP_X) / ACROSS
    panels = []
    for place, (one, name) in enumerate(zip(calibrations, names, strict=True)):
        row, column = divmod(place, ACROSS)
        left, top = MARGIN + GAP_X + column * (width + GAP_X), 24 + row * (HEIGHT + GAP_Y)
        most = float(get_corruption(one.corruption).max_severity)
        panels.append(_calibration_panel(one, name, Plot(left, top, width, HEIGHT, (0, most), (0, 1.1)), robustness))
    rows = -(-len(calibrations) // ACROSS)
    note = (
        "R, the share of the clean accuracy that is left, against severity. Dots were measured; the shaded range "
        "is the one that the recipe draws from."
    )
    return sheet(title, note, concat(panels), width=WIDTH, height=rows * (HEIGHT + GAP_Y) - 4)


def _calibration_panel(one: Calibration, name: str, plot: Plot, robustness: Sequence[float]) -> Html:
    low, high = min(one.severities), max(one.severities)
    points = [(severity, min(max(value, 0.0), 1.1)) for severity, value in one.evaluations]
    band = {
        "x": fmt(plot.x(low)),
        "y": fmt(plot.top),
        "width": fmt(max(plot.x(high) - plot.x(low), 1.5)),
        "height": fmt(plot.height),
    }
    marks = [
        tag(
            "circle",
            tag("title", f"{name}, severity {severity:.3g}: R = {value:.3f}"),
            cx=fmt(plot.x(severity)),
            cy=fmt(plot.y(min(max(value, 0.0), 1.1))),
            r=2.6,
            class_="mark",
        )
        for severity, value in one.evaluations
    ]
    missed = [value for value, reached in zip(one.robustness, one.reached, strict=True) if not reached]
    words = f"{low:.2f} to {high:.2f}" if low < high else f"{high:.2f}"
    words += f" (R ≥ {min(missed):.2f})" if missed else ""
    return concat(
        tag("text", name, x=fmt(plot.left), y=fmt(plot.top - 8), class_="strong"),
        tag("rect", class_="band", **band),
        plot.frame(ticks(0, plot.xs[1], 5), [0, 0.5, 1]),
        [plot.across(value) for value in robustness],
        tag("path", d=plot.path(points), class_="line"),
        marks,
        tag("text", words, x=fmt(plot.left), y=fmt(plot.top + plot.height + 35), class_="soft"),
    )


def category_figure(
    overlap: OverlapMatrix, categories: Categories, *, title: str = "Categories of corruptions"
) -> Html:
    """A heat map in the order of the categories, each outlined and named."""
    matrix = overlap.subset(categories.names)
    heat = overlap_heat(matrix)
    blocks, start = [], 0
    names = [f"category {name}" if name.isdecimal() else name for name in categories.members]
    for name, group in zip(names, categories.members.values(), strict=True):
        stop, side = start + len(group), len(group) * heat.cell[0]
        box = {"x": fmt(heat.x(start)), "y": fmt(heat.y(start)), "width": fmt(side), "height": fmt(side)}
        x, y0, y1 = heat.right + 8, heat.y(start) + 3, heat.y(stop) - 3
        bracket = f"M{fmt(x)} {fmt(y0)}h6V{fmt(y1)}h-6"
        blocks += [
            tag("rect", class_="block", rx=2, **box),
            tag("path", d=bracket, class_="bracket"),
            tag("text", name, x=fmt(x + 12), y=fmt((y0 + y1) / 2 + 4.5)),
        ]
        start = stop
    note = f"{len(matrix)} corruptions in {len(categories)} categories."
    if not math.isnan(categories.scc):
        note += (
            f" Mean Pearson correlation of overlap vectors: {categories.scc:.2f} within a category, "
            f"{categories.dcc:.2f} across.".replace("-", "−")
        )
    room = max(heat.overhang, 20 + max(width_of(name, 13) for name in names) + MARGIN)
    body = concat(heat.drawing(), blocks, heat.key("overlap", masked="masked" if matrix.masked() else ""))
    return sheet(title, note, body, width=heat.right + room, height=heat.bottom + HEAT_KEY)


def correlation_figure(
    table: pl.DataFrame, *, title: str = "Do synthetic benchmarks predict natural shifts?", note: str = ""
) -> Html:
    """A heat map of what `correlation_table` gives: a row for each natural shift, a column for each group."""
    if table.width < 2 or not len(table):
        raise BrittleError(f"give a first column of natural shifts and one column a group, got {table.columns}")
    index, *groups = table.columns
    rows = [str(name) for name in table[index]]
    values = table.select(pl.col(groups).cast(pl.Float64)).to_numpy()
    negative = bool((np.nan_to_num(values) < 0).any())
    longest = max(map(len, rows)) * 7.5
    heat = Heat(
        values,
        rows,
        groups,
        (min(max((WIDTH - longest - 140) / len(groups), 44), 84), 38),
        low=-1 if negative else 0,
        ramp="d" if negative else "o",
        decimals=3,
        tip=lambda i, j: f"{groups[j]}, {rows[i]}: r = {values[i, j]:.3f}",
    )
    rule = None
    if rows[-1] == "mean" and len(rows) > 1:
        y = fmt(heat.y(len(rows) - 1))
        rule = tag("line", x1=fmt(heat.left - 8), x2=fmt(heat.right), y1=y, y2=y, class_="bracket")
    words = note or (
        "Mean Pearson correlation, over models, of the accuracy drop on synthetic benchmarks (columns) with that on "
        "natural shifts (rows). (n,k): benchmarks with k corruptions from each of n categories."
    )
    body = concat(heat.drawing(), rule, heat.key("mean correlation r"))
    return sheet(title, words, body, width=heat.right + heat.overhang, height=heat.bottom + HEAT_KEY)


COVERAGE_ROW = 25


def coverage_figure(
    overlap: OverlapMatrix,
    benchmark: Sequence[str],
    *,
    of: Sequence[str],
    threshold: float = 0.3,
    title: str = "What the benchmark covers",
) -> Html:
    """A bar for each corruption, the best covered first, members last; beyond the dashed line it is covered."""
    of, benchmark = (tuple(overlap.names[i] for i in overlap.positions(names)) for names in (of, benchmark))
    found = coverage(overlap, benchmark, of=of, threshold=threshold)
    scores = overlap.scores[np.ix_(overlap.positions(of), overlap.positions(benchmark))]
    plain = dict(zip((*of, *benchmark), short_names((*of, *benchmark)), strict=True))
    own = set(benchmark)
    best = {name: _strongest(row, benchmark) for name, row in zip(of, scores, strict=True)}
    order = sorted(of, key=lambda name: (name in own, -best[name][1]))
    left = MARGIN + max(width_of(plain[name], 13) for name in of) + 10
    by = max(width_of(f"0.00 by {plain[name]}", 13) for name in benchmark)
    most = max(1.0, *(score for _, score in best.values()))
    plot = Plot(left, 10, WIDTH - left - by - 2 * MARGIN, COVERAGE_ROW * len(order), (0, most), (0, 1))
    bars = [_bar(plot, i, name, plain, best[name], own, threshold) for i, name in enumerate(order)]
    body = concat(plot.frame(ticks(0, most), []), bars, plot.down(threshold), _label(plot))
    note = f"{found}. A bar is the strongest overlap with a member of the benchmark; grey ones are members themselves."
    return sheet(title, note, body, width=WIDTH, height=plot.top + plot.height + 44)


def _strongest(row: np.ndarray, members: Sequence[str]) -> tuple[str, float]:
    known = np.nan_to_num(row)
    place = int(known.argmax())
    return members[place], float(known[place])


def _bar(
    plot: Plot,
    i: int,
    name: str,
    plain: dict[str, str],
    best: tuple[str, float],
    own: set[str],
    threshold: float,
) -> Html:
    member, score = best
    y = plot.top + i * COVERAGE_ROW
    kind = "rest" if name in own else "bar" if score > threshold else "bad"
    words = "a member" if name in own else f"{score:.2f} by {plain[member]}" if score > 0 else "no overlap"
    end = plot.x(score)
    beside = (plot.x(threshold) if score <= threshold else end) + 8  # no words on the dashed line
    return concat(
        tag("text", plain[name], x=fmt(plot.left - 10), y=fmt(y + COVERAGE_ROW / 2 + 4.5), class_="end"),
        tag(
            "rect",
            x=fmt(plot.left),
            y=fmt(y + 4),
            width=fmt(max(end - plot.left, 2)),
            height=COVERAGE_ROW - 8,
            class_=kind,
        ),
        tag("text", words, x=fmt(beside), y=fmt(y + COVERAGE_ROW / 2 + 4.5), class_="soft"),
    )


def _label(plot: Plot) -> Html:
    at = {"x": fmt(plot.left + plot.width / 2), "y": fmt(plot.top + plot.height + 38)}
    return tag("text", "strongest overlap with a member", class_="mid", **at)


MOST_NUMBERS = 25
"""More names than these leave no room for numbers in the cells."""


def overlap_figure(
    overlap: OverlapMatrix, *, title: str = "Overlap of corruptions", order: Sequence[str] | None = None
) -> Html:
    """A heat map, in the order of `overlap.ordered()` unless you give another; masked pairs are hatched."""
    matrix = overlap.subset(list(order or overlap.ordered()))
    heat = overlap_heat(matrix)
    masked = matrix.masked()
    note = (
        "0: learning one corruption does not help with the other. 1: it helps as much as learning the other itself. "
        f"{len(matrix)} corruptions, {len(matrix) * (len(matrix) - 1) // 2} pairs"
    )
    note += f", of which {len(masked)} are masked." if masked else "."
    body = concat(heat.drawing(), heat.key("overlap", masked="masked" if masked else ""))
    return sheet(title, note, body, width=heat.right + heat.overhang, height=heat.bottom + HEAT_KEY)


def overlap_heat(matrix: OverlapMatrix) -> Heat:
    """The cells of a matrix; the diagonal, which is 1 by definition, is left empty."""
    names = short_names(matrix.names)
    longest = max(map(len, names)) * 7.5 + MARGIN
    least = 30 if len(names) <= MOST_NUMBERS else 18
    side = min(max((WIDTH - 1.6 * longest - MARGIN) / len(names), least), 56)

    def tip(i: int, j: int) -> str:
        pair = f"{matrix.names[i]} and {matrix.names[j]}"
        if np.isnan(matrix.scores[i, j]):
            return f"{pair}: masked, a model did not learn its own corruption"
        text = f"{pair}: {matrix.scores[i, j]:.3f}"
        if i == j or matrix.low is None or matrix.high is None:
            return text
        high = matrix.high[i, j]
        return f"{text}, 95 % interval {matrix.low[i, j]:.3f} to {'∞' if math.isinf(high) else f'{high:.3f}'}"

    return Heat(
        matrix.scores,
        names,
        names,
        (side, side),
        numbers=len(names) <= MOST_NUMBERS,
        tip=tip,
        hidden=lambda i, j: i == j,
    )


LEFT, SWEEP_HEIGHT, SWEEP_GAP = 70, 170, 52


def sweep_figure(
    table: pl.DataFrame, *, chosen: float | None = None, title: str = "Non-overlapping sets by threshold"
) -> Html:
    """Two panels of what `sweep` gives: the size of the largest sets, and the mean overlap of the best of them."""
    rows = table.sort("threshold")
    if not len(rows):
        raise BrittleError("a sweep needs at least one threshold")
    thresholds = [float(value) for value in rows["threshold"]]
    sizes = [float(value) for value in rows["size"]]
    means = [float(value) for value in rows["mean_overlap"]]
    first = min(0.0, thresholds[0])
    last = max(thresholds[-1], first + 0.1)
    tips = [_tip(*row) for row in zip(thresholds, sizes, means, rows["members"].to_list(), strict=True)]
    known = [mean for mean in means if not math.isnan(mean)]
    panels, top = [], 30.0
    for name, values, most in (
        ("size of the largest sets", sizes, max(sizes) * 1.12),
        ("mean overlap of the best", means, max([*known, 0.01]) * 1.12),
    ):
        plot = Plot(LEFT, top, WIDTH - LEFT - 2 * MARGIN, SWEEP_HEIGHT, (first, last), (0, most))
        up = [value for value in ticks(0, most, 5) if values is means or value == int(value)]
        below = values is means
        points = [(t, v) for t, v in zip(thresholds, values, strict=True) if not math.isnan(v)]
        marks = [_mark(plot, t, v, tip) for t, v, tip in zip(thresholds, values, tips, strict=True)]
        panels += [
            tag("text", name, x=LEFT, y=fmt(top - 12), class_="strong"),
            plot.frame(ticks(first, last, 10), up, numbers=below),
            None if chosen is None else plot.down(chosen),
            tag("path", d=plot.path(_stairs(points) if values is sizes else points), class_="line") if points else None,
            marks,
        ]
        if values is sizes:
            panels += [
                tag("text", f"{int(v)}", x=fmt(plot.x(t)), y=fmt(plot.y(v) - 9), class_="mid") for t, v in points
            ]
        top += SWEEP_HEIGHT + SWEEP_GAP
    bottom = top - SWEEP_GAP + 40
    panels.append(
        tag("text", "threshold on the overlap of each pair", x=LEFT + (WIDTH - LEFT) / 2, y=bottom, class_="mid")
    )
    note = "The largest sets of corruptions in which every pair overlaps less than the threshold; of several, the best."
    if chosen is not None:
        note += f" The dashed line is the chosen threshold, {chosen:g}."
    return sheet(title, note, concat(panels), width=WIDTH, height=bottom + 6)


def _stairs(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """A set that is allowed at a threshold is allowed at every higher one: the size stays until the next step."""
    path = points[:1]
    for (_, before), (t, v) in pairwise(points):
        path += [(t, before), (t, v)]
    return path


def _tip(threshold: float, size: float, mean: float, members: list[str]) -> str:
    found = "one corruption alone" if math.isnan(mean) else f"{size:.0f} corruptions, mean overlap {mean:.3f}"
    return f"threshold {threshold:g}: {found}\n{', '.join(members)}"


def _mark(plot: Plot, x: float, y: float, tip: str) -> Html | None:
    if math.isnan(y):
        return None
    return tag("circle", tag("title", tip), cx=fmt(plot.x(x)), cy=fmt(plot.y(y)), r=4, class_="mark")
