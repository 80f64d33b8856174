import itertools

import cv2
import numpy as np

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.colour_space import convert, hsv_to_rgb
from brittle.corruptions.kernels.grey_table import GREYS, through_table
from brittle.corruptions.kernels.rounding import mix
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly

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
