"""Generated shifts on the page."""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from brittle.benchmarks import Cell
from brittle.datasets import UnreadableImage
from brittle.datasets.cns import cns_bench
from brittle.datasets.dataset import Dataset
from brittle.evaluation.results import Results
from brittle.evaluation.trajectory_scores import SCALE, SHIFT, CnsScores, cns_scores
from brittle.metrics import Estimate
from brittle.report.data import RESAMPLES, Measure, Part
from brittle.report.examples import shot
from brittle.report.figures.drawing import BANDS, Panel
from brittle.report.figures.evaluation import drop_panels, failure_panels, ranking_panels, rce_panel, slope_panels
from brittle.report.html import Html, ModelStyles, concat, count, interval, listed, percent, tag

WHOLE = ("all", "mean")


@lru_cache(maxsize=8)
def _scores(results: Results, models: tuple[str, ...], baseline: str | None) -> CnsScores:
    return cns_scores(results, models=models, baseline=baseline, resamples=RESAMPLES)


def part_scores(part: Part, baseline: str | None = None) -> CnsScores:
    """The scores of a part; computed once for all its sections."""
    return _scores(part.results, tuple(sorted(part.models)), baseline)


def measure_slides(part: Part) -> list[Measure]:
    """Every model of a part with slides, the best first: its accuracy over all shifts at scales above 0."""
    single = part_scores(part).accuracy.filter(~pl.col("shift").is_in(WHOLE))
    measures = []
    for model in part.models:
        mine = single.filter(pl.col("model") == model)
        shifted = mine.filter(pl.col("scale") > 0)
        share = float((shifted["accuracy"] * shifted["trajectories"]).sum()) / int(shifted["trajectories"].sum())
        unknown = np.array([np.nan])
        measures.append(Measure(model, int(mine["trajectories"].sum()), np.array([share]), unknown, unknown))
    return sorted(measures, key=lambda mine: (-mine.main.value, mine.model))


def slide_summary(part: Part, measures: list[Measure], looks: ModelStyles) -> Html:
    """A card for each of the first models: accuracy at both ends, the worst shift, and the mean margin."""
    found = part_scores(part)
    cards = [_card(mine.model, found, looks) for mine in measures[:6]]
    dropped = {shift: number for shift, number in found.dropped.items() if number}
    note = None
    if dropped:
        words = listed(
            [f"{count(number, 'trajectory', 'trajectories')} of {shift}" for shift, number in dropped.items()]
        )
        note = tag("p", f"Left out, because an image is missing at some scale: {words}.", class_="note")
    lacking = part.left_out and tag(
        "p", f"Not shown, because some cells are missing: {listed(part.left_out)}.", class_="note"
    )
    return concat(tag("div", *cards, class_="cards"), note, lacking or None)


def _card(model: str, found: CnsScores, looks: ModelStyles) -> Html:
    mine = found.accuracy.filter(pl.col("model") == model)
    over = "mean" if "mean" in mine["shift"] else mine["shift"][0]
    rows = mine.filter(pl.col("shift") == over).sort("scale")
    first, last = rows.row(0, named=True), rows.row(-1, named=True)
    single = mine.filter(~pl.col("shift").is_in(WHOLE))
    ends = single.filter(pl.col("scale") == pl.col("scale").max().over("shift")).sort("drop", descending=True)
    worst = ends.row(0, named=True)
    lead = concat(
        "From ", tag("strong", percent(first["accuracy"])), f" without a shift it {_goes(first, last)} ",
        tag("strong", percent(last["accuracy"])), f" at scale {last['scale']:g}.",
        concat(" ", tag("b", worst["shift"].replace("_", " ")), f" takes most: {100 * worst['drop']:.1f} points.")
        if worst["drop"] > 0
        else " No shift takes anything.",
    )  # fmt: skip
    whole = "all" if "all" in found.margins["shift"] else found.margins["shift"][0]
    margin = found.margins.filter((pl.col("model") == model) & (pl.col("shift") == whole)).row(0, named=True)
    drop = Estimate("accuracy drop", last["drop"], last["drop_low"], last["drop_high"])
    tiles = [
        _tile("accuracy at 0", percent(first["accuracy"]), ""),
        _tile(f"drop at {last['scale']:g}", percent(drop.value), interval(drop)),
        _tile("never fail", percent(margin["never_failed"] / margin["trajectories"]), "of trajectories"),
    ]
    if margin["mean_margin"] is not None:
        tiles.append(_tile("mean margin", f"{margin['mean_margin']:.2f}", "3 − failure point, lower is better"))
    title = tag("h4", looks[model].swatch() if len(looks.order) > 1 else None, model, class_="model-name")
    return tag(
        "article",
        title,
        tag("p", lead, class_="lead"),
        tag("dl", *tiles, class_="tiles"),
        class_=f"card {looks[model].name}",
    )


