"""The pictures of an augmentation that are nearest to a corruption."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from PIL import Image as Pil
from PIL import ImageDraw, ImageFont

from brittle._errors import BrittleError
from brittle._types import Image
from brittle.benchmarks import Benchmark
from brittle.distance import Distances
from brittle.plots import short_names
from brittle.report.sheets import GREY, INK, LINE, resized, rounded
from brittle.training.augmentation import Scheme, fixed


def nearest_rows(
    image: Image, benchmark: Benchmark, schemes: Mapping[str, Scheme], found: Mapping[str, Distances], *, seed: int = 0
) -> list[NearestRow]:
    """A row for each corruption at its middle level: the image corrupted, and under the nearest of each scheme.

    `found` are the distances of these schemes, sampled with this seed, to this benchmark.
    """
    rows, start = [], 0
    for entry, name in zip(benchmark.entries, short_names(entry.id for entry in benchmark.entries), strict=True):
        middle = (len(entry.levels) - 1) // 2
        place = start + middle
        start += len(entry.levels)
        corrupted = benchmark.apply(image, entry.id, entry.levels[middle], 0)
        nearest = {}
        for spec, scheme in schemes.items():
            shown = fixed(scheme, seed, int(found[spec].nearest[place]))(image[np.newaxis])[0]
            eight_bit = np.clip(np.rint(shown), 0, 255).astype(np.uint8)
            nearest[spec] = (eight_bit, float(found[spec].msd[place]))
        rows.append(NearestRow(name, corrupted, nearest))
    return rows


GAP, MARGIN, HEAD, FOOT = 8, 30, 96, 20


@dataclass(frozen=True, eq=False)
class NearestRow:
    """One corruption: its name, the corrupted picture, and for each augmentation the nearest one with its distance."""

    corruption: str
    corrupted: Image
    nearest: Mapping[str, tuple[Image, float]] = field(default_factory=dict)


def nearest_sheet(clean: Image, rows: Sequence[NearestRow], *, thumb: int = 96, note: str = "") -> Pil.Image:
    """Corruptions as rows: the clean picture, the corrupted one, then the nearest of each augmentation; in two columns.

    Below each picture of an augmentation stands its distance to the mean corruption.
    """
    if not rows:
        raise BrittleError("a sheet of the nearest augmentations needs at least one corruption")
    names = list(rows[0].nearest)
    fonts = {size: ImageFont.load_default(size) for size in (11, 12, 14, 20)}
    label = max(round(fonts[14].getlength(row.corruption)) for row in rows) + 16
    cell = max(thumb, *(round(fonts[12].getlength(name)) for name in names)) + GAP if names else thumb + GAP
    width = label + 2 * (thumb + GAP) + GAP + len(names) * cell
    columns = 2 if len(rows) > 6 else 1
    each = -(-len(rows) // columns)
    high = thumb + FOOT
    size = (2 * MARGIN + columns * width + (columns - 1) * 2 * MARGIN, HEAD + each * (high + GAP) + MARGIN)
    canvas = Pil.new("RGB", size, "white")
    draw, mask = ImageDraw.Draw(canvas), rounded(thumb, 4)
    draw.text((MARGIN, MARGIN + 14), "The nearest sampled augmentation of each corruption", INK, fonts[20], anchor="ls")
    draw.text((MARGIN, MARGIN + 36), note, GREY, fonts[12], anchor="ls")
    for column in range(columns):
        left = MARGIN + column * (width + 2 * MARGIN)
        places = _places(left + label, thumb, cell, len(names))
        for x, text in zip(places, ("clean", "corrupted", *names), strict=True):
            draw.text((x + thumb / 2, HEAD - 8), text, GREY, fonts[12], anchor="ms")
        for i, row in enumerate(rows[column * each : (column + 1) * each]):
            y = HEAD + i * (high + GAP)
            if i:
                draw.line((left, y - GAP / 2 - 1, left + width - GAP, y - GAP / 2 - 1), LINE)
            draw.text((left, y + thumb / 2), row.corruption, INK, fonts[14], anchor="lm")
            shown = [clean, row.corrupted, *(picture for picture, _ in row.nearest.values())]
            for x, picture in zip(places, shown, strict=True):
                canvas.paste(Pil.fromarray(resized(picture, thumb)), (x, y), mask)
            for x, (_, distance) in zip(places[2:], row.nearest.values(), strict=True):
                draw.text((x + thumb / 2, y + thumb + 13), f"{distance:.2f}", GREY, fonts[11], anchor="ms")
    return canvas


def _places(left: int, thumb: int, cell: int, count: int) -> list[int]:
    """The left edges: clean and corrupted beside each other, the augmentations a little apart."""
    first = left + 2 * (thumb + GAP) + GAP + (cell - GAP - thumb) // 2
    return [left, left + thumb + GAP, *(first + i * cell for i in range(count))]
