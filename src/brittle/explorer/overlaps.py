"""Overlap matrices to play with: the largest non-overlapping set at every threshold, computed once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import Lock, Thread

import numpy as np

from brittle._errors import BrittleError
from brittle._io import toml_text
from brittle._types import Image
from brittle.benchmarks import Benchmark, Level, ends
from brittle.design import (
    NonOverlapping,
    OverlapMatrix,
    benchmark_of,
    coverage,
    load_overlap,
    non_overlapping,
    published_overlap,
)

PUBLISHED = {
    "noc-table7": "ImageNet-C, from the published table 7 of NOC",
    "noc-table8": "ImageNet-NOC, from the published table 8 of NOC",
}
OVERLAP_FILE = "overlap.parquet"
"""A folder with this file holds a matrix of `brittle design overlap`."""

STEPS = 100
"""Thresholds go from 0 to 1 in so many steps."""

SMALL = 60
"""Up to so many corruptions all steps take less than a second together."""

COVERED = 0.3
"""NOC counts a corruption as covered if it overlaps by more than this with a member."""


@dataclass(frozen=True)
class OverlapStep:
    """The largest set at one threshold: its members and what they cover, as rows of the matrix, and how many sets."""

    threshold: float
    members: tuple[int, ...]
    covered: tuple[int, ...]
    mean: float
    count: int
    counted: bool


@dataclass(eq=False)
class BrowsedOverlap:
    """A matrix with a title, in the order that puts like beside like."""

    key: str
    title: str
    overlap: OverlapMatrix

    def __post_init__(self) -> None:
        self.overlap = self.overlap.subset(self.overlap.ordered())
        self._sets: dict[int, NonOverlapping] = {}
        self._computing = False
        self._lock = Lock()

    @property
    def names(self) -> tuple[str, ...]:
        """The corruptions in the order of the heat map."""
        return self.overlap.names

    @cached_property
    def short_names(self) -> list[str]:
        """The names without their sets, where they are unique."""
        plain = [name.rpartition("/")[2] for name in self.names]
        return [short if plain.count(short) == 1 else name for short, name in zip(plain, self.names, strict=True)]

    @property
    def most_alike(self) -> tuple[int, int]:
        """The two corruptions that overlap most."""
        if len(self.names) < 2:
            return 0, 0
        pairs = np.triu(np.nan_to_num(self.overlap.scores, nan=-np.inf), 1)
        pairs[np.tril_indices(len(pairs))] = -np.inf
        row, column = divmod(int(pairs.argmax()), len(self.names))
        return (row, column) if row < column else (0, 1)

    def step(self, number: int) -> OverlapStep:
        """The largest set at one of the thresholds; computed once, also for all that the same pairs are under."""
        if not 0 <= number <= STEPS:
            raise BrittleError(f"thresholds are numbered from 0 to {STEPS}, got {number}")
        threshold = number / STEPS
        under = self._under(threshold)
        if under not in self._sets:
            self._sets[under] = non_overlapping(self.overlap, threshold, limit=1)
        return self._step(threshold, self._sets[under])

    def steps(self) -> list[OverlapStep | None]:
        """All steps; of a large matrix those that are known, since dense ones take seconds each."""
        if len(self.names) > SMALL:
            self.compute()
        return [
            self.step(number) if len(self.names) <= SMALL or self._under(number / STEPS) in self._sets else None
            for number in range(STEPS + 1)
        ]

    def _under(self, threshold: float) -> int:
        """How many entries are under a threshold; the same number is the same graph."""
        return int((self.overlap.scores < threshold).sum())

    def compute(self) -> None:
        """Begin to compute all steps in the background, the low thresholds first."""
        with self._lock:
            if self._computing:
                return
            self._computing = True
        Thread(target=lambda: [self.step(i) for i in range(STEPS + 1)], name="brittle-sweep", daemon=True).start()

    def _step(self, threshold: float, chosen: NonOverlapping) -> OverlapStep:
        covering = coverage(self.overlap, chosen.members, of=self.names, threshold=COVERED)
        place = {name: i for i, name in enumerate(self.names)}
        return OverlapStep(
            threshold,
            tuple(place[name] for name in chosen.members),
            tuple(place[name] for name in covering.covered),
            chosen.mean_overlap,
            chosen.count,
            chosen.counted,
        )

    @property
    def has_recipe(self) -> bool:
        """Whether the levels of the corruptions are known, so that a set of them is a recipe."""
        return self.overlap.candidates is not None

    def recipe(self, number: int) -> Benchmark:
        """The recipe of the largest set at one of the thresholds."""
        step = self.step(number)
        return benchmark_of(
            [self.names[place] for place in step.members],
            self.overlap,
            name=f"non-overlapping-{step.threshold:g}",
            title=f"{len(step.members)} corruptions that overlap by less than {step.threshold:g}: {self.title}",
        )

    def recipe_text(self, number: int) -> str:
        """The same as a TOML file."""
        return toml_text(self.recipe(number).to_dict())

    def level(self, number: int) -> Level | None:
        """The strongest level of a corruption among the candidates, a range as it is; None if it is unknown."""
        if self.overlap.candidates is None:
            return None
        return max(self.overlap.candidates.entry(self.names[number]).levels, key=ends)

    def draw(self, number: int, photograph: Image) -> Image:
        """A photograph under one of the corruptions, at its strongest level, of a range the middle."""
        recipe, level = self.overlap.candidates, self.level(number)
        if recipe is None or level is None:
            raise BrittleError("the levels of these corruptions are unknown, so there is nothing to draw")
        drawn: Image = recipe.apply(photograph, self.names[number], sum(ends(level)) / 2, "photograph")
        return drawn


def load_overlaps(folders: Sequence[Path]) -> list[BrowsedOverlap]:
    """The matrices in these folders, and then the published ones."""
    given = [
        BrowsedOverlap(f"m{number}", folder.resolve().name, load_overlap(folder))
        for number, folder in enumerate(folders)
        if (folder / OVERLAP_FILE).is_file()
    ]
    return [*given, *(BrowsedOverlap(name, title, published_overlap(name)) for name, title in PUBLISHED.items())]
