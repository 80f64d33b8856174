"""How good the out-of-class filter is, and each of its scores alone."""

from __future__ import annotations

import polars as pl

from brittle.report.figures.look import width_of
from brittle.report.figures.panel import Panel, panel_sheet
from brittle.report.figures.plot import Plot
from brittle.report.page.markup import Html, tag, together
from brittle.report.page.models import Looks, short

WIDE, ROW = 276, 26
SHOWN = (
    ("tpr", "removed of out-of-class images", "TPR, higher is better"),
    ("fpr", "removed of the others", "FPR, lower is better"),
    ("accuracy", "treated rightly", "accuracy, higher is better"),
)


def filter_figure(quality: pl.DataFrame, *, title: str = "Does the filter find images that lost their class?") -> Html:
    """What `compare_filters` gives: shares in percent with 95 % intervals, the filter first."""
    names = quality["filter"].to_list()
    looks = Looks(names)
    left = max(width_of(name, 13) for name in names) + 12
    panels = []
    for place, (key, words, about) in enumerate(SHOWN):
        start = left if place == 0 else 10
        wide = WIDE - 60 + start if place == 0 else WIDE - 40
        plot = Plot(start, 4, wide - start - 48, ROW * len(names), (0, 100), (len(names), 0))
        parts: list[Html] = []
        for i, row in enumerate(quality.iter_rows(named=True)):
            value, low, high = (100 * row[f"{key}{end}"] for end in ("", "_low", "_high"))
            y = plot.y(i + 0.5)
            if place == 0:
                parts.append(tag("text", row["filter"], x=short(left - 10), y=short(y + 4.5), class_="end"))
            line = tag("line", x1=short(plot.x(low)), x2=short(plot.x(high)), y1=short(y), y2=short(y), class_="line")
            tip = tag("title", f"{row['filter']}: {value:.1f} % [{low:.1f}, {high:.1f}]")
            parts.append(
                tag(
                    "g", tip, line, looks[row["filter"]].marker(plot.x(value), y, 4.6), class_=looks[row["filter"]].name
                )
            )
            parts.append(tag("text", f"{value:.1f}", x=short(wide - 40), y=short(y + 4.5), class_="soft"))
        label = f"{words}: {100 * quality[key][0]:.1f} % by {names[0]}"
        panels.append(
            Panel(words, about, wide, ROW * len(names) + 30, together(plot.frame((0, 50, 100), []), parts), label)
        )
    note = f"Percent of {quality['images'][0]:,} labelled images, 95 % intervals. CLIP_class alone is the naive filter."
    return panel_sheet(title, note, panels, one_row=True)
