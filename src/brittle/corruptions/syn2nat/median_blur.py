import cv2
import numpy as np

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.between_sizes import between_sizes
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly

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
    return np.asarray(cv2.medianBlur(image, size), np.uint8)
