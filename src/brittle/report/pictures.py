"""Pictures on the page: what a model saw, and what it took it for."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import numpy as np
from PIL import Image as Pil
from PIL import features

from brittle._types import Image
from brittle.benchmarks import Benchmark, Level, severity_of
from brittle.evaluation import decoded_ids, decoded_images
from brittle.evaluation.diagnosis import EarliestFailure, FailureStep, severity_columns, typical_failure
from brittle.report.data import Measure, Part
from brittle.report.theme import severity, short_name

TINY = 64
"""Pictures up to this side are kept pixel by pixel."""

SIDE = 144
"""Larger ones are reduced to this side."""


@dataclass(frozen=True)
class Picture:
    """An image inside the page, with a sentence for those who cannot see it."""

    image: Image
    alt: str

    @property
    def tiny(self) -> bool:
        """Whether it is enlarged pixel by pixel."""
        return max(self.size) <= TINY

    @property
    def size(self) -> tuple[int, int]:
        """Width and height."""
        return int(self.image.shape[1]), int(self.image.shape[0])

    @property
    def uri(self) -> str:
        """The data: PNG if it is tiny, else reduced and as WebP."""
        shown = Pil.fromarray(self.image[..., 0] if self.image.shape[-1] == 1 else self.image)
        kind, how = "png", dict[str, Any](optimize=True)
        if not self.tiny:
            shown.thumbnail((SIDE, SIDE), Pil.Resampling.LANCZOS)
            if features.check("webp"):
                kind, how = "webp", {"quality": 80, "method": 4}
        file = BytesIO()
        shown.save(file, kind, **how)
        return f"data:image/{kind};base64,{base64.b64encode(file.getvalue()).decode()}"


@dataclass(frozen=True)
class Shot:
    """A picture of a strip: where it is on its axis, and what the model takes it for."""

    picture: Picture
    place: str
    prediction: str
    confidence: float
    right: bool


@dataclass(frozen=True)
class FailurePair:
    """An image that is right when clean, and the same one where it is wrong for the first time."""

    clean: Picture
    corrupted: Picture
    truth: str
    wrong: str
    failure: EarliestFailure
    severity: str


@dataclass(frozen=True)
class Strip:
    """One image along an axis: a title, what it shows, and its pictures."""

    title: str
    note: str
    shots: Sequence[Shot]


class Pictures:
    """The clean images of a run by their sample ids, and what its recipe makes of them."""

    def __init__(self, images: Image, ids: Sequence[str | int], benchmark: Benchmark) -> None:
        self.benchmark, self.images, self.ids = benchmark, images, ids
        self.place = {str(sample): i for i, sample in enumerate(self.ids)}

    def clean(self, sample: str) -> Image:
        """The image as it is."""
        return np.array(self.images[self.place[sample]])

    def drawable(self, corruption: str) -> bool:
        """Whether the code of a corruption is loaded; that of a user may not be."""
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

    def pair(self, part: Part, failure: EarliestFailure) -> FailurePair:
        """The two pictures of a failure."""
        level = self.severity(failure.sample, failure.corruption, failure.level)
        truth, wrong = part.class_name(failure.label), part.class_name(failure.wrong)
        clean = Picture(self.clean(failure.sample), f"clean image of {truth}")
        image = self.corrupted(failure.sample, failure.corruption, failure.level)
        corrupted = Picture(image, f"the same image under {short_name(failure.corruption)} {level}")
        return FailurePair(clean, corrupted, truth, wrong, failure, level)

    def _identity(self, sample: str) -> str | int:
        """Rows hold ids as text, though numbers address other draws than text."""
        return self.ids[self.place[sample]]


def run_pictures(part: Part) -> Pictures | None:
    """The pictures of the first run that holds the recipe and its images."""
    for run in part.results.runs:
        images = decoded_images(run.folder) if part.has_clean else None
        if images is not None and part.benchmark is not None and part.benchmark.hash in run.recipes:
            return Pictures(images, decoded_ids(run.folder), part.benchmark)
    return None


FRAMES = 7
"""Longer ladders leave out some of their steps."""


def failure_strip(part: Part, measure: Measure) -> Strip | None:
    """One image along the severities of the worst corruption that has more than one, if there are pictures."""
    album = run_pictures(part)
    if album is None or part.benchmark is None:
        return None
    ladders = {columns.entry.id: columns.ladder for columns in severity_columns(part.benchmark)}
    for corruption in measure.worst():
        levels = ladders[corruption]
        chosen = (
            typical_failure(part.results, measure.model, corruption, levels)
            if levels and album.drawable(corruption)
            else None
        )
        if chosen is not None:
            break
    else:
        return None
    sample, label, frames = chosen
    truth, name, shots = part.class_name(label), short_name(corruption), []
    for level, prediction, confidence, right in _thinned(frames):
        image = album.corrupted(sample, corruption, level) if level else album.clean(sample)
        place = f"severity {severity(level)}" if level else "clean"
        picture = Picture(image, f"{truth}, {name}, {place}")
        shots.append(Shot(picture, place, part.class_name(prediction), confidence, right))
    note = f"one image of class {truth} under {name}, its prediction and confidence at each step"
    return Strip(f"How {measure.model} fails", note, shots)


def _thinned(frames: list[FailureStep]) -> list[FailureStep]:
    """All frames, or evenly some of them, the first, the last and the first wrong one always."""
    if len(frames) <= FRAMES:
        return frames
    wrong = next(i for i, frame in enumerate(frames) if not frame[3])
    keep = {wrong} | {round(i * (len(frames) - 1) / (FRAMES - 2)) for i in range(FRAMES - 1)}
    return [frame for i, frame in enumerate(frames) if i in keep]
