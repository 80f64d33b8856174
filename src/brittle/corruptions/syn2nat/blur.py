"""Blur of Syn2Nat's candidates."""

import cv2
import numpy as np
from numpy.typing import NDArray

from brittle._types import Image, Pixels
from brittle.corruptions.images import Draws
from brittle.corruptions.kernels.blur import between_sizes, box, by_bands, correlate
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly


@corruption(
    family="blur",
    source="syn2nat",
    full_depth=True,
    smallest=evenly(2, clean=0, px=1),
    largest=evenly(4, clean=0, px=1),
)
def blur(image: Pixels, rng: Draws, *, smallest: float, largest: float) -> Pixels:
    """A box blur of 5×5, 7×7 or 9×9 pixels, at equal odds.

    The parameters are radii; between whole radii the two neighbouring boxes are mixed.
    """
    radius = smallest + (largest - smallest) * rng.integer("size", 3) / 2
    return between_sizes(image, 2 * radius + 1, box)


SIZES = (0, 1, 1, 2, 2)
"""9 pixels in one draw of five, 11 in two and 13 in two, as published."""


@corruption(
    family="blur",
    source="syn2nat",
    full_depth=True,
    smallest=evenly(4, clean=0, px=1),
    largest=evenly(6, clean=0, px=1),
)
def gaussian_blur(image: Pixels, rng: Draws, *, smallest: float, largest: float) -> Pixels:
    """A Gaussian blur with a kernel of 9, 11 or 13 pixels, which is σ = 1.7, 2.0 or 2.3.

    Quirk kept: the size is drawn first and made odd afterwards, so 9 is half as likely as the others. The
    parameters are radii, σ follows from the kernel as 0.3·(radius − 1) + 0.8; between whole radii the two
    neighbours are mixed.
    """
    radius = smallest + (largest - smallest) * SIZES[rng.integer("size", 5)] / 2
    return between_sizes(image, 2 * radius + 1, _gaussian)


def _gaussian(image: Pixels, size: int) -> Pixels:
    sigma = 0.3 * ((size - 1) / 2 - 1) + 0.8
    return by_bands(image, size, lambda rows, size: np.asarray(cv2.GaussianBlur(rows, (size, size), sigma), rows.dtype))


LARGEST = 255
"""OpenCV counts pixels in 16 bit; an image of more than 5,700 px would need a larger kernel."""


@corruption(family="blur", source="syn2nat", smallest=evenly(2, clean=0, px=1), largest=evenly(5, clean=0, px=1))
def median_blur(image: Image, rng: Draws, *, smallest: float, largest: float) -> Image:
    """The median of 5×5, 7×7, 9×9 or 11×11 pixels, at equal odds: edges stay sharp, texture goes.

    The parameters are radii; between whole radii the two neighbouring medians are mixed.
    """
    radius = smallest + (largest - smallest) * rng.integer("size", 4) / 3
    return between_sizes(image, min(2 * radius + 1, LARGEST), _median)


def _median(image: Image, size: int) -> Image:
    return by_bands(image, size, lambda rows, size: np.asarray(cv2.medianBlur(rows, size), np.uint8))


@corruption(family="blur", source="syn2nat", full_depth=True, moves_pixels=True, length=evenly(1, clean=0, px=1))
def motion_blur(image: Pixels, rng: Draws, *, length: float) -> Pixels:
    """A shaken camera: the mean along a line between two random points of a square of 11, 13, 15 or 17 pixels.

    Quirk kept: the line need not pass through the middle of the square, so the picture also moves. Lower
    severities pull all of its pixels towards the middle, which shortens the line and the way.
    """
    half = round((5 + rng.integer("size", 4)) * max(length, 1))
    ends = [(rng.integer(f"x{i}", 2 * half + 1), rng.integer(f"y{i}", 2 * half + 1)) for i in range(2)]
    line = cv2.line(np.zeros((2 * half + 1, 2 * half + 1), np.uint8), ends[0], ends[1], 1)
    return correlate(image, _pulled_in(np.asarray(line, np.uint8), min(length, 1.0)))


def _pulled_in(line: Image, factor: float) -> NDArray[np.float64]:
    """Equal weights on the pixels of the line, moved towards the middle, each shared by the pixels around it."""
    half = len(line) // 2
    rows, columns = (half + factor * (at - half) for at in np.nonzero(line))
    kernel = np.zeros((len(line) + 2, len(line) + 2))
    top, left = np.floor(rows).astype(int), np.floor(columns).astype(int)
    for down in (0, 1):
        for right in (0, 1):
            share = np.abs(1 - down - (rows - top)) * np.abs(1 - right - (columns - left))
            np.add.at(kernel, (top + down + 1, left + right + 1), share / len(rows))
    return kernel
