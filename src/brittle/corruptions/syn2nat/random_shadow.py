import cv2
import numpy as np

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.grey_table import GREYS
from brittle.corruptions.kernels.lightness import map_lightness
from brittle.corruptions.kernels.words import uniforms
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly


@corruption(family="weather", source="syn2nat", lightness=evenly(0.5, clean=1))
def random_shadow(image: Image, rng: Draws, *, lightness: float) -> Image:
    """Two to four shadows with sharp, jagged outlines, half as light as the rest.

    Each is a polygon with eight random corners, which crosses itself; where it does so an even number of times it
    lets the light through. Overlapping shadows are no darker. Lower severities have lighter shadows.
    """
    height, width = image.shape[:2]
    corners = uniforms(rng.key("corners"), 32, 2) * 0.5 + 0.5
    polygons = (corners * np.array([width + 1, height + 1])).astype(np.int32).reshape(4, 8, 2)
    shadow = np.zeros((height, width), np.uint8)
    for polygon in polygons[: 2 + rng.integer("count", 3)]:
        cv2.fillPoly(shadow, [polygon], 255)
    return map_lightness(image, GREYS * lightness, shadow)
