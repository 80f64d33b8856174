"""Failure points that were searched for on the continuous axis: quantiles, survival curves and pictures."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from brittle.corruptions import get_corruption
from brittle.evaluation.failure_search import drawn_key, load_failure_points
from brittle.evaluation.failure_summary import FailureSummary, SearchedFolder
from brittle.metrics import Estimate
from brittle.report.charts import Axes, severity_ticks
from brittle.report.data import Measure, Part
from brittle.report.examples import shot
from brittle.report.html import Html, ModelStyles, concat, percent, tag, tenths, views

STEPS = 60
"""Points of a curve."""

STRIPS = 6
"""So many corruptions are shown in pictures."""


@dataclass(frozen=True, eq=False)
class Searched:
    """What was found for one model under one corruption, and the folder it was found in."""

    model: str
    summary: FailureSummary
    folder: SearchedFolder


def searched(part: Part, _: list[Measure], looks: ModelStyles) -> Html | None:
    """The corruptions of a benchmark that `brittle failure-points` was run on, beside the run of its levels."""
    if part.benchmark is None:
        return None
    found = _of_part(part)
    if not found:
        return None
    return concat(
        survival_curves(found, looks), quantile_table(found, looks), failure_pictures(found, looks, part.class_name)
    )


def _of_part(part: Part) -> list[Searched]:
    assert part.benchmark is not None
    wanted = {drawn_key(part.benchmark, entry) for entry in part.benchmark.entries}
    known = {m.key: m.name for run in part.results.runs for m in run.models}
    names = _names(known, part.models)
    found: dict[tuple[str, str], Searched] = {}
    for run in part.results.runs:
        if load_failure_points(run.folder) is None:
            continue
        folder = SearchedFolder(run.folder)
        for one in folder.summaries:
            if one.drawn in wanted and one.key in names:
                found.setdefault((one.key, one.corruption), Searched(names[one.key], one, folder))
    return list(found.values())


def _names(known: dict[str, str], models: list[str]) -> dict[str, str]:
    """What the report calls the model of each key: its name, with the beginning of the key where two share one."""
    found = {key: name if name in models else f"{name} {key[:6]}" for key, name in known.items()}
    return {key: name for key, name in found.items() if name in models}


def by_corruption(found: Sequence[Searched]) -> dict[str, list[Searched]]:
    """The models under each corruption, the most brittle corruption of the first model first."""
    corruptions: dict[str, list[Searched]] = {}
    for one in found:
        corruptions.setdefault(one.summary.corruption, []).append(one)
    return corruptions


def survival_curves(found: Sequence[Searched], looks: ModelStyles) -> Html:
    """A panel for each corruption: the share of images still right at every severity."""
    evaluations, grid = (
        sum(one.summary.evaluations for one in found),
        sum(len(one.summary.points.severities) for one in found),
    )
    words = (
        "The share of images still right at every severity, from failure points that were found by halving on the "
        f"continuous axis: {evaluations / len(found):.1f} evaluations per image and corruption, where a grid as fine "
        f"takes {grid / len(found):.0f}. Images that are wrong when clean are in the share. Bands are 95 % intervals."
    )
    models = [name for name in looks.order if any(one.model == name for one in found)]
    panels = [_panel(name, several, looks) for name, several in by_corruption(found).items()]
    return concat(tag("p", words, class_="note"), looks.legend(models), tag("div", *panels, class_="grid"))


def _panel(corruption: str, several: list[Searched], looks: ModelStyles) -> Html:
    last = max(one.summary.last for one in several)
    axes = Axes(220, 150, last, 1.0)
    xs = [float(x) for x in np.linspace(0, last, STEPS + 1)]
    layers, rows = [], []
    for one in sorted(several, key=lambda one: one.summary.points.mean()):
        look, points = looks[one.model], one.summary.points
        low, high = points.survival_interval(xs)
        line = axes.path(zip(xs, points.survival(xs), strict=True))
        drawn = tag("path", d=line, class_="line", stroke_dasharray=look.dash)
        layers.append(tag("g", axes.band(xs, low, high) if look.shown else None, drawn, class_=look.name))
    for one in several:
        median = one.summary.points.median()
        half = f"half at {median:.2f}" if np.isfinite(median) else f"more than half hold to {last:g}"
        rows.append(f"{one.model}  {half}, {tenths(float(one.summary.points.survival([last])[0]))} % never fail")
    known = get_corruption(corruption)
    tip = "\n".join([known.name, *rows])
    return tag(
        "figure",
        tag(
            "figcaption",
            tag("b", known.name, title=known.name),
            tag("span", known.family, class_=f"family f-{known.family}"),
        ),
        axes.drawing(
            f"{known.name}: {'; '.join(rows)}", axes.frame(severity_ticks(last), 0.2), layers, [axes.hit(0, last, tip)]
        ),
        class_="panel",
    )


def quantile_table(found: Sequence[Searched], looks: ModelStyles) -> Html:
    """For each model the severities below which 5 % and half of the images fail, and what 5 % means in pictures."""
    words = (
        "Severities below which 5 % and half of the images fail, of those that are right when clean, with 95 % "
        "intervals; the most brittle corruption first. The last columns say what the severity of the 5 % does to an "
        "image (where so few fail, that of the half or the end of the axis): the corruption's own parameters, and "
        "means over images of this data. PSNR and SSIM compare with the clean image; contrast is the change of the "
        "standard deviation of the luminance."
    )
    models = [name for name in looks.order if any(one.model == name for one in found)]
    tables = [(name, _table([one for one in found if one.model == name])) for name in models]
    return concat(tag("p", words, class_="note"), views("Model", tables))


COLUMNS = (
    "5 % fail below",
    "half fail below",
    "never fail",
    "at severity",
    "parameters there",
    "PSNR",
    "SSIM",
    "contrast",
)


def _table(found: Sequence[Searched]) -> Html:
    rows = []
    for one in sorted(found, key=lambda one: one.summary.rank):
        own, change = one.summary, one.folder.change(one.summary)
        cells = [severity_cell(own.early, own.last), severity_cell(own.half, own.last), percent(own.never)]
        if change is None:
            cells += ["–"] * 5
        else:
            cells += [
                f"{change.severity:.2f}",
                change.words,
                f"{change.psnr:.1f}\u202fdB",
                f"{change.ssim:.2f}",
                change.contrast_change.replace(" ", "\u202f"),
            ]
        data = [tag("td", cell, class_=None if i == 4 else "num") for i, cell in enumerate(cells)]
        rows.append(tag("tr", tag("th", own.corruption.rpartition("/")[2], scope="row"), *data))
    head = [tag("th", name, scope="col", class_=None if i == 4 else "num") for i, name in enumerate(COLUMNS)]
    table = tag("table", tag("thead", tag("tr", tag("th", "corruption", scope="col"), *head)), tag("tbody", *rows))
    label = f"failure points of {found[0].model}"
    return tag("div", table, class_="scroll", tabindex=0, role="region", aria_label=label)


def severity_cell(found: Estimate | None, last: float) -> str | Html:
    """A severity and its interval; beyond the axis it is only known to be larger."""
    if found is None or found.low is None or found.high is None:
        return "–"
    ends = [f"{end:.2f}" if end <= last else f"> {last:g}" for end in (found.value, found.low, found.high)]
    return concat(ends[0], " ", tag("span", f"[{ends[1]},\u00a0{ends[2]}]", class_="ci"))


def failure_pictures(found: Sequence[Searched], looks: ModelStyles, class_name: Callable[[int], str]) -> Html | None:
    """For each model and its most brittle corruptions an early and a typical image on its way to its failure point."""
    items = []
    for model in looks.order:
        own = sorted((one for one in found if one.model == model), key=lambda one: one.summary.rank)
        strips = [strip for one in own if (strip := _strip(one, class_name)) is not None][:STRIPS]
        if strips:
            items.append((model, concat(strips)))
    if not items:
        return None
    words = (
        "Images at their failure points, for each corruption one that fails early and a typical one: clean, at the "
        "last severity at which the model is right, and at the first at which it is wrong."
    )
    return concat(tag("p", words, class_="note"), views("Model", items))


def _strip(one: Searched, class_name: Callable[[int], str]) -> Html | None:
    name, shots = one.summary.corruption.rpartition("/")[2], []
    for example in one.summary.examples():
        truth = class_name(example.label)
        for at, said, sure, right in (
            (0.0, truth, example.clean_confidence, True),
            (example.held, truth, example.held_confidence, True),
            (example.failed, class_name(example.prediction), example.failed_confidence, False),
        ):
            image = one.folder.image(one.summary, example.sample, at)
            if image is None:
                return None
            where = f"severity {at:.2f}" if at else "clean"
            shots.append(shot(image, f"{truth}, {name}, {where}", where, said, sure, right))
    if not shots:
        return None
    half = one.summary.half
    note = f"half fail below {half.value:.2f}" if half is not None and math.isfinite(half.value) else ""
    title = tag("h5", name, tag("small", note or f"{percent(one.summary.never)} never fail"))
    return tag("div", title, tag("div", *shots, class_="film"), class_="example")


def failure_cards(found: Sequence[Searched], looks: ModelStyles) -> Html:
    """The first thing to read: one sentence a model, and its key numbers."""
    cards = []
    for model in looks.order:
        own = sorted((one.summary for one in found if one.model == model), key=lambda summary: summary.rank)
        first = own[0]
        right = len(first.points) - first.points.at_zero
        name = tag("b", first.corruption.rpartition("/")[2])
        early = first.early
        if early is None:
            sentence: Html = concat("It is wrong about every image when clean, so nothing can fail.")
        elif math.isinf(early.value):
            sentence = concat("Fewer than 5 % of the images fail under any corruption, up to its largest severity.")
        else:
            change = next(one.folder.change(first) for one in found if one.summary is first)
            there = f" There the corruption has {change.words}." if change and change.words else ""
            sentence = concat(
                "What breaks it first is ", name, ": 5 % of the images fail below severity ",
                tag("strong", f"{early.value:.2f}"), f".{there}",
            )  # fmt: skip
        tiles = [
            ("right when clean", percent(first.clean_accuracy), f"{right:,} of {len(first.points):,} images"),
            ("5 % fail below", severity_cell(early, first.last), f"severity of {first.corruption.rpartition('/')[2]}"),
            ("half fail below", severity_cell(first.half, first.last), "of the same corruption"),
            ("never fail", percent(float(np.nanmean([one.never for one in own]))), "mean over corruptions"),
        ]
        boxes = [
            tag("div", tag("dt", what), tag("dd", tag("span", value, class_="big")), tag("dd", hint, class_="hint"))
            for what, value, hint in tiles
        ]
        swatch = looks[model].swatch() if len(looks.order) > 1 else None
        title = tag("h4", swatch, model, class_="model-name")
        body = tag("dl", *boxes, class_="tiles")
        cards.append(tag("article", title, tag("p", sentence, class_="lead"), body, class_=f"card {looks[model].name}"))
    return tag("div", *cards, class_="cards")
