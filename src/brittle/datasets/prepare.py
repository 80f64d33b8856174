"""What the published sets do to a photograph before it is corrupted."""

from __future__ import annotations

from PIL import Image as Pil

PREPARATIONS = ("none", "imagenet")


def prepared(picture: Pil.Image, how: str) -> Pil.Image:
    """A photograph prepared for a benchmark: "none" leaves it, "imagenet" is what ImageNet-C does.

    That is the short side to 256 px (bilinear, as Pillow averages), then the central 224×224.
    """
    if how == "none":
        return picture
    if how == "imagenet":
        return _central(_short_side(picture, 256), 224)
    raise ValueError(f"prepare must be one of {', '.join(PREPARATIONS)}, got {how!r}")


def _short_side(picture: Pil.Image, side: int) -> Pil.Image:
    width, height = picture.size
    short = min(width, height)
    size = (side, int(side * height / short)) if width <= height else (int(side * width / short), side)
    return picture if picture.size == size else picture.resize(size, Pil.Resampling.BILINEAR)


def _central(picture: Pil.Image, side: int) -> Pil.Image:
    left, top = round((picture.width - side) / 2), round((picture.height - side) / 2)
    return picture.crop((left, top, left + side, top + side))
