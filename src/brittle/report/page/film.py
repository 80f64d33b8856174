"""One image on its way down: clean, and at every severity of the corruption that hurts most."""

from __future__ import annotations

import polars as pl

from brittle.arrays import Image
from brittle.evaluation.cell import CLEAN
from brittle.report.page.columns import columns
from brittle.report.page.markup import Html, tag
from brittle.report.page.measure import Measure
from brittle.report.page.numbers import percent, severity
from brittle.report.page.parts import Part
from brittle.report.page.pictures import picture, pictures

FRAMES = 7
"""Longer ladders leave out some of their steps."""

Frame = tuple[float, int, float, bool]
"""Severity, prediction, confidence, and whether it was right."""


def film(part: Part, mine: Measure) -> Html | None:
    """A strip for the worst corruption that has several severities, if the pictures are there."""
    album = pictures(part)
    if album is None or part.benchmark is None:
        return None
    ladders = {own.entry.id: own.ladder for own in columns(part.benchmark)}
    for corruption in mine.worst():
        levels = ladders[corruption]
        found = _choose(part, mine.model, corruption, levels) if levels and album.drawable(corruption) else None
        if found is not None:
            break
    else:
        return None
    sample, label, frames = found
    name, shots = corruption.rpartition("/")[2], []
    for level, prediction, confidence, right in _thinned(frames):
        image = album.corrupted(sample, corruption, level) if level else album.clean(sample)
        at = f"severity {severity(level)}" if level else "clean"
        alt = f"{part.class_name(label)}, {name}, {at}"
        shots.append(shot(image, alt, at, part.class_name(prediction), confidence, right))
    words = f" – one image of class {part.class_name(label)} under {name}, its prediction and confidence at each step"
    title = tag("p", tag("b", f"How {mine.model} breaks"), words, class_="note")
    return tag("div", title, tag("div", *shots, class_="film"), class_="film-box")


def shot(image: Image, alt: str, at: str, said: str, confidence: float, right: bool) -> Html:
    """A picture of a strip: where it is, and what the model says it is."""
    mark = tag("span", "✓" if right else "✗", class_="yes" if right else "no", aria_label="right" if right else "wrong")
    words = tag("small", at), tag("span", mark, f" {said}"), tag("small", percent(confidence))
    return tag("figure", picture(image, alt), tag("figcaption", *words))


def _choose(part: Part, model: str, corruption: str, levels: tuple[float, ...]) -> tuple[str, int, list[Frame]] | None:
    """The image that breaks nearest the middle and stays broken, of those the one the model was surest of."""
    rows = part.results.rows.filter((pl.col("model") == model) & pl.col("corruption").is_in([CLEAN, corruption]))
    table = (
        rows.filter((pl.col("corruption") == CLEAN) | pl.col("level").is_in(levels)).sort("sample", "level").collect()
    )
    middle = (len(levels) + 1) // 2
    chosen = (
        table.group_by("sample", maintain_order=True)
        .agg(
            pl.col("correct"),
            pl.col("confidence").first().alias("sure"),
            pl.col("correct").sum().alias("steps"),
        )
        .filter(
            pl.col("correct").list.first()
            & ~pl.col("correct").list.last()
            & (pl.col("correct").list.arg_min() == pl.col("steps"))  # all that is right comes first
        )
        .sort((pl.col("steps").cast(pl.Int64) - middle).abs(), "sure", "sample", descending=[False, True, False])
    )
    if chosen.is_empty():
        return None
    sample = chosen["sample"][0]
    own = table.filter(pl.col("sample") == sample)
    frames = own.select("level", "prediction", "confidence", "correct").rows()
    return sample, int(own["label"][0]), frames


def _thinned(frames: list[Frame]) -> list[Frame]:
    """All frames, or evenly some of them, the first, the last and the first wrong one always."""
    if len(frames) <= FRAMES:
        return frames
    wrong = next(i for i, frame in enumerate(frames) if not frame[3])
    keep = {wrong} | {round(i * (len(frames) - 1) / (FRAMES - 2)) for i in range(FRAMES - 1)}
    return [frame for i, frame in enumerate(frames) if i in keep]
