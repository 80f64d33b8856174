"""One grid of pictures: rows with names, columns with headings, in as many blocks side by side as suit a screen."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import cv2
import numpy as np
from PIL import Image as Pil
from PIL import ImageDraw, ImageFont

from brittle._errors import BrittleError
from brittle._types import Image

INK, GREY, LINE, EMPTY, RIGHT, WRONG = "#1f2328", "#767c85", "#e4e7eb", "#f4f5f7", "#1a7f37", "#c2410c"
ASPECT = 1.5
"""The width over the height that a grid comes as near to as it can."""

Font = ImageFont.FreeTypeFont | ImageFont.ImageFont


@dataclass(frozen=True)
class Tile:
    """A picture, or an empty place; lines below it with their colours, and a bar that is filled so far."""

    image: Image | None
    captions: Sequence[tuple[str, str]] = ()
    meter: tuple[float, str] | None = None


@dataclass(frozen=True)
class Row:
    """Tiles with a name and a grey note; rows of one group stand together under its title, beside its colour."""

    name: str
    tiles: Sequence[Tile | None]
    note: str = ""
    group: str = ""
    group_note: str = ""
    colour: str = INK


@dataclass(frozen=True)
class Column:
    """The heading of a column, a shorter one where that is too wide, a line below, a colour, and a space before."""

    heading: str
    short: str = ""
    note: str = ""
    colour: str = ""
    apart: bool = False


def picture_grid(
    title: str, rows: Sequence[Row], columns: Sequence[Column], *, notes: Sequence[str] = (), thumb: int = 112
) -> Pil.Image:
    """Rows of pictures below a title and lines of notes; type and gaps grow with the pictures, `thumb` px wide."""
    if not rows:
        raise BrittleError("a sheet of pictures needs at least one row")
    layout = _Layout(title, rows, columns, notes, thumb)
    canvas = Pil.new("RGB", layout.size, "white")
    draw = ImageDraw.Draw(canvas)
    px, fonts, left = layout.px, layout.fonts, layout.margin
    draw.text((left, left + px(14)), title, INK, fonts[20], anchor="ls")
    for line, note in enumerate(notes, start=1):
        draw.text((left, left + px(16 + 18 * line)), note, GREY, fonts[12], anchor="ls")
    start = 0
    for block, taken in enumerate(layout.blocks):
        x, y = left + block * (layout.block + px(44)), layout.top
        _headings(draw, layout, columns, x, y)
        for place in range(start, start + taken):
            row, first = rows[place], place == start or rows[place].group != rows[place - 1].group
            if layout.grouped and first:
                y += layout.heading
                _group_title(draw, layout, row, x, y)
            _row(canvas, draw, layout, row, x, y, joined=not first)
            y += layout.row
        start += taken
    return canvas


class _Layout:
    """All lengths of a grid in pixels."""

    def __init__(
        self, title: str, rows: Sequence[Row], columns: Sequence[Column], notes: Sequence[str], thumb: int
    ) -> None:
        self.thumb, self.rows = thumb, rows
        self.fonts: dict[int, Font] = {size: ImageFont.load_default(max(9, self.px(size))) for size in (11, 12, 14, 20)}
        self.grouped = any(row.group for row in rows)
        tiles = [tile for row in rows for tile in row.tiles if tile is not None]
        lines, metered = max(len(tile.captions) for tile in tiles), any(tile.meter for tile in tiles)
        self.below = lines * self.px(15) + metered * self.px(9) + (self.px(11) if lines else 0)
        self.gap, self.margin = self.px(6), self.px(28)
        self.row = thumb + self.below + self.gap
        self.heading = self.px(34)
        self.head = self.px(20 + 18 * any(column.note for column in columns))
        names = [self.wide(row.name, 14) for row in rows] + [self.wide(row.note, 11) for row in rows]
        self.label = math.ceil(max(names)) + self.px(26 if self.grouped else 16)
        self.cells = [self._cell(column) for column in columns]
        self.places = []
        x = self.label
        for place, (column, cell) in enumerate(zip(columns, self.cells, strict=True)):
            x += self.px(14) if column.apart and place else 0
            self.places.append(x)
            x += cell + self.gap
        self.block = x - self.gap
        self.top = self.margin + self.px(24 + 18 * len(notes)) + self.head + self.px(8)
        words = [self.wide(title, 20), *(self.wide(note, 12) for note in notes)]
        self.least = math.ceil(max(words)) + 2 * self.margin

    def px(self, points: float) -> int:
        """A length drawn for thumbnails of 112 px, at the size of these."""
        return round(points * max(self.thumb / 112, 0.7))

    def wide(self, text: str, size: int) -> float:
        """How wide a text is."""
        return float(self.fonts[size].getlength(text))

    def _cell(self, column: Column) -> int:
        if column.short or not (column.note or column.heading):
            return self.thumb
        wide = max(self.wide(column.heading, 12) + (self.px(15) if column.colour else 0), self.wide(column.note, 12))
        return max(self.thumb, min(math.ceil(wide), round(1.3 * self.thumb)))

    @cached_property
    def blocks(self) -> list[int]:
        """How many rows each block takes, with as many blocks as bring the grid nearest to its aspect."""
        tries = [self._balanced(count) for count in range(1, len(self.rows) + 1)]
        return min(tries, key=lambda taken: abs(math.log(self._size(taken)[0] / self._size(taken)[1] / ASPECT)))

    @property
    def size(self) -> tuple[int, int]:
        """Width and height of the grid."""
        width, height = self._size(self.blocks)
        return max(width, self.least), height

    def _size(self, taken: Sequence[int]) -> tuple[int, int]:
        starts = [sum(taken[:i]) for i in range(len(taken))]
        heights = [self._height(self.rows[start : start + count]) for start, count in zip(starts, taken, strict=True)]
        width = 2 * self.margin + len(taken) * (self.block + self.px(44)) - self.px(44)
        return width, self.top + max(heights) + self.margin - self.gap

    def _height(self, rows: Sequence[Row]) -> int:
        titles = sum(i == 0 or row.group != rows[i - 1].group for i, row in enumerate(rows)) if self.grouped else 0
        return titles * self.heading + len(rows) * self.row

    def _balanced(self, count: int) -> list[int]:
        """At most `count` blocks, filled in order so that the highest is as low as can be."""
        low, high = self.row, self._height(self.rows)
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if len(self._filled(middle)) <= count else (middle + 1, high)
        return self._filled(low)

    def _filled(self, limit: int) -> list[int]:
        taken, height = [0], 0
        for place, row in enumerate(self.rows):
            title = self.heading if self.grouped else 0
            same = bool(taken[-1]) and row.group == self.rows[place - 1].group
            step = self.row + (0 if same else title)
            if taken[-1] and height + step > limit:
                taken.append(0)
                height, step = 0, self.row + title
            taken[-1] += 1
            height += step
        return taken


def _headings(draw: ImageDraw.ImageDraw, layout: _Layout, columns: Sequence[Column], x: int, y: int) -> None:
    px, font = layout.px, layout.fonts[12]
    for column, place, cell in zip(columns, layout.places, layout.cells, strict=True):
        text = column.heading if not column.short or layout.wide(column.heading, 12) <= cell else column.short
        left, base = x + place, y - px(7 + 17 * any(one.note for one in columns))
        if column.colour:
            draw.rounded_rectangle((left, base - px(9), left + px(9), base), 2, column.colour)
            left += px(15)
        draw.text(
            (left, base), shorten(text, font, x + place + cell - left), INK if column.colour else GREY, font, "ls"
        )
        if column.note:
            draw.text((x + place, y - px(7)), shorten(column.note, font, cell), GREY, font, "ls")


def _group_title(draw: ImageDraw.ImageDraw, layout: _Layout, row: Row, x: int, y: int) -> None:
    px, font, middle, end = layout.px, layout.fonts[11], y - layout.px(15), float(x)
    for letter in row.group.upper():
        draw.text((end, middle), letter, row.colour, font, anchor="lm")
        end += layout.wide(letter, 11) + px(1.5)
    if row.group_note:
        draw.text((end + px(4), middle), row.group_note, GREY, font, anchor="lm")
        end += px(4) + layout.wide(row.group_note, 11)
    draw.line((max(end + px(8), x + layout.label), middle, x + layout.block - 1, middle), LINE, max(1, px(1)))


def _row(
    canvas: Pil.Image, draw: ImageDraw.ImageDraw, layout: _Layout, row: Row, x: int, y: int, *, joined: bool
) -> None:
    px, thumb, fonts, left = layout.px, layout.thumb, layout.fonts, x
    if layout.grouped:
        draw.rectangle((x, y - (layout.gap if joined else 0), x + px(3) - 1, y + thumb - 1), row.colour)
        left += px(10)
    draw.text((left, y + thumb / 2 - (px(8) if row.note else 0)), row.name, INK, fonts[14], anchor="lm")
    draw.text((left, y + thumb / 2 + px(10)), row.note, GREY, fonts[11], anchor="lm")
    mask = _rounded(thumb, px(4))
    for tile, place, cell in zip(row.tiles, layout.places, layout.cells, strict=False):
        if tile is None:
            continue
        corner, below = (x + place, y), y + thumb + px(5)
        if tile.image is None:
            canvas.paste(EMPTY, (*corner, corner[0] + thumb, y + thumb), mask)
        else:
            canvas.paste(Pil.fromarray(resized(tile.image, thumb)), corner, mask)
        if tile.meter is not None:
            share, colour = tile.meter
            draw.rounded_rectangle((corner[0], below, corner[0] + thumb - 1, below + 3), 2, LINE)
            draw.rounded_rectangle(
                (corner[0], below, corner[0] + max(4, round(share * thumb)) - 1, below + 3), 2, colour
            )
            below += px(8)
        for line, (text, colour) in enumerate(tile.captions):
            draw.text((corner[0], below + line * px(15)), shorten(text, fonts[12], cell), colour, fonts[12])


def _rounded(side: int, radius: int) -> Pil.Image:
    """A mask with round corners."""
    fine = Pil.new("L", (4 * side, 4 * side), 0)
    ImageDraw.Draw(fine).rounded_rectangle((0, 0, 4 * side - 1, 4 * side - 1), 4 * radius, 255)
    return fine.resize((side, side), Pil.Resampling.BOX)


def resized(image: Image, side: int) -> Image:
    """Reduced by averaging, or enlarged so that each pixel stays a square."""
    times = -(-side // len(image))
    if times > 1:
        image = image.repeat(times, axis=0).repeat(times, axis=1)
    return np.asarray(cv2.resize(image, (side, side), interpolation=cv2.INTER_AREA), np.uint8)


def shorten(text: str, font: Font, wide: float) -> str:
    """As much of a text as fits; a percentage at its end is kept."""
    if font.getlength(text) <= wide:
        return text
    head, _, tail = text.removesuffix(" %").rpartition(" ") if text.endswith(" %") else (text, "", "")
    tail = f"… {tail} %" if tail else "…"
    while head and font.getlength(f"{head}{tail}") > wide:
        head = head[:-1]
    return f"{head}{tail}"
