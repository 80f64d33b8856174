import numpy as np

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.grey_table import look_up
from brittle.corruptions.kernels.rounding import nearest_bytes
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import integers


@corruption(family="digital", source="noc", steps=integers(8, 3, clean=255))
def quantization(image: Image, rng: Draws, *, steps: float) -> Image:  # noqa: ARG001
    """Fewer shades: every value goes to the nearest of n + 1 evenly spaced greys, n from 8 down to 3.

    Below severity 1 the number of steps grows to 255, where all values stay.
    """
    return look_up(image, nearest_bytes(np.rint(np.arange(256) / 255 * steps) / steps * 255))
