"""What flips several models' predictions for one photograph: a row for each corruption, a column for each model."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from PIL import Image as Pil
from PIL import ImageDraw, ImageFont

from brittle.arrays import Image
from brittle.benchmarks import Benchmark
from brittle.evaluation.probe import Flip, Probe
from brittle.report.page.palette import MODELS
from brittle.report.sheet_layout import ASPECT
from brittle.report.strip_sheet import shorten
from brittle.report.thumbnail import resized, rounded

INK, GREY, TRACK = "#1f2328", "#767c85", "#e4e7eb"
MARGIN, GAP, GUTTER, TITLE, HEAD, BELOW = 24, 10, 36, 44, 48, 46


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
    block = label + thumb + len(seen) * (GAP + wide)
    high = thumb + BELOW + GAP
    blocks = min(range(1, len(order) + 1), key=lambda n: _off(n, len(order), block, high))
    rows = math.ceil(len(order) / blocks)
    blocks = math.ceil(len(order) / rows)
    least = math.ceil(max(fonts[20].getlength(_title(recipe, photo)), fonts[12].getlength(NOTE)))
    size = (2 * MARGIN + max(blocks * block + (blocks - 1) * GUTTER, least), 2 * MARGIN + TITLE + HEAD + rows * high)
    canvas = Pil.new("RGB", size, "white")
    draw, mask = ImageDraw.Draw(canvas), rounded(thumb, 4)
    draw.text((MARGIN, MARGIN + 16), _title(recipe, photo), INK, fonts[20], anchor="ls")
    draw.text((MARGIN, MARGIN + 38), NOTE, GREY, fonts[12], anchor="ls")
    for number, corruption in enumerate(order):
        x, y = MARGIN + number // rows * (block + GUTTER), MARGIN + TITLE + HEAD + number % rows * high
        if number % rows == 0:
            _head(draw, fonts, (x + label + thumb, y), seen, wide)
            draw.text((x + label + thumb / 2, y - 12), "clean", GREY, fonts[12], anchor="ms")
        draw.text((x, y + thumb / 2), names[corruption], INK, fonts[14], anchor="lm")
        canvas.paste(Pil.fromarray(resized(image, thumb)), (x + label, y), mask)
        for place, one in enumerate(seen):
            flip, colour = flips[one.model][corruption], MODELS[place % len(MODELS)]
            left = x + label + thumb + GAP + place * (wide + GAP)
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
            draw.text((left, under + 7), where, GREY, fonts[12])
            draw.text((left, under + 21), shorten(said, fonts[12], wide), GREY if never else INK, fonts[12])
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
        x, y = corner[0] + GAP + place * (wide + GAP), corner[1]
        name, sees = _legend(one)
        draw.rounded_rectangle((x, y - 37, x + 9, y - 28), 2, MODELS[place % len(MODELS)])
        draw.text((x + 15, y - 28), shorten(name, fonts[13], wide - 15), INK, fonts[13], anchor="ls")
        draw.text((x, y - 12), shorten(sees, fonts[12], wide), GREY, fonts[12], anchor="ls")


def _off(blocks: int, count: int, block: int, high: int) -> float:
    """How far so many blocks side by side are from the shape of a screen."""
    width, height = blocks * (block + GUTTER), math.ceil(count / blocks) * high + TITLE + HEAD
    return abs(math.log(width / height / ASPECT))