def _goes(first: dict[str, Any], last: dict[str, Any]) -> str:
    if abs(last["drop"]) < 0.0005:
        return "stays at"
    return "falls to" if last["accuracy"] < first["accuracy"] else "rises to"


def _tile(name: str, value: str, hint: str) -> Html:
    return tag(
        "div",
        tag("dt", name),
        tag("dd", tag("span", value, class_="big")),
        tag("dd", hint, class_="hint") if hint else None,
    )


def slide_drops(part: Part, measures: list[Measure], looks: ModelStyles) -> Html:
    """The paper's Figures 6a and 6b."""
    bands = "; bands are 95 % intervals" if len(measures) <= BANDS else ""
    words = (
        f"Accuracy drop since scale 0 of the same shift, in percentage points, against the scale of the shift{bands}."
    )
    return _panels(words, drop_panels(part_scores(part).accuracy, looks), part, looks)


def slide_failures(part: Part, _: list[Measure], looks: ModelStyles) -> Html:
    """The paper's Figure 6c."""
    words = (
        "Percent of trajectories that are wrong for the first time at this scale. Those that are wrong at scale 0 "
        "already, and those that never fail, are in no column."
    )
    return _panels(words, failure_panels(part_scores(part).failure_points, looks), part, looks)


def slide_ranks(part: Part, measures: list[Measure], looks: ModelStyles) -> Html | None:
    """Whether models keep their order; only if there are several."""
    if len(measures) < 2:
        return None
    found = part_scores(part)
    words = "Rank by accuracy at each scale, the best on top. τ: Kendall's correlation of the last scale with scale 0."
    return _panels(words, ranking_panels(found.rankings, found.agreement, looks), part, looks)


def slide_slopes(part: Part, _: list[Measure], __: ModelStyles) -> Html | None:
    """The ID/OOD slopes; there are none with fewer than three models."""
    found = part_scores(part).slopes
    if found.is_empty():
        return None
    clean = set(part.models) <= set(part.results.models_with([Cell()]))
    known = "on the clean images" if clean else "at scale 0"
    words = (
        f"Slope of the line, over models, of accuracy at a scale on accuracy {known}. 1 (dashed): what a model gains "
        "without the shift it gains under it too. Bands are 95 % intervals."
    )
    return _panels(words, slope_panels(found), part, None)


def slide_rce(part: Part, measures: list[Measure], looks: ModelStyles) -> Html | None:
    """rCE against AlexNet if it was run, else the worst model without a shift, of equals the worst under shifts."""
    if len(measures) < 2:
        return None
    found = part_scores(part)
    start = dict(found.accuracy.filter(pl.col("scale") == 0).group_by("model").agg(pl.col("accuracy").mean()).rows())
    alexnet = [model for model in part.models if "alexnet" in model.casefold()]
    worst_first = [measure.model for measure in reversed(measures)]
    baseline = alexnet[0] if alexnet else min(worst_first, key=lambda model: round(start[model], 9))
    try:
        rce = part_scores(part, baseline).rce
    except ValueError as error:
        return tag("p", f"There is no rCE: {error}.", class_="note")
    why = "" if alexnet else ", the worst model without a shift, since AlexNet was not run"
    words = (
        f"The summed rise of the error over all scales, divided by that of {baseline}{why}. Lower is better; these "
        "numbers can be compared with published ones only if the baseline is AlexNet on the same images."
    )
    return concat(
        tag("p", words, class_="note"), tag("div", rce_panel(rce, looks).figure(), class_="narrow"), _table(rce)
    )


