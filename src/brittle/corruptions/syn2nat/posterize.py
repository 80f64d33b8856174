import numpy as np

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.grey_table import GREYS, through_table
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly


@corruption(family="colour", source="syn2nat", bits=evenly(2, clean=8))
def posterize(image: Image, rng: Draws, *, bits: float) -> Image:  # noqa: ARG001
    """Few shades: only the two highest bits are kept, so every value is 0, 64, 128 or 192.

    Between whole numbers of bits, the values are multiples of a step of 2^(8 − bits) grey levels, rounded down.
    """
    step = 2 ** (8 - bits)
    return through_table(image, np.floor(GREYS / step) * step)
