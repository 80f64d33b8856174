"""Sheets of pictures."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import cv2
import numpy as np
from PIL import Image as Pil
from PIL import ImageDraw, ImageFont

from brittle._errors import BrittleError
from brittle._types import Image
from brittle.benchmarks import Entry, Level, ends, level_name, severity_of
from brittle.corruptions import Corruption, corrupt, get_corruption
from brittle.datasets import UnreadableImage
from brittle.datasets.dataset import Dataset
from brittle.datasets.images import square
from brittle.plots import FAMILY_COLOURS


def rounded(side: int, radius: int) -> Pil.Image:
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


INK, GREY, LINE, EMPTY = "#1f2328", "#767c85", "#e4e7eb", "#f4f5f7"


def contact_sheet(
    image: Image,
    corruptions: Sequence[str | Corruption | Entry],
    severities: Sequence[float] | None = None,
    *,
    seed: int = 0,
    size: int = 224,
    thumb: int = 112,
    table: int | None = None,
    headings: Sequence[str] | None = None,
    samples: Sequence[int] | None = None,
    progress: Callable[[], None] | None = None,
) -> Pil.Image:
    """Corruptions as rows, severities as columns, the clean picture first; many rows stand in several columns.

    Args:
        image: the photograph, H×W×3; its central square is used.
        corruptions: names, or entries of a benchmark, whose levels and options are then used.
        severities: the same for all rows; a corruption that does not reach one of them leaves an empty place.
            By default an entry is shown at its own levels and a name at five even steps up to its largest severity.
        seed: the benchmark's seed; each picture is `corrupt(photograph, …, seed=seed)`.
        size: the side in pixels at which pictures are corrupted.
        thumb: the side in pixels at which they are shown; a larger one shows each pixel as a square.
        table: the published table to use whatever the size, as in `corrupt`.
        headings: over the columns, instead of their severities.
        samples: a sample id for each row, instead of 0, for other draws.
        progress: called after each picture.
    """
    if not corruptions or (severities is not None and not severities):
        raise BrittleError("a contact sheet needs at least one corruption and one severity")
    for name, side in (("size", size), ("thumb", thumb)):
        if side < 8:
            raise BrittleError(f"{name} must be at least 8 px, got {side}")
    rows = [
        c if isinstance(c, Entry) else Entry(get_corruption(c).id, _even_steps(get_corruption(c))) for c in corruptions
    ]
    levels = [tuple(severities) if severities is not None else row.levels for row in rows]
    clean = square(image, size)

    def cell(row: Entry, level: Level, sample: int) -> Image | None:
        if ends(level)[1] > row.corruption.max_severity:
            return None
        severity = severity_of(level, seed, row.corruption, sample)
        picture = corrupt(clean, row.corruption, severity, seed=seed, sample=sample, table=table, **row.options)
        if progress is not None:
            progress()
        return resized(picture, thumb)

    sheet = _Sheet(rows, levels, thumb, headings)
    sheet.title(f"{size} px  ·  seed {seed}")
    for row, own, place, sample in zip(rows, levels, sheet.places, samples or [0] * len(rows), strict=True):
        sheet.label(row.corruption, own, place)
        sheet.picture(resized(clean, thumb), place, 0)
        for index, level in enumerate(own, start=1):
            sheet.picture(cell(row, level, sample), place, index)
    return sheet.canvas


def _even_steps(corruption: Corruption) -> tuple[float, ...]:
    return tuple(corruption.max_severity * step / 5 for step in range(1, 6))


class _Sheet:
    """The canvas, and the places of the rows on it."""

    def __init__(
        self, rows: Sequence[Entry], levels: Sequence[tuple[Level, ...]], thumb: int, headings: Sequence[str] | None
    ) -> None:
        self.headings = headings
        self.most = max(map(len, levels))
        draft = Lengths(thumb, 0, 1 + self.most)
        self.fonts = {size: ImageFont.load_default(max(9, draft.px(size))) for size in (11, 12, 14, 20)}
        self.shared = levels[0] if len(set(levels)) == 1 else None
        label = max(self.fonts[14].getlength(row.corruption.name) for row in rows)
        if self.shared is None:
            label = max(label, *(self.fonts[11].getlength(_listed(own)) for own in levels))
        at = self.at = Lengths(thumb, max(round(label) + draft.px(26), draft.px(96)), 1 + self.most)
        self.sources = list(dict.fromkeys(row.corruption.source for row in rows))
        self.count = len(rows)
        groups = [f"{row.corruption.family} {row.corruption.source}" for row in rows]
        taken = share_out(groups, at)
        self.columns = [at.margin + i * (at.column + at.gutter) for i in range(len(taken))]
        self.places: list[tuple[int, int, bool]] = []  # left, top, and whether a heading stands above
        for column, (x, count) in enumerate(zip(self.columns, taken, strict=True)):
            y, start = at.top, sum(taken[:column])
            for row_number in range(start, start + count):
                first = row_number == start or groups[row_number] != groups[row_number - 1]
                y += at.heading if first else 0
                self.places.append((x, y, first))
                y += at.row
        self.canvas = Pil.new("RGB", at.size(cut(groups, taken)), "white")
        self.draw = ImageDraw.Draw(self.canvas)
        self.mask = rounded(thumb, at.px(4))

    def title(self, how: str) -> None:
        at, right = self.at, self.columns[-1] + self.at.column
        words = f"{self.count} corruptions" if self.count > 1 else "1 corruption"
        words += f",  {self.most} severities" if self.most > 1 and self.headings is None else ""
        baseline = at.margin + at.px(16)
        self.draw.text((at.margin, baseline), words, INK, self.fonts[20], anchor="ls")
        note = f"{self.sources[0]}  ·  {how}" if len(self.sources) == 1 else how
        start = at.margin + self.fonts[20].getlength(words) + at.px(24)
        if start + self.fonts[12].getlength(note) <= right:
            self.draw.text((right, baseline), note, GREY, self.fonts[12], anchor="rs")
        for x in self.columns:
            for index in range(1 + self.most):
                middle = x + at.cell_x(index) + at.thumb / 2
                number = "" if index == 0 else level_name(self.shared[index - 1]) if self.shared else str(index)
                text = f"{'severity' if self.shared else 'level'} {number}" if index else "clean"
                if index and self.headings is not None:
                    text = number = self.headings[index - 1]
                if self.fonts[12].getlength(text) > at.thumb:
                    text = number
                self.draw.text((middle, at.top), text, GREY, self.fonts[12], anchor="ms")

    def label(self, corruption: Corruption, levels: tuple[Level, ...], place: tuple[int, int, bool]) -> None:
        at, (x, y, first) = self.at, place
        colour = FAMILY_COLOURS.get(corruption.family, INK)
        if first:
            middle = y - at.px(15)
            end = self._spaced((x, middle), corruption.family.upper(), colour)
            if len(self.sources) > 1:
                self.draw.text((end + at.px(4), middle), corruption.source, GREY, self.fonts[11], anchor="lm")
                end += at.px(4) + self.fonts[11].getlength(corruption.source)
            line = max(end + at.px(8), x + at.label)
            self.draw.line((line, middle, x + at.column - 1, middle), LINE, max(1, at.px(1)))
        above = 0 if first else at.gap  # one bar for a family, not one for each row
        self.draw.rectangle((x, y - above, x + at.px(3) - 1, y + at.thumb - 1), colour)
        left, centre = x + at.px(10), y + at.thumb / 2
        if self.shared is None:  # the heading cannot say it for all
            self.draw.text((left, centre + at.px(16)), _listed(levels), GREY, self.fonts[11], anchor="lm")
        self.draw.text((left, centre), corruption.name, INK, self.fonts[14], anchor="lm")

    def _spaced(self, start: tuple[float, float], text: str, colour: str) -> float:
        x, y = start
        for letter in text:
            self.draw.text((x, y), letter, colour, self.fonts[11], anchor="lm")
            x += self.fonts[11].getlength(letter) + self.at.px(1.5)
        return x

    def picture(self, thumbnail: Image | None, place: tuple[int, int, bool], index: int) -> None:
        corner = (place[0] + self.at.cell_x(index), place[1])
        if thumbnail is None:
            self.canvas.paste(EMPTY, (*corner, corner[0] + self.at.thumb, corner[1] + self.at.thumb), self.mask)
        else:
            self.canvas.paste(Pil.fromarray(thumbnail), corner, self.mask)


def _listed(levels: tuple[Level, ...]) -> str:
    return "  ".join(map(level_name, levels))


SLIDE_INK, SLIDE_GREY, SLIDE_EMPTY, RIGHT, WRONG = "#1f2328", "#767c85", "#f4f5f7", "#1f6f43", "#a8321b"
GAP, MARGIN, HEAD, BELOW = 8, 20, 34, 20
LABEL = 190
"""The least width of the names on the left."""


def slide_sheet(
    dataset: Dataset,
    *,
    seed: int | None = None,
    most: int = 12,
    thumb: int = 112,
    said: Mapping[str, tuple[str, bool]] | None = None,
) -> Pil.Image:
    """One trajectory of each class in each shift, of a dataset that `cns_bench` read.

    Args:
        seed: of the trajectories; by default the first of each that has the most scales.
        most: rows; further ones are left out.
        thumb: the side of pictures in pixels.
        said: by sample what to write below a picture, and whether that is right: a model's predictions.
    """
    places: dict[tuple[str, str, int], dict[float, int]] = {}
    for i, sample in enumerate(map(str, dataset.ids)):
        number = int(dataset.columns["seed"][i])
        if seed in (None, number):
            key = (str(dataset.columns["shift"][i]), sample.split("/")[-2], number)
            places.setdefault(key, {})[float(dataset.columns["scale"][i])] = i
    if not places:
        raise BrittleError(f"{dataset.name!r} has no trajectory of seed {seed}")
    rows: dict[tuple[str, str], dict[float, int]] = {}
    for (shift, name, _), own in sorted(places.items(), key=lambda item: (*item[0][:2], -len(item[1]), item[0][2])):
        rows.setdefault((shift, name), own)
    chosen = list(rows.items())[:most]
    scales = sorted({scale for _, own in chosen for scale in own})
    high = thumb + (BELOW if said else 0) + GAP
    large, small = ImageFont.load_default(15), ImageFont.load_default(13)
    names = [(shift.replace("_", " "), name.partition("_")[2]) for (shift, name), _ in chosen]
    longest = max(max(large.getlength(shift), small.getlength(name)) for shift, name in names)
    left = MARGIN + max(LABEL, math.ceil(longest) + 2 * GAP)
    size = (left + len(scales) * (thumb + GAP) - GAP + MARGIN, 2 * MARGIN + HEAD + len(chosen) * high - GAP)
    canvas = Pil.new("RGB", size, "white")
    draw, mask = ImageDraw.Draw(canvas), rounded(thumb, 4)
    for column, scale in enumerate(scales):
        x = left + column * (thumb + GAP) + thumb / 2
        draw.text((x, MARGIN + HEAD - 12), f"scale {scale:g}", SLIDE_GREY, small, anchor="ms")
    for number, ((shift, name), (_, own)) in enumerate(zip(names, chosen, strict=True)):
        y = MARGIN + HEAD + number * high
        draw.text((MARGIN, y + thumb / 2 - 10), shift, SLIDE_INK, large, anchor="lm")
        draw.text((MARGIN, y + thumb / 2 + 12), name, SLIDE_GREY, small, anchor="lm")
        for column, scale in enumerate(scales):
            x = left + column * (thumb + GAP)
            picture = _picture(dataset, own.get(scale), thumb)
            canvas.paste(picture, (x, y), mask)
            if said and scale in own:
                words, right = said.get(str(dataset.ids[own[scale]]), ("", True))
                draw.text((x + thumb / 2, y + thumb + 14), words, RIGHT if right else WRONG, small, anchor="ms")
    return canvas


def _picture(dataset: Dataset, index: int | None, thumb: int) -> Pil.Image:
    if index is None:
        return Pil.new("RGB", (thumb, thumb), SLIDE_EMPTY)
    try:
        return Pil.fromarray(resized(dataset.image(index), thumb))
    except UnreadableImage:
        return Pil.new("RGB", (thumb, thumb), SLIDE_EMPTY)
