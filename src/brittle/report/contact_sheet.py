"""A contact sheet: every corruption at every severity, on one picture."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PIL import Image as Pil
from PIL import ImageDraw, ImageFont

from brittle.arrays import Image
from brittle.benchmarks import Entry, Level, ends, level_name, severity_of
from brittle.corruptions import Corruption, corrupt, find
from brittle.datasets.photo import square
from brittle.report.family_colours import FAMILY_COLOURS
from brittle.report.sheet_layout import Lengths, cut, share_out
from brittle.report.thumbnail import resized, rounded

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
        raise ValueError("a contact sheet needs at least one corruption and one severity")
    for name, side in (("size", size), ("thumb", thumb)):
        if side < 8:
            raise ValueError(f"{name} must be at least 8 px, got {side}")
    rows = [c if isinstance(c, Entry) else Entry(find(c).id, _even_steps(find(c))) for c in corruptions]
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
