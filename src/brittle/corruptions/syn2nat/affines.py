import numpy as np
from numpy.typing import NDArray

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.project import read_axes
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly


@corruption(family="geometry", source="syn2nat", smallest=evenly(0.6, clean=1), largest=evenly(0.8, clean=1))
def affines(image: Image, rng: Draws, *, smallest: float, largest: float) -> Image:
    """The picture shrinks about its centre, and its mirror images fill the rest.

    The published range is 0.6 … 0.8 of the size, the same in both directions, read bilinearly.
    """
    scale = rng.uniform("scale", smallest, largest)
    return read_axes(image, _shrunk(image.shape[0], scale), _shrunk(image.shape[1], scale))


def _shrunk(length: int, scale: float) -> NDArray[np.float64]:
    centre = (length - 1) / 2
    return np.asarray((np.arange(length) - centre) / scale + centre, np.float64)
