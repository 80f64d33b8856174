import numpy as np

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.project import read_axes
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly


@corruption(family="geometry", source="syn2nat", limit=evenly(0.7, clean=0))
def transpose(image: Image, rng: Draws, *, limit: float) -> Image:
    """Moved by up to 0.7 of the side in each direction, with mirror images in the rest.

    Quirk kept: in spite of its name this is a translation.
    """
    height, width = image.shape[:2]
    down, right = rng.uniform("y", -limit, limit) * height, rng.uniform("x", -limit, limit) * width
    return read_axes(image, np.arange(height) - down, np.arange(width) - right)
