import numpy as np

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.registry import corruption


@corruption(family="geometry", source="syn2nat")
def flip(image: Image, rng: Draws) -> Image:
    """Upside down, left to right, or both, at equal odds.

    There is no half a flip: it is on or off, and every severity above 0 is the published one.
    """
    axes = ((0,), (1,), (0, 1))[rng.integer("axes", 3)]
    return np.flip(image, axes).copy()
