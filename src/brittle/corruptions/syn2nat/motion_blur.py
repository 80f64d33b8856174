import cv2
import numpy as np
from numpy.typing import NDArray

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.taps import correlate
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly


@corruption(family="blur", source="syn2nat", moves_pixels=True, length=evenly(1, clean=0, px=1))
def motion_blur(image: Image, rng: Draws, *, length: float) -> Image:
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
