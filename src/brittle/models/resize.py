"""Bring images to the size that a network was trained on, with Pillow, as timm, torchvision and transformers do."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from brittle.arrays import Image

INTERPOLATIONS = ("nearest", "bilinear", "bicubic", "lanczos", "box", "hamming")

Sides = tuple[int, int]
"""Height and width."""


def resize(images: Image, sides: Sides, interpolation: str) -> Image:
    """Images N×H×W×3 at exactly these sides, smoothed before they shrink; the aspect may change."""
    if images.shape[1:3] == sides:
        return images
    from PIL import Image as Pillow

    how = Pillow.Resampling[interpolation.upper()]

    def one(image: Image) -> Image:
        return np.asarray(Pillow.fromarray(image).resize(sides[::-1], how))

    with ThreadPoolExecutor(min(len(images), os.cpu_count() or 1) or 1) as pool:  # Pillow frees the lock
        resized = list(pool.map(one, images))
    return np.stack(resized) if resized else np.empty((0, *sides, 3), np.uint8)


def cover(sides: Sides, shorter: int) -> Sides:
    """The sides of an image when its shorter side gets a length and the aspect stays."""
    height, width = sides
    if height <= width:
        return shorter, int(shorter * width / height)
    return int(shorter * height / width), shorter


def central_crop(images: Image, sides: Sides) -> Image:
    """The middle of images that are at least this large."""
    height, width = sides
    top, left = (round((has - wanted) / 2) for has, wanted in zip(images.shape[1:3], sides, strict=True))
    return images[:, top : top + height, left : left + width]
