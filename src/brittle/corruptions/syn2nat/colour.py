"""Colour of Syn2Nat's candidates."""

from __future__ import annotations

import itertools

import cv2
import numpy as np
from numpy.typing import NDArray

from brittle._types import Image, Pixels
from brittle.corruptions.images import Draws
from brittle.corruptions.kernels.arithmetic import compiled, level, mix, rounding
from brittle.corruptions.kernels.colour import GREYS, convert, hsv_to_rgb, through_curve, through_curves, through_table
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly, levels


def mix_channels(image: Pixels, matrix: NDArray[np.float64]) -> Pixels:
    """matrix·(r, g, b) for each pixel, rounded and clipped."""
    return _mix_channels(image, np.ascontiguousarray(matrix, np.float32))


@compiled
def _mix_channels(image, matrix):
    height, width, _ = image.shape
    out = np.empty(image.shape, image.dtype)
    half = rounding(out)
    for y in range(height):
        for x in range(width):
            r, g, b = np.float32(image[y, x, 0]), np.float32(image[y, x, 1]), np.float32(image[y, x, 2])
            for c in range(3):
                mixed = matrix[c, 0] * r + matrix[c, 1] * g + matrix[c, 2] * b
                out[y, x, c] = level(mixed) + half
    return out


@corruption(family="colour", source="syn2nat", full_depth=True, channels="rgb", dimmed=evenly(1, clean=0))
def channel_dropout(image: Pixels, rng: Draws, *, dimmed: float) -> Pixels:
    """Red, green or blue goes missing: one channel, drawn at equal odds, fades to 0."""
    kept = np.ones(3)
    kept[rng.integer("channel", 3)] -= dimmed
    return through_curves(image, lambda greys: greys * kept)


ORDERS = tuple(itertools.permutations(range(4)))


@corruption(
    family="colour",
    source="syn2nat",
    channels="rgb",
    brightness=evenly(0.7, clean=0),
    contrast=evenly(0.7, clean=0),
    saturation=evenly(0.7, clean=0),
    hue=evenly(0.7, clean=0),
)
def color_jitter(
    image: Image, rng: Draws, *, brightness: float, contrast: float, saturation: float, hue: float
) -> Image:
    """Brightness, contrast, saturation and hue change, each by its own draw, in a random order.

    The first three are factors within 1 ± 0.7; contrast is about the mean grey. The hue turns by up to ± 0.7 of
    the circle, so every hue is within reach. Quirk kept: hue is that of OpenCV's 8-bit HSV, in steps of 2°.
    """
    factors = [
        1 + rng.uniform(name, -reach, reach)
        for name, reach in (("brightness", brightness), ("contrast", contrast), ("saturation", saturation))
    ]
    turn = rng.uniform("hue", -hue, hue)
    for step in ORDERS[rng.integer("order", 24)]:
        if step == 0:
            image = through_table(image, GREYS * factors[0] + 0.5)
        elif step == 1:
            mean = float(convert(image, cv2.COLOR_RGB2GRAY).mean())
            image = through_table(image, (GREYS - mean) * factors[1] + mean + 0.5)
        elif step == 2:
            grey = convert(convert(image, cv2.COLOR_RGB2GRAY), cv2.COLOR_GRAY2RGB)
            image = mix(image, grey, 1 - factors[2])
        else:
            image = _turned(image, round(180 * turn))
    return image


def _turned(image: Image, steps: int) -> Image:
    if steps == 0:
        return image.copy()
    table = np.stack([(GREYS + steps) % 180, GREYS, GREYS], 1)
    turned = through_table(convert(image, cv2.COLOR_RGB2HSV), table)
    return hsv_to_rgb(turned)


@corruption(
    family="colour",
    source="syn2nat",
    channels="rgb",
    hue=evenly(100, clean=0),
    saturation=evenly(150, clean=0),
    value=evenly(100, clean=0),
)
def hue_saturation_value(image: Image, rng: Draws, *, hue: float, saturation: float, value: float) -> Image:
    """Hue, saturation and brightness are shifted, each by its own draw.

    Quirks kept: they are OpenCV's 8-bit HSV, where a hue shift of ± 100 is ± 200°, so every hue is within reach; a
    grey pixel counts as red, so more saturation colours it.
    """
    shifts = rng.uniform("hue", -hue, hue), rng.uniform("saturation", -saturation, saturation)
    table = np.stack(
        [(GREYS + shifts[0]) % 180, GREYS + shifts[1], GREYS + rng.uniform("value", -value, value)], axis=1
    )
    shifted = through_table(convert(image, cv2.COLOR_RGB2HSV), table)
    return hsv_to_rgb(shifted)


