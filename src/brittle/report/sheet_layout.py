"""Where things stand on a contact sheet: lengths, and how rows are shared out among columns."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

ASPECT = 1.5
"""The width over the height that a sheet comes as near to as it can."""


@dataclass(frozen=True)
class Lengths:
    """All lengths of a sheet in pixels; type and gaps grow with the thumbnails."""

    thumb: int
    label: int
    cells: int

    def px(self, points: float) -> int:
        """A length drawn for thumbnails of 112 px, at the size of these."""
        return round(points * max(self.thumb / 112, 0.7))

    @property
    def margin(self) -> int:
        return self.px(30)

    @property
    def gap(self) -> int:
        return self.px(6)

    @property
    def row(self) -> int:
        return self.thumb + self.gap

    @property
    def heading(self) -> int:
        return self.px(34)

    @property
    def gutter(self) -> int:
        return self.px(44)

    @property
    def top(self) -> int:
        return self.margin + self.px(60)

    @property
    def column(self) -> int:
        return self.cell_x(self.cells - 1) + self.thumb

    def cell_x(self, index: int) -> int:
        """The left edge of a cell in its column; the clean picture, cell 0, stands a little apart."""
        return self.label + index * self.row + (self.px(8) if index else 0)

    def height(self, families: Sequence[str]) -> int:
        """How high a column of rows with these families is."""
        headings = sum(i == 0 or family != families[i - 1] for i, family in enumerate(families))
        return headings * self.heading + len(families) * self.row

    def size(self, columns: Sequence[Sequence[str]]) -> tuple[int, int]:
        """The width and height of the whole sheet."""
        width = 2 * self.margin + len(columns) * self.column + (len(columns) - 1) * self.gutter
        return width, self.top + max(map(self.height, columns)) + self.margin


def share_out(families: Sequence[str], lengths: Lengths) -> list[int]:
    """How many rows each column takes, with as many columns as bring the sheet nearest to its aspect."""
    best: list[int] = []
    least = math.inf
    for count in range(1, len(families) + 1):
        taken = _balanced(families, count, lengths)
        width, height = lengths.size(cut(families, taken))
        off = abs(math.log(width / height / ASPECT))
        if off < least:
            best, least = taken, off
    return best


def cut(families: Sequence[str], taken: Sequence[int]) -> list[Sequence[str]]:
    """The rows of each column."""
    starts = [sum(taken[:i]) for i in range(len(taken))]
    return [families[start : start + count] for start, count in zip(starts, taken, strict=True)]


def _balanced(families: Sequence[str], count: int, lengths: Lengths) -> list[int]:
    """Fill at most `count` columns in order so that the highest is as low as can be."""
    low, high = lengths.row + lengths.heading, lengths.height(families)
    while low < high:
        middle = (low + high) // 2
        if len(_filled(families, middle, lengths)) <= count:
            high = middle
        else:
            low = middle + 1
    return _filled(families, low, lengths)


def _filled(families: Sequence[str], limit: int, lengths: Lengths) -> list[int]:
    taken, height = [0], 0
    for number, family in enumerate(families):
        step = lengths.row if number and family == families[number - 1] else lengths.row + lengths.heading
        if height + step > limit:
            taken.append(0)
            height, step = 0, lengths.row + lengths.heading
        taken[-1] += 1
        height += step
    return taken
