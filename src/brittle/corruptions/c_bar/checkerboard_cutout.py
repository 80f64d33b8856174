import math

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.checkerboard import hide_squares
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly


@corruption(family="occlusion", source="c-bar", fraction=evenly(1, clean=0, steps=10))
def checkerboard_cutout(image: Image, rng: Draws, *, fraction: float) -> Image:
    """Grey squares of a turned checkerboard hide parts of the picture; at the maximum every second square.

    Angle and size of the squares are drawn, and for each black square whether it is there. Quirk kept: the two
    squares next to 0 on either axis share their fate.
    """
    cell = max(rng.uniform("cell", 0.1, 0.25) * min(image.shape[:2]), 1.0)
    return hide_squares(image, rng.key("squares"), rng.uniform("angle", 0, 2 * math.pi), cell, fraction, 128)
