"""The pictures of a run, drawn again from its clean images, small enough for the page."""

from __future__ import annotations

import base64
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image as Pil
from PIL import features

from brittle._io import is_whole
from brittle.arrays import Image
from brittle.benchmarks import Benchmark, Level, severity_of
from brittle.evaluation.decode import IMAGES, READ, decoded_ids
from brittle.report.page.markup import Html, tag
from brittle.report.page.numbers import severity
from brittle.report.page.parts import Part

TINY = 64
"""Pictures up to this side are kept pixel by pixel."""

SIDE = 144
"""Larger ones are reduced to this side."""


class Pictures:
    """The clean images of a run by their sample ids, and what its recipe makes of them."""

    def __init__(self, run: dict[str, Any], benchmark: Benchmark) -> None:
        self.benchmark = benchmark
        self.images = np.load(Path(run["folder"]) / IMAGES, mmap_mode="r")
        self.ids = decoded_ids(Path(run["folder"]))
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
        there = part.has_clean and all(is_whole(Path(run["folder"]) / name) for name in (IMAGES, READ))
        if there and part.benchmark is not None and part.benchmark.hash in run["recipes"].values():
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
