"""How photographs of any size are brought to one before they are corrupted: the one place that decides."""

from __future__ import annotations

from collections.abc import Collection

from PIL import Image as Pil

PREPARATIONS = ("none", "imagenet")
"""Names of preparations; two numbers such as "342,299" are one too: the short side, and the central square of it."""

STANDARD = (256, 224)
"""Short side and central square of ImageNet-C, in pixels."""

LARGEST = 512
"""Images that all have one size, and no side longer than this, were prepared by somebody: they are left alone."""

Size = tuple[int, int]
"""Width and height in pixels."""


def sides_of(how: str) -> tuple[int, int] | None:
    """Short side and central square of a preparation; None for "none". Anything else is refused."""
    if how == "none":
        return None
    if how == "imagenet":
        return STANDARD
    short, comma, square = how.partition(",")
    if comma and short.strip().isdecimal() and square.strip().isdecimal() and 0 < int(square) <= int(short):
        return int(short), int(square)
    raise ValueError(
        f"prepare must be one of {', '.join(PREPARATIONS)}, or the short side and the central square in pixels such as "
        f"342,299; got {how!r}"
    )


def automatic_preparation(sizes: Collection[Size], square: int | None = None) -> str:
    """What is done to images of these sizes if nobody said: nothing, if they all have one size that is no large one.

    Photographs of mixed or large sizes are prepared as ImageNet-C prepares them. If a model sees another `square` than
    224×224, it is that one, and the short side is longer by the same share.
    """
    if not sizes or (len(sizes) == 1 and max(next(iter(sizes))) <= LARGEST):
        return "none"
    short, usual = STANDARD
    if square is None or square == usual:
        return "imagenet"
    return f"{round(square * short / usual)},{square}"


def in_words(how: str) -> str:
    """A preparation as people say it."""
    sides = sides_of(how)
    return "as they are" if sides is None else f"short side to {sides[0]} px, central {sides[1]}×{sides[1]}"


def prepared(picture: Pil.Image, how: str) -> Pil.Image:
    """A photograph prepared for a benchmark: "none" leaves it, "imagenet" is what ImageNet-C does.

    That is the short side to 256 px (bilinear, as Pillow averages), then the central 224×224. Two other numbers, such
    as "342,299", do the same with these.
    """
    sides = sides_of(how)
    return picture if sides is None else _central(_short_side(picture, sides[0]), sides[1])


def _short_side(picture: Pil.Image, side: int) -> Pil.Image:
    width, height = picture.size
    short = min(width, height)
    size = (side, int(side * height / short)) if width <= height else (int(side * width / short), side)
    return picture if picture.size == size else picture.resize(size, Pil.Resampling.BILINEAR)


def _central(picture: Pil.Image, side: int) -> Pil.Image:
    left, top = round((picture.width - side) / 2), round((picture.height - side) / 2)
    return picture.crop((left, top, left + side, top + side))