def _table(rce: pl.DataFrame) -> Html:
    shifts = [s for s in rce["shift"].unique(maintain_order=True) if s != "mean"]
    if len(shifts) < 2:
        shifts = []
    values = {(r["model"], r["shift"]): r for r in rce.iter_rows(named=True)}
    models = sorted(rce["model"].unique(), key=lambda model: (values[model, "mean"]["rce"], model))
    numbers = (tag("th", name.replace("_", " "), scope="col", class_="num") for name in ("mean rCE", *shifts))
    head = tag("tr", tag("th", "model", scope="col"), *numbers)
    rows = [
        tag("tr", tag("th", model, scope="row"), *(_cell(values[model, s]) for s in ("mean", *shifts)))
        for model in models
    ]
    table = tag("table", tag("thead", head), tag("tbody", *rows), class_="stacked")
    return tag("div", table, class_="scroll", tabindex=0, role="region", aria_label="rCE")


def _cell(row: dict[str, float | None]) -> Html:
    ends = None
    if row["low"] is not None and row["high"] is not None:
        ends = tag("span", f"[{row['low']:.2f}, {row['high']:.2f}]".replace("-", "−"), class_="ci")
    return tag("td", tag("b", f"{row['rce']:.2f}".replace("-", "−")), " ", ends, class_="num")


def _panels(words: str, panels: list[Panel], part: Part, looks: ModelStyles | None) -> Html:
    legend = None if looks is None else looks.legend([model for model in looks.order if model in part.models])
    return concat(
        tag("p", words, class_="note"), legend, tag("div", *(panel.figure() for panel in panels), class_="grid wide")
    )


SHIFTS = 4
"""So many shifts are shown."""

FRAMES = 7
"""Longer trajectories leave out some of their scales."""


def slide_films(part: Part, measures: list[Measure], _: ModelStyles) -> Html | None:
    """A strip for each of the shifts that the first model loses most by; None without the folder of the slides."""
    data = _slides(part)
    if data is None:
        return None
    model = measures[0].model
    accuracy = part_scores(part).accuracy.filter((pl.col("model") == model) & ~pl.col("shift").is_in(WHOLE))
    ends = accuracy.filter(pl.col("scale") == pl.col("scale").max().over("shift"))
    worst = ends.sort("drop", "shift", descending=[True, False])["shift"].head(SHIFTS)
    films = [strip for shift in worst if (strip := _film(part, model, shift, data)) is not None]
    words = f"One picture in each of the shifts that take most, and what {model} says it is at each scale."
    return concat(tag("p", words, class_="note"), films) if films else None


def _slides(part: Part) -> Dataset | None:
    """The images that were run, where they were then."""
    for run in part.results.runs:
        for call in reversed(run.calls):
            folder = call.folder
            if folder and Path(folder).is_dir():
                with suppress(ValueError, OSError):
                    return cns_bench(folder)
    return None


def _film(part: Part, model: str, shift: str, data: Dataset) -> Html | None:
    rows = _chosen(part, model, shift)
    place = {str(sample): i for i, sample in enumerate(data.ids)}
    if len(rows) > FRAMES:
        rows = rows[[round(i * (len(rows) - 1) / (FRAMES - 1)) for i in range(FRAMES)]]
    truth, name, shots = part.class_name(rows["label"][0]), shift.replace("_", " "), []
    for row in rows.iter_rows(named=True):
        if row["sample"] not in place:
            return None
        try:
            image = data.image(place[row["sample"]])
        except UnreadableImage:
            return None
        at, said = f"scale {row['level']:g}", part.class_name(row["prediction"])
        shots.append(shot(image, f"{truth}, {name}, {at}", at, said, row["confidence"], row["correct"]))
    title = tag("p", tag("b", name), f", {truth}", class_="note")
    return tag("div", title, tag("div", *shots, class_="film"), class_="film-box")


def _chosen(part: Part, model: str, shift: str) -> pl.DataFrame:
    """The trajectory, scale by scale, that is right at half of its scales or nearly so, and if possible at 0."""
    rows = part.results.rows.filter((pl.col("model") == model) & (pl.col("corruption") == f"{SHIFT}{shift}"))
    way = pl.col("sample").str.replace(SCALE.pattern, "").alias("way")
    table = rows.with_columns(way).sort("way", "level").collect()
    ways = table.group_by("way", maintain_order=True).agg(
        pl.col("correct").first().alias("begins"), pl.col("correct").mean().alias("share"), pl.len().alias("scales")
    )
    whole = ways.filter(pl.col("scales") == pl.col("scales").max())
    best = whole.sort(~pl.col("begins"), (pl.col("share") - 0.5).abs(), "way")["way"][0]
    return table.filter(pl.col("way") == best)
