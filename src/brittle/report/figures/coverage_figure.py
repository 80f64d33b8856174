"""What a benchmark covers: the strongest overlap of each corruption with a member."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from brittle.design import OverlapMatrix, coverage
from brittle.report.figures.look import width_of
from brittle.report.figures.plot import Plot, ticks
from brittle.report.figures.sheet import MARGIN, WIDTH, sheet, short_names
from brittle.report.page.markup import Html, tag, together
from brittle.report.page.models import short

ROW = 25


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
    plot = Plot(left, 10, WIDTH - left - by - 2 * MARGIN, ROW * len(order), (0, most), (0, 1))
    bars = [_bar(plot, i, name, plain, best[name], own, threshold) for i, name in enumerate(order)]
    body = together(plot.frame(ticks(0, most), []), bars, plot.down(threshold), _label(plot))
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
    y = plot.top + i * ROW
    kind = "rest" if name in own else "bar" if score > threshold else "bad"
    words = "a member" if name in own else f"{score:.2f} by {plain[member]}" if score > 0 else "no overlap"
    end = plot.x(score)
    beside = (plot.x(threshold) if score <= threshold else end) + 8  # no words on the dashed line
    return together(
        tag("text", plain[name], x=short(plot.left - 10), y=short(y + ROW / 2 + 4.5), class_="end"),
        tag(
            "rect",
            x=short(plot.left),
            y=short(y + 4),
            width=short(max(end - plot.left, 2)),
            height=ROW - 8,
            class_=kind,
        ),
        tag("text", words, x=short(beside), y=short(y + ROW / 2 + 4.5), class_="soft"),
    )


def _label(plot: Plot) -> Html:
    at = {"x": short(plot.left + plot.width / 2), "y": short(plot.top + plot.height + 38)}
    return tag("text", "strongest overlap with a member", class_="mid", **at)
