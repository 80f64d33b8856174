"""Strips of one picture: before, at and after its prediction flips or fails."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from PIL import Image as Pil
from PIL import ImageDraw, ImageFont

from brittle._errors import BrittleError
from brittle._types import Image
from brittle.benchmarks import Benchmark
from brittle.evaluation.failure_summary import FailureSummary, SearchedFolder
from brittle.evaluation.probing import Flip, Probe
from brittle.plots import MODEL_COLOURS
from brittle.report.sheets import ASPECT, resized, rounded

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
        raise BrittleError("a sheet of strips needs at least one row")
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
        raise BrittleError("no image that is right when clean ever fails, so there is nothing to draw")
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


FLIP_INK, FLIP_GREY, TRACK = "#1f2328", "#767c85", "#e4e7eb"
FLIP_MARGIN, FLIP_GAP, FLIP_GUTTER, TITLE, FLIP_HEAD, FLIP_BELOW = 24, 10, 36, 44, 48, 46


@dataclass(frozen=True)
class Seen:
    """A model's name, what was found with it, and the names of its classes by number."""

    model: str
    probe: Probe
    classes: Sequence[str] = ()

    def word(self, number: int) -> str:
        """What a class is called, or its number."""
        return self.classes[number] if number < len(self.classes) else f"class {number}"

    @property
    def flips(self) -> dict[str, Flip]:
        """By corruption."""
        return {flip.corruption: flip for flip in self.probe.flips}


def flip_sheet(
    image: Image, recipe: Benchmark, seen: Sequence[Seen], *, photo: str = "one photograph", thumb: int = 112
) -> Pil.Image:
    """For each model and corruption the weakest picture that flips it, or the strongest one if none does.

    The bar below a picture is its severity on the corruption's whole axis, in the model's colour. Corruptions stand in
    the order of what flips some model first.
    """
    longest = {entry.id: entry.corruption.max_severity for entry in recipe.entries}
    flips = {one.model: one.flips for one in seen}
    order = sorted(longest, key=lambda c: min(own[c].median / longest[c] for own in flips.values()))
    fonts = {size: ImageFont.load_default(size) for size in (12, 13, 14, 20)}
    names = {c: recipe.entry(c).corruption.name for c in order}
    label = round(max(fonts[14].getlength(name) for name in names.values())) + 16
    words = max(math.ceil(fonts[13].getlength(word)) + 18 for one in seen for word in _legend(one))
    wide = min(max(thumb, words), round(1.3 * thumb))
    block = label + thumb + len(seen) * (FLIP_GAP + wide)
    high = thumb + FLIP_BELOW + FLIP_GAP
    blocks = min(range(1, len(order) + 1), key=lambda n: _flip_off(n, len(order), block, high))
    rows = math.ceil(len(order) / blocks)
    blocks = math.ceil(len(order) / rows)
    least = math.ceil(max(fonts[20].getlength(_title(recipe, photo)), fonts[12].getlength(NOTE)))
    size = (
        2 * FLIP_MARGIN + max(blocks * block + (blocks - 1) * FLIP_GUTTER, least),
        2 * FLIP_MARGIN + TITLE + FLIP_HEAD + rows * high,
    )
    canvas = Pil.new("RGB", size, "white")
    draw, mask = ImageDraw.Draw(canvas), rounded(thumb, 4)
    draw.text((FLIP_MARGIN, FLIP_MARGIN + 16), _title(recipe, photo), FLIP_INK, fonts[20], anchor="ls")
    draw.text((FLIP_MARGIN, FLIP_MARGIN + 38), NOTE, FLIP_GREY, fonts[12], anchor="ls")
    for number, corruption in enumerate(order):
        x, y = (
            FLIP_MARGIN + number // rows * (block + FLIP_GUTTER),
            FLIP_MARGIN + TITLE + FLIP_HEAD + number % rows * high,
        )
        if number % rows == 0:
            _head(draw, fonts, (x + label + thumb, y), seen, wide)
            draw.text((x + label + thumb / 2, y - 12), "clean", FLIP_GREY, fonts[12], anchor="ms")
        draw.text((x, y + thumb / 2), names[corruption], FLIP_INK, fonts[14], anchor="lm")
        canvas.paste(Pil.fromarray(resized(image, thumb)), (x + label, y), mask)
        for place, one in enumerate(seen):
            flip, colour = flips[one.model][corruption], MODEL_COLOURS[place % len(MODEL_COLOURS)]
            left = x + label + thumb + FLIP_GAP + place * (wide + FLIP_GAP)
            severity = min(flip.median, longest[corruption])
            picture = recipe.apply(image, corruption, severity, flip.draw)
            canvas.paste(Pil.fromarray(resized(picture, thumb)), (left, y), mask)
            under = y + thumb + 6
            draw.rounded_rectangle((left, under, left + thumb - 1, under + 3), 2, TRACK)
            end = left + max(4, round(severity / longest[corruption] * thumb)) - 1
            draw.rounded_rectangle((left, under, end, under + 3), 2, colour)
            never = flip.becomes is None
            where = f"never up to {severity:g}" if never else f"severity {severity:.2f}"
            said = one.word(one.probe.prediction if flip.becomes is None else flip.becomes)
            sure = flip.held_confidence if never else flip.confidence
            said = said if math.isnan(sure) else f"{said} {100 * sure:.0f} %"
            draw.text((left, under + 7), where, FLIP_GREY, fonts[12])
            draw.text((left, under + 21), shorten(said, fonts[12], wide), FLIP_GREY if never else FLIP_INK, fonts[12])
    return canvas


NOTE = (
    "Each picture is the weakest that flips the model, with its severity, what it is taken for and how surely; "
    "if none does, the strongest."
)


def _title(recipe: Benchmark, photo: str) -> str:
    count = len(recipe.entries)
    whose = "" if recipe.name == "custom" else f" of {recipe.name}"
    return f"What flips predictions for {photo}: {count} corruption{'s' if count > 1 else ''}{whose}"


def _legend(one: Seen) -> tuple[str, str]:
    return one.model, f"sees {one.word(one.probe.prediction)}, {100 * one.probe.confidence:.0f} %"


def _head(
    draw: ImageDraw.ImageDraw,
    fonts: Mapping[int, ImageFont.FreeTypeFont | ImageFont.ImageFont],
    corner: tuple[int, int],
    seen: Sequence[Seen],
    wide: int,
) -> None:
    """The models' names with their colours over their columns."""
    for place, one in enumerate(seen):
        x, y = corner[0] + FLIP_GAP + place * (wide + FLIP_GAP), corner[1]
        name, sees = _legend(one)
        draw.rounded_rectangle((x, y - 37, x + 9, y - 28), 2, MODEL_COLOURS[place % len(MODEL_COLOURS)])
        draw.text((x + 15, y - 28), shorten(name, fonts[13], wide - 15), FLIP_INK, fonts[13], anchor="ls")
        draw.text((x, y - 12), shorten(sees, fonts[12], wide), FLIP_GREY, fonts[12], anchor="ls")


def _flip_off(blocks: int, count: int, block: int, high: int) -> float:
    """How far so many blocks side by side are from the shape of a screen."""
    width, height = blocks * (block + FLIP_GUTTER), math.ceil(count / blocks) * high + TITLE + FLIP_HEAD
    return abs(math.log(width / height / ASPECT))