@corruption(family="colour", source="syn2nat", full_depth=True)
def invert_img(image: Pixels, rng: Draws) -> Pixels:  # noqa: ARG001
    """The negative of the picture, 255 − x.

    It is on or off: half-way to the negative there is no picture left. Every severity above 0 is the published one.
    """
    return 255 - image


@corruption(family="colour", source="syn2nat", bits=evenly(2, clean=8))
def posterize(image: Image, rng: Draws, *, bits: float) -> Image:  # noqa: ARG001
    """Few shades: only the two highest bits are kept, so every value is 0, 64, 128 or 192.

    Between whole numbers of bits, the values are multiples of a step of 2^(8 − bits) grey levels, rounded down.
    """
    step = 2 ** (8 - bits)
    return through_table(image, np.floor(GREYS / step) * step)


@corruption(family="colour", source="syn2nat", full_depth=True, limit=evenly(0.9, clean=0))
def random_brightness(image: Pixels, rng: Draws, *, limit: float) -> Pixels:
    """Brighter or darker by up to 0.9 of the grey scale: x + 255·uniform(−0.9, 0.9)."""
    shift = 255 * rng.uniform("shift", -limit, limit)
    return through_curve(image, lambda greys: greys + shift)


@corruption(family="colour", source="syn2nat", full_depth=True, limit=evenly(1.5, clean=0))
def random_contrast(image: Pixels, rng: Draws, *, limit: float) -> Pixels:
    """Every value is multiplied by one factor of −0.5 … 2.5.

    Quirk kept: one draw in six is not above 0 and gives a black picture. It is about black, not about the mean, so
    it looks like a change of brightness.
    """
    factor = 1 + rng.uniform("factor", -limit, limit)
    return through_curve(image, lambda greys: greys * factor)


@corruption(
    family="colour", source="syn2nat", full_depth=True, smallest=evenly(3, clean=1), largest=evenly(10, clean=1)
)
def random_gamma(image: Pixels, rng: Draws, *, smallest: float, largest: float) -> Pixels:
    """Dark, but for the brightest places: 255·(x/255)^γ with γ of 3 … 10, in steps of a hundredth as published."""
    gamma = smallest + (largest - smallest) * rng.integer("gamma", 701) / 700
    return through_curve(image, lambda greys: 255 * (greys / 255) ** gamma + 1e-9)


@corruption(family="colour", source="syn2nat", full_depth=True, channels="any", limit=evenly(200, clean=0))
def rgb_shift(image: Pixels, rng: Draws, *, limit: float) -> Pixels:
    """A strong colour cast: each channel is shifted by its own draw of up to ± 200 grey levels.

    A grey picture has one channel and one shift; each band of more has its own.
    """
    count = image.shape[2]
    names = ("red", "green", "blue")[:count] if count in (1, 3) else [f"band {i}" for i in range(count)]
    shifts = np.array([rng.uniform(name, -limit, limit) for name in names])
    return through_curves(image, lambda greys: greys + shifts)


@corruption(
    family="colour",
    source="syn2nat",
    full_depth=True,
    threshold=levels(244.8, 233.6, 222.4, 211.2, 200, clean=244.8),
    amount=levels(1, 1, 1, 1, 1, clean=0),
)
def solarize(image: Pixels, rng: Draws, *, threshold: float, amount: float) -> Pixels:  # noqa: ARG001
    """The brightest places turn dark: values of 200 and more are inverted.

    From severity 1 on the threshold comes down evenly, from 256; below, the inversion itself fades in.
    """
    return through_curve(image, lambda greys: np.where(threshold <= greys, greys + amount * (255 - 2 * greys), greys))


SEPIA = np.array([[0.393, 0.769, 0.189], [0.349, 0.686, 0.168], [0.272, 0.534, 0.131]])


@corruption(family="colour", source="syn2nat", full_depth=True, channels="rgb", strength=evenly(1, clean=0))
def to_sepia(image: Pixels, rng: Draws, *, strength: float) -> Pixels:  # noqa: ARG001
    """An old photograph: all colours become shades of brown.

    Lower severities mix the published matrix with the one that changes nothing. Grey pictures only grow brighter.
    """
    return mix_channels(image, np.eye(3) + strength * (SEPIA - np.eye(3)))
