"""How MSD falls with the number of sampled augmentations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from brittle.report.figures.plot import Plot, ticks
from brittle.report.figures.series import KEY, key, marker, stroke
from brittle.report.figures.sheet import MARGIN, WIDTH, sheet
from brittle.report.page.markup import Html, tag, together
from brittle.report.page.models import short

if TYPE_CHECKING:
    from brittle.distance import Distances

LEFT, HEIGHT = 62, 280


def convergence_figure(found: Sequence[Distances], *, title: str = "How MSD falls with more samples") -> Html:
    """The expected MSD, a mean over all corruptions, against the number of augmentations on a logarithmic axis."""
    if not found:
        raise ValueError("give the distances of at least one augmentation to draw")
    curves = [one.corruptions.over_levels(one.curve).mean(-1) for one in found]
    clean = float(found[0].corruptions.over_levels(found[0].clean).mean())
    last = max(max(one.sizes) for one in found)
    most = 1.05 * max(clean, *(float(curve.max()) for curve in curves))
    top = KEY + 10
    plot = Plot(LEFT, top, WIDTH - LEFT - 2 * MARGIN, HEIGHT, (0, max(math.log10(last), 1)), (0, most))
    parts = [key([one.augmentation for one in found], LEFT, 16, lines=True)]
    parts += [plot.frame([], ticks(0, most, 6)), _decades(plot, last), _clean(plot, clean)]
    for number, (one, curve) in enumerate(zip(found, curves, strict=True)):
        points = [(math.log10(size), float(value)) for size, value in zip(one.sizes, curve, strict=True)]
        parts.append(stroke(number, d=plot.path(points)))
        parts += [
            marker(number, plot.x(x), plot.y(y), size=3.5, tip=f"{one.augmentation}, {round(10**x)} samples: {y:.3f}")
            for x, y in points
        ]
    last_factor = ", ".join(f"{one.augmentation} {_last(one, curve)}" for one, curve in zip(found, curves, strict=True))
    note = (
        "Mean over corruptions of the expected MSD of smaller samples; the dashed line is how far clean images are. "
        f"Doubling the samples last changed it by: {last_factor}."
    )
    words = tag("text", "sampled augmentations", x=short(LEFT + plot.width / 2), y=top + HEIGHT + 42, class_="mid")
    return sheet(title, note, together(parts, words), width=WIDTH, height=top + HEIGHT + 48)


def _last(one: Distances, curve: np.ndarray) -> str:
    """By how much the last doubling lowered it, read off the curve."""
    sizes = np.log(np.array(one.sizes, float))
    half = float(np.interp(sizes[-1] - math.log(2), sizes, curve))
    return "nothing" if half == 0 else f"{100 * (curve[-1] / half - 1):.1f} %".replace("-", "−")


def _clean(plot: Plot, clean: float) -> Html:
    y = short(plot.y(clean))
    ends = {"x1": short(plot.left), "x2": short(plot.left + plot.width), "y1": y, "y2": y}
    return tag("line", class_="bracket", stroke_dasharray="4 3", **ends)


def _decades(plot: Plot, last: int) -> Html:
    parts = []
    for power in range(int(math.log10(max(last, 10))) + 1):
        x, bottom = short(plot.x(power)), plot.top + plot.height
        parts.append(tag("line", x1=x, x2=x, y1=short(bottom), y2=short(bottom + 4), class_="grid"))
        parts.append(tag("text", f"{10**power:,}", x=x, y=short(bottom + 18), class_="mid soft"))
    return together(parts)
