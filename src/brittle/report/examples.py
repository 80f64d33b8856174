"""Pictures on the page."""

from __future__ import annotations

import base64
from io import BytesIO
from typing import Any

import numpy as np
import polars as pl
from PIL import Image as Pil
from PIL import features

from brittle._io import is_complete
from brittle._types import Image
from brittle.benchmarks import CLEAN, Benchmark, Level, severity_of
from brittle.evaluation import Run
from brittle.evaluation.inputs import IMAGES, READ, decoded_ids
from brittle.report.data import EarliestFailure, Measure, Part, earliest_failures, severity_columns
from brittle.report.html import Html, ModelStyles, concat, percent, severity, tag, views

MODELS, CORRUPTIONS, EACH = 3, 4, 3


def examples(part: Part, measures: list[Measure], looks: ModelStyles) -> Html | None:
    """The worst corruptions of the first models, a few images each."""
    if part.benchmark is None:
        return None
    album = pictures(part)
    if album is None:
        return tag(
            "p", "There are no pictures, because the folder of the run does not hold its clean images.", class_="note"
        )
    shown = [mine for mine in measures if looks[mine.model].shown][:MODELS]
    items = [(mine.model, _model(part, mine, album)) for mine in shown]
    words = (
        "Images that the model is right about, and surest of, when they are clean, and that break at the lowest level: "
        "left the clean image, right what it sees when it is wrong for the first time."
    )
    return concat(tag("p", words, class_="note"), views("Model", items))


def _model(part: Part, mine: Measure, album: Pictures) -> Html:
    worst = mine.worst()[:CORRUPTIONS]
    rows = []
    for corruption, found in zip(worst, earliest_failures(part, mine.model, worst, EACH), strict=True):
        name = corruption.rpartition("/")[2]
        cards = [_card(part, broken, album) for broken in found if album.drawable(corruption)]
        if not cards:
            why = "No image breaks." if album.drawable(corruption) else "Give its code by --import to see pictures."
            cards = [tag("p", why, class_="note")]
        title = tag("h5", name, tag("small", f"{percent(mine.corruptions[corruption].value)} right"))
        rows.append(tag("div", title, tag("div", *cards, class_="pairs"), class_="example"))
    return concat(rows)


def _card(part: Part, broken: EarliestFailure, album: Pictures) -> Html:
    name, level = broken.corruption.rpartition("/")[2], album.severity(broken.sample, broken.corruption, broken.level)
    truth, wrong = part.class_name(broken.label), part.class_name(broken.wrong)
    clean = album.clean(broken.sample)
    seen = album.corrupted(broken.sample, broken.corruption, broken.level)
    return tag(
        "figure",
        tag(
            "div",
            picture(clean, f"clean image of {truth}"),
            tag("span", "→", class_="arrow", aria_hidden="true"),
            picture(seen, f"the same image under {name} {level}"),
            class_="pair",
        ),
        tag(
            "figcaption",
            tag("span", tag("span", "✓", class_="yes", aria_label="right:"), f" {truth} ", _sure(broken.confidence)),
            tag(
                "span",
                tag("span", "✗", class_="no", aria_label="wrong:"),
                f" {wrong} ",
                _sure(broken.wrong_confidence),
            ),
            tag("small", f"severity {level} · sample {broken.sample}", class_="where"),
        ),
        class_="shot",
    )


def _sure(confidence: float) -> Html:
    return tag("small", percent(confidence))


FRAMES = 7
"""Longer ladders leave out some of their steps."""

Frame = tuple[float, int, float, bool]
"""Severity, prediction, confidence, and whether it was right."""


def film(part: Part, mine: Measure) -> Html | None:
    """A strip for the worst corruption that has several severities, if the pictures are there."""
    album = pictures(part)
    if album is None or part.benchmark is None:
        return None
    ladders = {own.entry.id: own.ladder for own in severity_columns(part.benchmark)}
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


TINY = 64
"""Pictures up to this side are kept pixel by pixel."""

SIDE = 144
"""Larger ones are reduced to this side."""


class Pictures:
    """The clean images of a run by their sample ids, and what its recipe makes of them."""

    def __init__(self, run: Run, benchmark: Benchmark) -> None:
        self.benchmark = benchmark
        self.images = np.load(run.folder / IMAGES, mmap_mode="r")
        self.ids = decoded_ids(run.folder)
        self.place = {str(sample): i for i, sample in enumerate(self.ids)}

    def clean(self, sample: str) -> Image:
        """The image as it is."""
        return np.array(self.images[self.place[sample]])

    def drawable(self, corruption: str) -> bool:
        """Whether the code of a corruption is loaded; a user's own may not be."""
        return self.benchmark.entry(corruption).corruption.loaded

    def corrupted(self, sample: str, corruption: str, level: Level) -> Image:
        """The image as the model saw it."""
        drawn: Image = self.benchmark.apply(self.clean(sample), corruption, level, self._identity(sample))
        return drawn

    def severity(self, sample: str, corruption: str, level: Level) -> str:
        """The severity in words; with a range, the one that was drawn for this sample."""
        entry = self.benchmark.entry(corruption)
        drawn = severity_of(level, self.benchmark.seed, entry.corruption, self._identity(sample))
        return f"{drawn:.2f}, drawn from {severity(level)}" if isinstance(level, tuple) else severity(level)

    def _identity(self, sample: str) -> str | int:
        """Rows hold ids as text, though numbers address other draws than text."""
        return self.ids[self.place[sample]]


def pictures(part: Part) -> Pictures | None:
    """The pictures of the first run that holds the recipe and its images."""
    for run in part.results.runs:
        there = part.has_clean and all(is_complete(run.folder / name) for name in (IMAGES, READ))
        if there and part.benchmark is not None and part.benchmark.hash in run.recipes:
            return Pictures(run, part.benchmark)
    return None


def picture(image: Image, alt: str) -> Html:
    """A picture inside the page; tiny ones are enlarged pixel by pixel."""
    height, width = image.shape[:2]
    tiny = "tiny" if max(height, width) <= TINY else None
    return tag("img", src=data_uri(image), alt=alt, class_=tiny, loading="lazy", width=width, height=height)


def data_uri(image: Image) -> str:
    """A picture inside the page: PNG if it is tiny, else reduced and as WebP."""
    shown = Pil.fromarray(image[..., 0] if image.shape[-1] == 1 else image)
    kind = "png"
    how: dict[str, Any] = {"optimize": True}
    if max(shown.size) > TINY:
        shown.thumbnail((SIDE, SIDE), Pil.Resampling.LANCZOS)
        if features.check("webp"):
            kind, how = "webp", {"quality": 80, "method": 4}
    file = BytesIO()
    shown.save(file, kind, **how)
    return f"data:image/{kind};base64,{base64.b64encode(file.getvalue()).decode()}"
