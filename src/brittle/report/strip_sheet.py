"""Strips of pictures that say what they are: clean, the last severity that is right, the first that is wrong."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PIL import Image as Pil
from PIL import ImageDraw, ImageFont

from brittle.arrays import Image
from brittle.benchmarks import Benchmark
from brittle.evaluation.failure_summary import FailureSummary, SearchedFolder
from brittle.evaluation.probe import Probe
from brittle.report.sheet_layout import ASPECT
from brittle.report.thumbnail import resized, rounded

INK, GREY, RIGHT, WRONG, EMPTY = "#1f2328", "#767c85", "#1a7f37", "#c2410c", "#f4f5f7"
MARGIN, GAP, STRIP_GAP, GUTTER, HEAD, BELOW = 24, 8, 26, 44, 24, 44
TITLE_LINE, TITLE_SIZE, NOTE_SIZE = 22, 20, 12

CorruptionRows = Sequence[FailureSummary]
ClassName = Callable[[int], str]


@dataclass(frozen=True)
class Shot:
    """A picture and the two lines below it: where on the axis it is, and what the model takes it for."""

    image: Image | None
    where: str
    said: str
    right: bool


@dataclass(frozen=True)
class Row:
    """The strips of one corruption: its name, a second line in grey, and its pictures."""

    name: str
    note: str
    strips: Sequence[Sequence[Shot]]


def strip_sheet(
    title: str, notes: Sequence[str], headings: Sequence[str], rows: Sequence[Row], *, thumb: int = 112
) -> Pil.Image:
    """Rows of strips below a title and some lines of notes; many rows stand in several blocks side by side."""
    if not rows:
        raise ValueError("a sheet of strips needs at least one row")
    fonts = {size: ImageFont.load_default(size) for size in (NOTE_SIZE, 14, TITLE_SIZE)}
    label = math.ceil(
        max([fonts[14].getlength(row.name) for row in rows] + [fonts[12].getlength(row.note) for row in rows])
    )
    label += 16
    strips = max(len(row.strips) for row in rows)
    cell = max(thumb, 112) + GAP
    strip = len(headings) * cell - GAP
    block = label + strips * (strip + STRIP_GAP) - STRIP_GAP
    high = thumb + BELOW
    top = MARGIN + TITLE_LINE + 18 * len(notes) + HEAD
    blocks = min(range(1, len(rows) + 1), key=lambda n: _off(n, len(rows), block, high, top))
    each = math.ceil(len(rows) / blocks)
    blocks = math.ceil(len(rows) / each)
    widest = max(fonts[TITLE_SIZE].getlength(title), *(fonts[NOTE_SIZE].getlength(note) for note in notes), 0)
    width = max(blocks * (block + GUTTER) - GUTTER, math.ceil(widest)) + 2 * MARGIN
    canvas = Pil.new("RGB", (width, top + each * high + MARGIN - 12), "white")
    draw, mask = ImageDraw.Draw(canvas), rounded(thumb, 4)
    draw.text((MARGIN, MARGIN + 14), title, INK, fonts[TITLE_SIZE], anchor="ls")
    for number, note in enumerate(notes):
        draw.text((MARGIN, MARGIN + TITLE_LINE + 12 + 18 * number), note, GREY, fonts[NOTE_SIZE], anchor="ls")
    for number, row in enumerate(rows):
        x, y = MARGIN + number // each * (block + GUTTER), top + number % each * high
        draw.text((x, y + thumb / 2 - 8), row.name, INK, fonts[14], anchor="lm")
        draw.text((x, y + thumb / 2 + 10), row.note, GREY, fonts[NOTE_SIZE], anchor="lm")
        for place in range(len(row.strips) if number % each else strips):
            for column, heading in enumerate(headings):
                left = x + label + place * (strip + STRIP_GAP) + column * cell
                if number % each == 0:
                    draw.text((left, y - 8), heading, GREY, fonts[NOTE_SIZE], anchor="ls")
                if place < len(row.strips) and column < len(row.strips[place]):
                    _shot(canvas, draw, fonts[NOTE_SIZE], mask, row.strips[place][column], (left, y), thumb)
    return canvas


def _shot(
    canvas: Pil.Image,
    draw: ImageDraw.ImageDraw,
    font: ImageFont.FreeTypeFont | ImageFont.ImageFont,
    mask: Pil.Image,
    shot: Shot,
    corner: tuple[int, int],
    thumb: int,
) -> None:
    x, y = corner
    if shot.image is None:
        canvas.paste(EMPTY, (x, y, x + thumb, y + thumb), mask)
    else:
        canvas.paste(Pil.fromarray(resized(shot.image, thumb)), (x, y), mask)
    wide = max(thumb, 112)
    draw.text((x, y + thumb + 4), shorten(shot.where, font, wide), GREY, font)
    draw.text((x, y + thumb + 19), shorten(shot.said, font, wide), RIGHT if shot.right else WRONG, font)


def probe_sheet(image: Image, recipe: Benchmark, model: str, photo: str, probed: Probe, word: ClassName) -> Pil.Image:
    """One model on one photograph: the clean picture, the strongest that leaves the prediction, the first flipped."""
    seen = word(probed.prediction)
    rows = []
    for flip in probed.flips:
        entry = recipe.entry(flip.corruption)
        never = flip.becomes is None
        held = recipe.apply(image, flip.corruption, flip.held, flip.draw) if flip.held else image
        strip = [
            Shot(image, "clean", _said(seen, probed.confidence), True),
            Shot(held, f"severity {flip.held:.2f}", _said(seen, flip.held_confidence), True),
        ]
        if flip.becomes is not None:
            flipped = recipe.apply(image, flip.corruption, flip.median, flip.draw)
            said = _said(word(flip.becomes), flip.confidence)
            strip.append(Shot(flipped, f"severity {flip.median:.2f}", said, False))
        at = f"never up to {entry.corruption.max_severity:g}" if never else f"flips at {flip.median:.2f}"
        rows.append(Row(entry.corruption.name, at, [strip]))
    draws = f"the middle one of {probed.draws} draws" if probed.draws > 1 else "one draw"
    notes = (
        f"{model} takes the clean photograph ({image.shape[0]} px) for {_said(seen, probed.confidence)}.",
        "Below each picture its severity, what the model says and how sure it is; "
        f"the most brittle corruption first; {draws}.",
    )
    return strip_sheet(f"What flips {model} on {photo}", notes, ("clean", "last unchanged", "first flipped"), rows)


def failure_sheet(searched: SearchedFolder, summaries: CorruptionRows, word: ClassName, *, rows: int = 12) -> Pil.Image:
    """Images of one model at their failure points: an early and a typical one for the most brittle corruptions."""
    made: list[Row] = []
    for summary in summaries:
        strips = []
        for one in summary.examples():
            truth = word(one.label)
            places = (
                ("clean", 0.0, truth, one.clean_confidence, True),
                (f"severity {one.held:.2f}", one.held, truth, one.held_confidence, True),
                (f"severity {one.failed:.2f}", one.failed, word(one.prediction), one.failed_confidence, False),
            )
            strips.append(
                [
                    Shot(searched.image(summary, one.sample, at), where, _said(what, sure), right)
                    for where, at, what, sure, right in places
                ]
            )
        if strips and len(made) < rows:
            half = summary.half
            ends = "" if half is None else f"half fail below {half.value:.2f}"
            if half is not None and math.isinf(half.value):
                ends = f"{100 * summary.never:.0f} % never fail"
            made.append(Row(summary.corruption.rpartition("/")[2], ends, strips))
    if not made:
        raise ValueError("no image that is right when clean ever fails, so there is nothing to draw")
    notes = (
        "Left an image that fails early, right a typical one: clean, at the last severity that is right, and at its "
        "failure point.",
        "Below each picture its severity, what the model says and how sure it is. The most brittle corruption first.",
    )
    title = f"Where {summaries[0].model} breaks"
    return strip_sheet(title, notes, ("clean", "just before", "failure point"), made)


def _said(name: str, confidence: float) -> str:
    return name if math.isnan(confidence) else f"{name} {100 * confidence:.0f} %"


def _off(blocks: int, count: int, block: int, high: int, top: int) -> float:
    """How far so many blocks side by side are from the shape of a screen."""
    width, height = blocks * (block + GUTTER), math.ceil(count / blocks) * high + top
    return abs(math.log(width / height / ASPECT))


def shorten(words: str, font: ImageFont.FreeTypeFont | ImageFont.ImageFont, wide: int) -> str:
    """As much of a text as fits; a percentage at its end is kept."""
    if font.getlength(words) <= wide:
        return words
    head, _, tail = words.removesuffix(" %").rpartition(" ") if words.endswith(" %") else (words, "", "")
    tail = f"… {tail} %" if tail else "…"
    while head and font.getlength(f"{head}{tail}") > wide:
        head = head[:-1]
    return f"{head}{tail}"
