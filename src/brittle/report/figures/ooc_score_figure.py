"""How the scores of the out-of-class filter tell images apart, and where their thresholds are."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np
import polars as pl

from brittle.report.figures.panel import Panel, hit, panel_sheet
from brittle.report.figures.plot import Plot, ticks
from brittle.report.page.markup import Html, tag, together
from brittle.report.page.models import Looks, short

WIDE, HIGH, BINS = 400, 190, 32
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
    looks = Looks(KINDS)
    outside = known["out_of_class"].to_numpy()
    note = (
        f"Shares in percent of {int((~outside).sum()):,} labelled images that show their class and of "
        f"{int(outside.sum()):,} that do not. Left of the dashed line an image does not pass. AUC: how often an image "
        "out of class scores lower than one that is not."
    )
    panels = [_panel(known[name].to_numpy(), outside, name, limit, looks) for name, limit in thresholds.items()]
    return panel_sheet(title, note, panels, looks)


def _panel(values: np.ndarray, outside: np.ndarray, name: str, limit: float, looks: Looks) -> Panel:
    there = np.isfinite(values)
    values, outside = values[there], outside[there]
    low, high = float(values.min()), float(values.max())
    edges = np.linspace(low, high if high > low else low + 1, BINS + 1)
    shares = {
        kind: 100 * np.histogram(values[part], edges)[0] / max(1, part.sum())
        for kind, part in zip(KINDS, (~outside, outside), strict=True)
    }
    top = 1.06 * max(float(share.max()) for share in shares.values())
    plot = Plot(36, 8, WIDE - 44, HIGH - 34, (float(edges[0]), float(edges[-1])), (0, top))
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
    body = together(plot.frame(ticks(*plot.xs, 5), ticks(0, top, 4)), layers, plot.down(limit), tips)
    label = f"{name}: AUC {auc:.2f}, threshold {limit:.4g}"
    mark = tag("text", f"{limit:.3g}", x=short(plot.x(limit) - 5), y=short(plot.top + 12), class_="soft small end")
    return Panel(f"{name}, AUC {auc:.2f}", ABOUT.get(name, ""), WIDE, HIGH, together(body, mark), label)


def _auc(low: np.ndarray, high: np.ndarray) -> float:
    """How often one of `low` is below one of `high`; ties count half."""
    order = np.sort(high)
    above, at = len(high) - np.searchsorted(order, low, "right"), np.searchsorted(order, low, "left")
    ties = len(high) - above - at
    return float((above + ties / 2).mean() / len(high)) if len(low) and len(high) else float("nan")
