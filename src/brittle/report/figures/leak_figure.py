"""How far an augmentation goes towards each corruption, beside how far neutral ones go."""

from __future__ import annotations

from typing import TYPE_CHECKING

from brittle.report.figures.look import width_of
from brittle.report.figures.plot import Plot, ticks
from brittle.report.figures.sheet import MARGIN, WIDTH, sheet, short_names
from brittle.report.page.markup import Html, tag, together
from brittle.report.page.models import short

if TYPE_CHECKING:
    from brittle.distance import LeakCheck

ROW, TOP = 26, 34


def leak_figure(check: LeakCheck, *, title: str = "Does the augmentation leak the test?") -> Html:
    """A bar for each corruption, the most covered first, red where it leaks; the tick is the nearest neutral one."""
    corruptions = [one.corruption for one in check.leaks]
    names = dict(zip(corruptions, short_names(corruptions), strict=True))
    order = sorted(check.leaks, key=lambda one: -one.covered)
    left = MARGIN + max(width_of(name, 13) for name in names.values()) + 10
    plot = Plot(left, TOP, WIDTH - left - 150, ROW * len(order), (0, 1), (0, 1))
    parts = []

    def at(share: float) -> float:
        """Where a share of the way ends, cut off at the clean images and at the corruption."""
        return plot.x(min(max(share, 0), 1))

    for i, one in enumerate(order):
        y, mine, neutral = plot.top + i * ROW, at(one.covered), at(one.reference_covered)
        kind = "bad" if one.leaked else "bar" if one.nearer else "rest"
        words = f"leaked, {_p(one.p_leaked)}" if one.leaked else "nearer" if one.nearer else ""
        tip = f"{names[one.corruption]}: MSD {one.msd:.2f}, {one.reference} {one.reference_msd:.2f}, {_p(one.p_leaked)}"
        bar = {"x": short(plot.left), "y": short(y + 5), "width": short(max(mine - plot.left, 1.5)), "height": ROW - 10}
        gap = {"x": short(neutral - 2.5), "y": short(y + 2), "width": 5, "height": ROW - 4}
        middle = short(y + ROW / 2 + 4.5)
        parts += [
            tag("text", names[one.corruption], x=short(left - 10), y=middle, class_="end"),
            tag("rect", tag("title", tip), class_=kind, **bar),
            tag("rect", class_="ground", **gap),
            tag("line", x1=short(neutral), x2=short(neutral), y1=short(y + 2), y2=short(y + ROW - 2), class_="bracket"),
            tag("text", words, x=short(max(mine, neutral) + 8), y=middle, class_="soft") if words else None,
        ]
    label = tag(
        "text",
        "share of the way from the clean images to the corruption, 1 − MSD / ‖E f(c)‖",
        x=short(plot.left + plot.width / 2),
        y=short(plot.top + plot.height + 40),
        class_="mid",
    )
    body = together(_key(left), plot.frame(ticks(0, 1, 5), []), parts, label)
    note = (
        f"{len(check.leaked)} of {len(check.leaks)} corruptions are leaked: the nearest augmentation is significantly "
        f"less than {check.margin:g} × as far as the nearest neutral one, at α = {check.alpha:g} for all together "
        f"({check.samples:,} samples each)."
    )
    return sheet(title, note, body, width=WIDTH, height=plot.top + plot.height + 46)


def _key(left: float) -> Html:
    parts, x = [], left
    for kind, words in (("bad", "leaked"), ("bar", "nearer than every neutral one"), ("rest", "not nearer")):
        parts.append(tag("rect", x=short(x), y=4, width=14, height=14, class_=kind))
        parts.append(tag("text", words, x=short(x + 20), y=16))
        x += 20 + width_of(words, 13) + 18
    parts.append(tag("line", x1=short(x + 4), x2=short(x + 4), y1=1, y2=21, class_="bracket"))
    parts.append(tag("text", "nearest neutral one", x=short(x + 14), y=16))
    return together(parts)


def _p(value: float) -> str:
    return "p < 0.001" if value < 0.001 else f"p = {value:.3f}"
