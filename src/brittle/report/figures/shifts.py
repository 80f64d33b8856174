"""Figures of generated shifts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
import polars as pl

from brittle._errors import BrittleError
from brittle.report.figures.drawing import Panel, Plot, band, between, hit, panel_sheet, scale_name, ticks, width_of
from brittle.report.html import Html, ModelStyles, concat, fmt, tag

WIDE, ROW = 276, 26
SHOWN = (
    ("tpr", "removed of out-of-class images", "TPR, higher is better"),
    ("fpr", "removed of the others", "FPR, lower is better"),
    ("accuracy", "treated rightly", "accuracy, higher is better"),
)


def filter_figure(quality: pl.DataFrame, *, title: str = "Does the filter find images that lost their class?") -> Html:
    """What `compare_filters` gives: shares in percent with 95 % intervals, the filter first."""
    names = quality["filter"].to_list()
    looks = ModelStyles(names)
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
                parts.append(tag("text", row["filter"], x=fmt(left - 10), y=fmt(y + 4.5), class_="end"))
            line = tag("line", x1=fmt(plot.x(low)), x2=fmt(plot.x(high)), y1=fmt(y), y2=fmt(y), class_="line")
            tip = tag("title", f"{row['filter']}: {value:.1f} % [{low:.1f}, {high:.1f}]")
            parts.append(
                tag(
                    "g", tip, line, looks[row["filter"]].marker(plot.x(value), y, 4.6), class_=looks[row["filter"]].name
                )
            )
            parts.append(tag("text", f"{value:.1f}", x=fmt(wide - 40), y=fmt(y + 4.5), class_="soft"))
        label = f"{words}: {100 * quality[key][0]:.1f} % by {names[0]}"
        panels.append(
            Panel(words, about, wide, ROW * len(names) + 30, concat(plot.frame((0, 50, 100), []), parts), label)
        )
    note = f"Percent of {quality['images'][0]:,} labelled images, 95 % intervals. CLIP_class alone is the naive filter."
    return panel_sheet(title, note, panels, one_row=True)


LOSS_WIDE, HIGH = 270, 150
SMOOTH = 0.08
"""The line is a running mean over this share of the steps."""

DECADES = 2.0
"""Up to so many powers of ten, 2 and 5 have lines too."""


def loss_figure(losses: Mapping[str, Sequence[float]], *, title: str = "How sliders learn") -> Html:
    """A panel for each slider by its name: every step as a point, and a running mean as a line; logarithmic."""
    if not losses or not all(len(own) for own in losses.values()):
        raise BrittleError("a figure of losses needs at least one slider, and steps of each")
    everything = np.log10(np.maximum(np.concatenate([np.asarray(own, float) for own in losses.values()]), 1e-12))
    ys = (float(everything.min()) - 0.1, float(everything.max()) + 0.1)
    note = (
        "Mean squared error between what the network predicts with the slider and what it should, against the training "
        "step. Steps stop at different noise levels, hence the scatter; the line is a running mean."
    )
    return panel_sheet(title, note, [_panel(name, np.asarray(own, float), ys) for name, own in losses.items()])


def _panel(name: str, losses: np.ndarray, ys: tuple[float, float]) -> Panel:
    count = len(losses)
    plot = Plot(46, 8, LOSS_WIDE - 56, HIGH - 48, (0, max(count, 2)), ys)
    logs = np.log10(np.maximum(losses, 1e-12))
    width = max(1, round(SMOOTH * count))
    smooth = np.convolve(losses, np.ones(width) / width, mode="valid")
    at = np.arange(len(smooth)) + 1 + (width - 1) / 2
    line = plot.path(zip(at, np.log10(np.maximum(smooth, 1e-12)), strict=True))
    every = max(1, count // 200)
    dots = [
        tag("circle", cx=fmt(plot.x(i + 1)), cy=fmt(plot.y(logs[i])), r=1.6, class_="rest")
        for i in range(0, count, every)
    ]
    whole = range(int(np.floor(ys[0])), int(np.ceil(ys[1])) + 1)
    steps = (1, 2, 5) if ys[1] - ys[0] < DECADES else (1,)
    rules = []
    for power in [i + float(np.log10(step)) for i in whole for step in steps if ys[0] <= i + np.log10(step) <= ys[1]]:
        y = plot.y(power)
        rules.append(tag("line", x1=plot.left, x2=plot.left + plot.width, y1=fmt(y), y2=fmt(y), class_="grid"))
        rules.append(tag("text", f"{10.0**power:.1g}", x=plot.left - 7, y=fmt(y + 4.5), class_="end soft"))
    words = tag("text", "step", x=fmt(plot.left + plot.width / 2), y=fmt(plot.top + plot.height + 34),
                class_="mid soft")  # fmt: skip
    body = concat(rules, plot.frame(ticks(0, count, 4), []), dots, tag("path", d=line, class_="line"), words)
    tenth = max(1, count // 10)
    first, last = float(losses[:tenth].mean()), float(losses[-tenth:].mean())
    label = f"{name}: the loss goes from {first:.3g} to {last:.3g}"
    return Panel(name.replace("_", " "), f"{first:.2g} to {last:.2g} in {count:,} steps", LOSS_WIDE, HIGH, body, label)


OOC_SCORE_WIDE, OOC_SCORE_HIGH, BINS = 400, 190, 32
KINDS = ("shows its class", "out of class")
ABOUT = {
    "CLIP_class": "100 × cosine of image and words of the class",
    "CLIP_class_shift": "100 × cosine of image and words of class and shift",
    "CLIP_ref": "CLIP's cosine to the image at scale 0",
    "DINO_ref_no_head": "the image encoder's cosine to the image at scale 0",
}


def ooc_score_figure(
    known: pl.DataFrame,
    thresholds: Mapping[str, float],
    *,
    title: str = "Which score tells an image that lost its class?",
) -> Html:
    """A panel for each score: the labelled images with it; `known` is what `labelled` gives."""
    looks = ModelStyles(KINDS)
    outside = known["out_of_class"].to_numpy()
    note = (
        f"Shares in percent of {int((~outside).sum()):,} labelled images that show their class and of "
        f"{int(outside.sum()):,} that do not. Left of the dashed line an image does not pass. AUC: how often an image "
        "out of class scores lower than one that is not."
    )
    panels = [
        _ooc_score_panel(known[name].to_numpy(), outside, name, limit, looks) for name, limit in thresholds.items()
    ]
    return panel_sheet(title, note, panels, looks)


def _ooc_score_panel(values: np.ndarray, outside: np.ndarray, name: str, limit: float, looks: ModelStyles) -> Panel:
    there = np.isfinite(values)
    values, outside = values[there], outside[there]
    low, high = float(values.min()), float(values.max())
    edges = np.linspace(low, high if high > low else low + 1, BINS + 1)
    shares = {
        kind: 100 * np.histogram(values[part], edges)[0] / max(1, part.sum())
        for kind, part in zip(KINDS, (~outside, outside), strict=True)
    }
    top = 1.06 * max(float(share.max()) for share in shares.values())
    plot = Plot(36, 8, OOC_SCORE_WIDE - 44, OOC_SCORE_HIGH - 34, (float(edges[0]), float(edges[-1])), (0, top))
    layers = []
    for kind, share in shares.items():
        steps = [(x, y) for i, y in enumerate(share) for x in (edges[i], edges[i + 1])]
        closed = [(edges[0], 0.0), *steps, (edges[-1], 0.0)]
        area = tag("path", d=plot.path(closed) + "Z", class_="band")
        layers.append(tag("g", area, tag("path", d=plot.path(steps), class_="line"), class_=looks[kind].name))
    tips = [
        hit(plot, a, b, f"{a:.3g} to {b:.3g}\n" + "\n".join(f"{kind} {shares[kind][i]:.1f} %" for kind in KINDS))
        for i, (a, b) in enumerate(pairwise(edges))
    ]
    auc = _auc(values[outside], values[~outside])
    body = concat(plot.frame(ticks(*plot.xs, 5), ticks(0, top, 4)), layers, plot.down(limit), tips)
    label = f"{name}: AUC {auc:.2f}, threshold {limit:.4g}"
    mark = tag("text", f"{limit:.3g}", x=fmt(plot.x(limit) - 5), y=fmt(plot.top + 12), class_="soft small end")
    return Panel(
        f"{name}, AUC {auc:.2f}", ABOUT.get(name, ""), OOC_SCORE_WIDE, OOC_SCORE_HIGH, concat(body, mark), label
    )


def _auc(low: np.ndarray, high: np.ndarray) -> float:
    """How often one of `low` is below one of `high`; ties count half."""
    order = np.sort(high)
    above, at = len(high) - np.searchsorted(order, low, "right"), np.searchsorted(order, low, "left")
    ties = len(high) - above - at
    return float((above + ties / 2).mean() / len(high)) if len(low) and len(high) else float("nan")


SHIFT_CURVE_WIDE, SHIFT_CURVE_HIGH = 270, 196


def shift_curve_figure(curves: pl.DataFrame, *, title: str = "How far sliders move images") -> Html:
    """A panel for each curve of `shift_curves`: ΔCLIP to the words of the shift, and to those of the class."""
    first = curves.columns[0]
    measures = curves["measure"].unique(maintain_order=True).to_list()
    looks = ModelStyles(measures)
    low, high = float(curves["low"].min()), float(curves["high"].max())  # type: ignore[arg-type]
    pad = 0.05 * max(high - low, 1e-6)
    ys = (min(low, 0) - pad, max(high, 0) + pad)
    groups = curves[first].unique().sort().to_list()
    panels = [_shift_curve_panel(curves.filter(pl.col(first) == group), str(group), looks, ys) for group in groups]
    note = (
        "ΔCLIP, 100 × (cosine of image and words − the same at scale 0), against the scale of the slider. Rising to "
        "the shift: the slider works. Falling to the class: it destroys what it should only shift. Bands are 95 % "
        "intervals."
    )
    return panel_sheet(title, note, panels, looks)


def _shift_curve_panel(rows: pl.DataFrame, group: str, looks: ModelStyles, ys: tuple[float, float]) -> Panel:
    scales = sorted(rows["scale"].unique().to_list())
    plot = Plot(34, 8, SHIFT_CURVE_WIDE - 44, SHIFT_CURVE_HIGH - 48, (scales[0], scales[-1]), ys)
    layers, tips = [], {scale: [f"scale {scale:g}"] for scale in scales}
    for measure in looks.order:
        look, mine = looks[measure], rows.filter(pl.col("measure") == measure).sort("scale")
        points = list(zip(scales, mine["value"].to_list(), strict=True))
        line = tag("path", d=plot.path(points), class_="line", stroke_dasharray=look.dash)
        marks = [look.marker(plot.x(x), plot.y(y)) for x, y in points]
        layers.append(
            tag("g", band(plot, scales, mine["low"].to_list(), mine["high"].to_list()), line, marks, class_=look.name)
        )
        for row in mine.iter_rows(named=True):
            words = f"{measure}  {row['value']:+.2f} [{row['low']:+.2f}, {row['high']:+.2f}]"
            tips[row["scale"]].append(words.replace("-", "−"))
    hits = [hit(plot, *between(scales, i), "\n".join(tips[scale])) for i, scale in enumerate(scales)]
    name = group.replace("_", " ")
    last = rows.filter(pl.col("scale") == scales[-1])
    ends = ", ".join(f"{m} {v:+.2f}" for m, v in zip(last["measure"], last["value"], strict=True))
    body = concat(plot.frame(scales, ticks(*ys, 5)), layers, scale_name(plot), hits)
    return Panel(
        name,
        f"{rows['trajectories'][0]:,} trajectories",
        SHIFT_CURVE_WIDE,
        SHIFT_CURVE_HIGH,
        body,
        f"{name} at {scales[-1]:g}: {ends}",
    )
