"""Pictures on their way along the shifts that hurt a model most, if the folder of the slides is still there."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import polars as pl

from brittle.datasets import BrokenImage
from brittle.datasets.cns_bench import cns_bench
from brittle.datasets.dataset import Dataset
from brittle.report.page.film import shot
from brittle.report.page.markup import Html, tag, together
from brittle.report.page.measure import Measure
from brittle.report.page.models import Looks
from brittle.report.page.parts import Part
from brittle.report.page.slides import WHOLE, part_scores
from brittle.sliders.trajectories import SCALE, SHIFT

SHIFTS = 4
"""So many shifts are shown."""

FRAMES = 7
"""Longer trajectories leave out some of their scales."""


def slide_films(part: Part, measures: list[Measure], _: Looks) -> Html | None:
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
    return together(tag("p", words, class_="note"), films) if films else None


def _slides(part: Part) -> Dataset | None:
    """The images that were run, where they were then."""
    for run in part.results.runs:
        for call in reversed(run.get("calls", ())):
            folder = call.get("folder")
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
        except BrokenImage:
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
