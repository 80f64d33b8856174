import numpy as np
from numpy.typing import NDArray

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.project import read_axes
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly

STEPS = 5


@corruption(family="geometry", source="syn2nat", limit=evenly(1, clean=0))
def grid_distortion(image: Image, rng: Draws, *, limit: float) -> Image:
    """Columns and rows of a grid are stretched and squeezed, each to 0 … 2 times its width.

    The grid has ⌊side / 5⌋ pixels a cell, which makes six cells at 224: five, and four pixels of another. Widths
    add up from the top left, so the far side moves most; what lies outside mirrors.
    """
    return read_axes(image, _stretched(image.shape[0], rng, "y", limit), _stretched(image.shape[1], rng, "x", limit))


def _stretched(length: int, rng: Draws, axis: str, limit: float) -> NDArray[np.float64]:
    step = max(length // STEPS, 1)
    factors = np.array([1 + rng.uniform(f"{axis}{i}", -limit, limit) for i in range(-(-length // step))])
    starts = step * np.concatenate([[0.0], np.cumsum(factors)])
    at = np.arange(length)
    return np.asarray(starts[at // step] + (at % step) * factors[at // step], np.float64)
