"""Pictures on their way: a row for each class in a shift, a column for each scale."""

from __future__ import annotations

import math
from collections.abc import Mapping

from PIL import Image as Pil
from PIL import ImageDraw, ImageFont

from brittle.datasets import BrokenImage
from brittle.datasets.dataset import Dataset
from brittle.report.thumbnail import resized, rounded

INK, GREY, EMPTY, RIGHT, WRONG = "#1f2328", "#767c85", "#f4f5f7", "#1f6f43", "#a8321b"
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
        raise ValueError(f"{dataset.name!r} has no trajectory of seed {seed}")
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
        draw.text((x, MARGIN + HEAD - 12), f"scale {scale:g}", GREY, small, anchor="ms")
    for number, ((shift, name), (_, own)) in enumerate(zip(names, chosen, strict=True)):
        y = MARGIN + HEAD + number * high
        draw.text((MARGIN, y + thumb / 2 - 10), shift, INK, large, anchor="lm")
        draw.text((MARGIN, y + thumb / 2 + 12), name, GREY, small, anchor="lm")
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
        return Pil.new("RGB", (thumb, thumb), EMPTY)
    try:
        return Pil.fromarray(resized(dataset.image(index), thumb))
    except BrokenImage:
        return Pil.new("RGB", (thumb, thumb), EMPTY)
