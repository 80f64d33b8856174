import numpy as np

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.grey_table import look_up
from brittle.corruptions.kernels.rounding import nearest_bytes
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly


@corruption(family="colour", source="noc", shift=evenly(0.44, first=0.11, clean=0))
def backlight(image: Image, rng: Draws, *, shift: float) -> Image:
    """One part of the picture gets brighter and the other darker, along a straight edge near the middle.

    The edge lies at half the height or half the width, give or take a fifth; which part is lit is a fair draw.
    """
    axis = rng.integer("axis", 2)
    length = image.shape[axis]
    edge = length // 2 + round(rng.uniform("edge", -0.2, 0.2) * length)
    lit = 255 * (shift if rng.integer("sign", 2) else -shift)
    greys = np.arange(256)
    before, after = np.split(image, [edge], axis=axis)
    parts = [look_up(before, nearest_bytes(greys + lit)), look_up(after, nearest_bytes(greys - lit))]
    return np.concatenate(parts, axis=axis)
