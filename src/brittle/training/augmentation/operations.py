"""The nine base augmentations of AugMix, each at a sampled level (Mintun et al., the powerset experiment).

Geometry is Pillow's: bilinear, black outside; shears are about the top left corner, rotations about the centre.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from brittle._types import Image
from brittle.training.augmentation import pillow_operations

LOWEST = 0.1
"""Levels are uniform from here to the severity of the scheme."""

Base = Callable[[Image, float, float], Image]
"""A function of an image H×W×3 or a stack N×H×W×3, a level ℓ, and a sign that is +1 or −1."""


def autocontrast(images: Image, _level: float, _sign: float) -> Image:
    """Stretch each channel to the full range."""
    return pillow_operations.autocontrast(images)


def equalize(images: Image, _level: float, _sign: float) -> Image:
    """Flatten each channel's histogram."""
    return pillow_operations.equalize(images)


def posterize(images: Image, level: float, _sign: float) -> Image:
    """Keep 4 − ⌊0.4ℓ⌋ bits."""
    return pillow_operations.posterize(images, 4 - int(0.4 * level))


def solarize(images: Image, level: float, _sign: float) -> Image:
    """Invert values from 256 − ⌊25.6ℓ⌋ upwards."""
    return pillow_operations.solarize(images, 256 - int(25.6 * level))


def shear_x(images: Image, level: float, sign: float) -> Image:
    """Shear rows by ±0.03ℓ."""
    return pillow_operations.affine(images, (1, sign * 0.03 * level, 0, 0, 1, 0))


def shear_y(images: Image, level: float, sign: float) -> Image:
    """Shear columns by ±0.03ℓ."""
    return pillow_operations.affine(images, (1, 0, 0, sign * 0.03 * level, 1, 0))


def translate_x(images: Image, level: float, sign: float) -> Image:
    """Translate horizontally by ±ℓ/30 of the side."""
    return pillow_operations.affine(images, (1, 0, sign * level * np.shape(images)[-2] / 30, 0, 1, 0))


def translate_y(images: Image, level: float, sign: float) -> Image:
    """Translate vertically by ±ℓ/30 of the side."""
    return pillow_operations.affine(images, (1, 0, 0, 0, 1, sign * level * np.shape(images)[-3] / 30))


def rotate(images: Image, level: float, sign: float) -> Image:
    """Rotate by ±3ℓ degrees."""
    return pillow_operations.rotate(images, sign * 3 * level)


def whole_translate_x(images: Image, level: float, sign: float) -> Image:
    """Translate horizontally by ±⌊ℓ/30 of the side⌋ pixels."""
    return pillow_operations.affine(images, (1, 0, sign * int(level * np.shape(images)[-2] / 30), 0, 1, 0))


def whole_translate_y(images: Image, level: float, sign: float) -> Image:
    """Translate vertically by ±⌊ℓ/30 of the side⌋ pixels."""
    return pillow_operations.affine(images, (1, 0, 0, 0, 1, sign * int(level * np.shape(images)[-3] / 30)))


def whole_rotate(images: Image, level: float, sign: float) -> Image:
    """Rotate by ±⌊3ℓ⌋ degrees."""
    return pillow_operations.rotate(images, sign * int(3 * level))


GEOMETRIC: dict[str, Base] = {f.__name__: f for f in (shear_x, shear_y, translate_x, translate_y, rotate)}
COLOUR: dict[str, Base] = {f.__name__: f for f in (autocontrast, equalize, posterize, solarize)}
BASES: dict[str, Base] = {**COLOUR, **GEOMETRIC}
TRUNCATED: dict[str, Base] = {
    **BASES,
    "translate_x": whole_translate_x,
    "translate_y": whole_translate_y,
    "rotate": whole_rotate,
}
"""The bases of AugMix on ImageNet, which translate by whole pixels and rotate by whole degrees."""
