import cv2
import numpy as np

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.between_sizes import between_sizes
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly

SIZES = (0, 1, 1, 2, 2)
"""9 pixels in one draw of five, 11 in two and 13 in two, as published."""


@corruption(family="blur", source="syn2nat", smallest=evenly(4, clean=0, px=1), largest=evenly(6, clean=0, px=1))
def gaussian_blur(image: Image, rng: Draws, *, smallest: float, largest: float) -> Image:
    """A Gaussian blur with a kernel of 9, 11 or 13 pixels, which is σ = 1.7, 2.0 or 2.3.

    Quirk kept: the size is drawn first and made odd afterwards, so 9 is half as likely as the others. The
    parameters are radii, σ follows from the kernel as 0.3·(radius − 1) + 0.8; between whole radii the two
    neighbours are mixed.
    """
    radius = smallest + (largest - smallest) * SIZES[rng.integer("size", 5)] / 2
    return between_sizes(image, 2 * radius + 1, _gaussian)


def _gaussian(image: Image, size: int) -> Image:
    return np.asarray(cv2.GaussianBlur(image, (size, size), 0.3 * ((size - 1) / 2 - 1) + 0.8), np.uint8)
