import numpy as np

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.grey_table import look_up
from brittle.corruptions.kernels.rounding import nearest_bytes
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly


@corruption(family="colour", source="noc", shift=evenly(0.51, first=0.16, clean=0))
def brightness(image: Image, rng: Draws, *, shift: float) -> Image:
    """The whole picture gets brighter or darker: one number, of either sign, is added to every value.

    Unlike the brightness of ImageNet-C it also darkens, and it adds to all channels alike, so colours fade.
    """
    signed = shift if rng.integer("sign", 2) else -shift
    return look_up(image, nearest_bytes(np.arange(256) + 255 * signed))
