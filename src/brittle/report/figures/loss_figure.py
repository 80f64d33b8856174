"""How sliders learnt: the loss of each, step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from brittle.report.figures.panel import Panel, panel_sheet
from brittle.report.figures.plot import Plot, ticks
from brittle.report.page.markup import Html, tag, together
from brittle.report.page.models import short

WIDE, HIGH = 270, 150
SMOOTH = 0.08
"""The line is a running mean over this share of the steps."""

DECADES = 2.0
"""Up to so many powers of ten, 2 and 5 have lines too."""


def loss_figure(losses: Mapping[str, Sequence[float]], *, title: str = "How sliders learn") -> Html:
    """A panel for each slider by its name: every step as a point, and a running mean as a line; logarithmic."""
    if not losses or not all(len(own) for own in losses.values()):
        raise ValueError("a figure of losses needs at least one slider, and steps of each")
    everything = np.log10(np.maximum(np.concatenate([np.asarray(own, float) for own in losses.values()]), 1e-12))
    ys = (float(everything.min()) - 0.1, float(everything.max()) + 0.1)
    note = (
        "Mean squared error between what the network predicts with the slider and what it should, against the training "
        "step. Steps stop at different noise levels, hence the scatter; the line is a running mean."
    )
    return panel_sheet(title, note, [_panel(name, np.asarray(own, float), ys) for name, own in losses.items()])


def _panel(name: str, losses: np.ndarray, ys: tuple[float, float]) -> Panel:
    count = len(losses)
    plot = Plot(46, 8, WIDE - 56, HIGH - 48, (0, max(count, 2)), ys)
    logs = np.log10(np.maximum(losses, 1e-12))
    width = max(1, round(SMOOTH * count))
    smooth = np.convolve(losses, np.ones(width) / width, mode="valid")
    at = np.arange(len(smooth)) + 1 + (width - 1) / 2
    line = plot.path(zip(at, np.log10(np.maximum(smooth, 1e-12)), strict=True))
    every = max(1, count // 200)
    dots = [
        tag("circle", cx=short(plot.x(i + 1)), cy=short(plot.y(logs[i])), r=1.6, class_="rest")
        for i in range(0, count, every)
    ]
    whole = range(int(np.floor(ys[0])), int(np.ceil(ys[1])) + 1)
    steps = (1, 2, 5) if ys[1] - ys[0] < DECADES else (1,)
    rules = []
    for power in [i + float(np.log10(step)) for i in whole for step in steps if ys[0] <= i + np.log10(step) <= ys[1]]:
        y = plot.y(power)
        rules.append(tag("line", x1=plot.left, x2=plot.left + plot.width, y1=short(y), y2=short(y), class_="grid"))
        rules.append(tag("text", f"{10.0**power:.1g}", x=plot.left - 7, y=short(y + 4.5), class_="end soft"))
    words = tag("text", "step", x=short(plot.left + plot.width / 2), y=short(plot.top + plot.height + 34),
                class_="mid soft")  # fmt: skip
    body = together(rules, plot.frame(ticks(0, count, 4), []), dots, tag("path", d=line, class_="line"), words)
    tenth = max(1, count // 10)
    first, last = float(losses[:tenth].mean()), float(losses[-tenth:].mean())
    label = f"{name}: the loss goes from {first:.3g} to {last:.3g}"
    return Panel(name.replace("_", " "), f"{first:.2g} to {last:.2g} in {count:,} steps", WIDE, HIGH, body, label)
