"""The nine base augmentations of AugMix, each at a level drawn for the image (Mintun et al., the paper's powerset).

Geometry is Pillow's: bilinear, black outside; shears are about the top left corner, rotations about the centre.
"""

from __future__ import annotations

from collections.abc import Callable

import PIL.Image
from PIL import ImageOps
from PIL.Image import Image as Picture
from PIL.Image import Resampling, Transform

LOWEST = 0.1
"""Levels are uniform from here to the severity of the scheme."""

Base = Callable[[Picture, float, float], Picture]
"""A function of a picture, a level ℓ, and a sign that is +1 or −1."""


def autocontrast(picture: Picture, _level: float, _sign: float) -> Picture:
    """Stretch each channel to the full range."""
    return ImageOps.autocontrast(picture)


def equalize(picture: Picture, _level: float, _sign: float) -> Picture:
    """Flatten each channel's histogram."""
    return ImageOps.equalize(picture)


def posterize(picture: Picture, level: float, _sign: float) -> Picture:
    """Keep 4 − ⌊0.4ℓ⌋ bits."""
    return ImageOps.posterize(picture, 4 - int(0.4 * level))


def solarize(picture: Picture, level: float, _sign: float) -> Picture:
    """Invert values from 256 − ⌊25.6ℓ⌋ upwards."""
    return ImageOps.solarize(picture, 256 - int(25.6 * level))


def shear_x(picture: Picture, level: float, sign: float) -> Picture:
    """Shear rows by ±0.03ℓ."""
    return _affine(picture, (1, sign * 0.03 * level, 0, 0, 1, 0))


def shear_y(picture: Picture, level: float, sign: float) -> Picture:
    """Shear columns by ±0.03ℓ."""
    return _affine(picture, (1, 0, 0, sign * 0.03 * level, 1, 0))


def translate_x(picture: Picture, level: float, sign: float) -> Picture:
    """Move sideways by ±ℓ/30 of the side."""
    return _affine(picture, (1, 0, sign * level * picture.width / 30, 0, 1, 0))


def translate_y(picture: Picture, level: float, sign: float) -> Picture:
    """Move up or down by ±ℓ/30 of the side."""
    return _affine(picture, (1, 0, 0, 0, 1, sign * level * picture.height / 30))


def rotate(picture: Picture, level: float, sign: float) -> Picture:
    """Turn by ±3ℓ degrees."""
    return picture.rotate(sign * 3 * level, resample=Resampling.BILINEAR)


GEOMETRIC: dict[str, Base] = {f.__name__: f for f in (shear_x, shear_y, translate_x, translate_y, rotate)}
COLOUR: dict[str, Base] = {f.__name__: f for f in (autocontrast, equalize, posterize, solarize)}
BASES: dict[str, Base] = {**COLOUR, **GEOMETRIC}


def _affine(picture: Picture, matrix: tuple[float, ...]) -> Picture:
    return picture.transform(picture.size, Transform.AFFINE, matrix, resample=Resampling.BILINEAR)


def picture_of(image: object) -> Picture:
    """An array as Pillow sees it."""
    return PIL.Image.fromarray(image)  # type: ignore[arg-type]
