import numpy as np

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.grey_table import look_up
from brittle.corruptions.kernels.rounding import nearest_bytes
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly


@corruption(family="colour", source="noc", channels="rgb", shift=evenly(0.4, first=0.09, clean=0))
def color_disortion(image: Image, rng: Draws, *, shift: float) -> Image:
    """A colour cast: one number is added to one channel, red, green or blue, drawn once per image.

    Quirks kept: the published spelling of the name; the shift only goes up.
    """
    chosen = rng.integer("channel", 3)
    out = image.copy()
    out[:, :, chosen] = look_up(np.ascontiguousarray(image[:, :, chosen]), nearest_bytes(np.arange(256) + 255 * shift))
    return out
