"""A cell is a unit of work: one corruption at one level over one dataset, drawn batch by batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from brittle._identity import digest
from brittle._io import file_name
from brittle._types import Image
from brittle.benchmarks import Benchmark, Entry, Level, ends, level_name

CLEAN = "clean"


@dataclass(frozen=True)
class Cell:
    """A corruption and its level; without a corruption it is the clean data.

    The key names all that changes its pixels: seed, table, storage and options, and the code of a corruption that does
    not come with brittle. Equal cells of different recipes are
    computed once.
    """

    corruption: str = CLEAN
    level: Level = 0.0
    key: str = ""

    @property
    def is_clean(self) -> bool:
        """Whether the images are shown as they are."""
        return self.corruption == CLEAN

    @property
    def file_name(self) -> str:
        """A name for the file of this cell, such as imagenet-c.fog@3.5-1f2e3d4c."""
        if self.is_clean:
            return CLEAN
        level = level_name(self.level)
        return f"{file_name(self.corruption)}@{level if len(level) <= 50 else file_name(level)}-{self.key}"

    @property
    def title(self) -> str:
        """What people read: fog 3.5."""
        return CLEAN if self.is_clean else f"{self.corruption.rpartition('/')[2]} {level_name(self.level)}"

    def of(self, data: str) -> str:
        """What its images are called in a sentence: fog 3.5 of 'photos'."""
        return f"{'the clean images' if self.is_clean else self.title} of {data!r}"

    @property
    def severity(self) -> float:
        """Where the cell stands on the severity axis; the middle of a range that is drawn from."""
        return sum(ends(self.level)) / 2


def plan(benchmark: Benchmark | None) -> list[Cell]:
    """The clean data first, then every (corruption, level) of the recipe, if there is one."""
    if benchmark is None:
        return [Cell()]
    drawn = ((entry, level) for entry in benchmark.entries for level in entry.levels)
    return [Cell(), *(Cell(entry.id, level, cell_key(benchmark, entry, level)) for entry, level in drawn)]


def cell_key(benchmark: Benchmark, entry: Entry, level: Level) -> str:
    """What the recipe says about one cell, and the code of a corruption of somebody's own."""
    recipe = replace(benchmark, version=1, entries=(replace(entry, levels=(level,)),)).hash
    code = entry.corruption.code
    return digest({"recipe": recipe, "code": code}, length=8) if code else recipe[:8]


@dataclass(frozen=True, eq=False)
class Drawn:
    """Clean images, and the recipe that corrupts them when they are asked for."""

    images: Image
    ids: Sequence[str | int]
    benchmark: Benchmark | None

    def __len__(self) -> int:
        return len(self.images)

    def batch(self, cell: Cell, start: int, size: int) -> Image:
        """The images of a cell from `start` on, at most `size` of them; what they hold does not depend on the size."""
        part = slice(start, start + size)
        clean = np.array(self.images[part])
        if cell.is_clean or self.benchmark is None:
            return clean
        corrupted: Image = self.benchmark.apply(clean, cell.corruption, cell.level, self.ids[part])
        return corrupted
