"""How a model's robustness falls with severity, and which range was chosen: a small panel for each corruption."""

from __future__ import annotations

from collections.abc import Sequence

from brittle.corruptions import find
from brittle.design import Calibration
from brittle.report.figures.plot import Plot, ticks
from brittle.report.figures.sheet import MARGIN, WIDTH, sheet, short_names
from brittle.report.page.markup import Html, tag, together
from brittle.report.page.models import short

ACROSS, HEIGHT, GAP_X, GAP_Y = 4, 96, 42, 70


def calibration_figure(
    calibrations: Sequence[Calibration], *, robustness: Sequence[float] = (), title: str = "Calibrated severities"
) -> Html:
    """R against severity with every severity that was tried; the range is shaded, `robustness` are dashed lines."""
    if not calibrations:
        raise ValueError("give at least one calibration to draw")
    names = short_names(one.corruption for one in calibrations)
    width = (WIDTH - 2 * MARGIN - ACROSS * GAP_X) / ACROSS
    panels = []
    for place, (one, name) in enumerate(zip(calibrations, names, strict=True)):
        row, column = divmod(place, ACROSS)
        left, top = MARGIN + GAP_X + column * (width + GAP_X), 24 + row * (HEIGHT + GAP_Y)
        most = float(find(one.corruption).max_severity)
        panels.append(_panel(one, name, Plot(left, top, width, HEIGHT, (0, most), (0, 1.1)), robustness))
    rows = -(-len(calibrations) // ACROSS)
    note = (
        "R, the share of the clean accuracy that is left, against severity. Dots were measured; the shaded range "
        "is the one that the recipe draws from."
    )
    return sheet(title, note, together(panels), width=WIDTH, height=rows * (HEIGHT + GAP_Y) - 4)


def _panel(one: Calibration, name: str, plot: Plot, robustness: Sequence[float]) -> Html:
    low, high = min(one.severities), max(one.severities)
    points = [(severity, min(max(value, 0.0), 1.1)) for severity, value in one.looked]
    band = {
        "x": short(plot.x(low)),
        "y": short(plot.top),
        "width": short(max(plot.x(high) - plot.x(low), 1.5)),
        "height": short(plot.height),
    }
    marks = [
        tag(
            "circle",
            tag("title", f"{name}, severity {severity:.3g}: R = {value:.3f}"),
            cx=short(plot.x(severity)),
            cy=short(plot.y(min(max(value, 0.0), 1.1))),
            r=2.6,
            class_="mark",
        )
        for severity, value in one.looked
    ]
    missed = [value for value, reached in zip(one.robustness, one.reached, strict=True) if not reached]
    words = f"{low:.2f} to {high:.2f}" if low < high else f"{high:.2f}"
    words += f" (R ≥ {min(missed):.2f})" if missed else ""
    return together(
        tag("text", name, x=short(plot.left), y=short(plot.top - 8), class_="strong"),
        tag("rect", class_="band", **band),
        plot.frame(ticks(0, plot.xs[1], 5), [0, 0.5, 1]),
        [plot.across(value) for value in robustness],
        tag("path", d=plot.path(points), class_="line"),
        marks,
        tag("text", words, x=short(plot.left), y=short(plot.top + plot.height + 35), class_="soft"),
    )
