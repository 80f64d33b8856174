import cv2
import numpy as np

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.colour_space import convert, hsv_to_rgb
from brittle.corruptions.kernels.grey_table import GREYS, through_table
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly


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
