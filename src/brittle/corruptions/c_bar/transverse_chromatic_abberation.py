from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.bspline import read_smoothed
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly

ORDERS = tuple(permutations(range(3)))


@corruption(
    family="blur",
    source="c-bar",
    channels="rgb",
    fades=False,
    moves_pixels=True,
    mid_zoom=evenly(1.25, clean=1, steps=10),
    max_zoom=evenly(1.5, clean=1, steps=10),
)
def transverse_chromatic_abberation(image: Image, rng: Draws, *, mid_zoom: float, max_zoom: float) -> Image:
    """Red, green and blue are enlarged differently, so colours fringe more and more towards the edges.

    One channel keeps its size; which one is drawn. Quirks kept: the spelling; the cubic B-spline is used without
    its prefilter, so every channel is also blurred by (1, 4, 1)/6 along both axes, which makes the effect jump
    in at once above severity 0. Sizes are whole, so the enlargement moves in steps. Channels are
    rounded to 8 bit, as SciPy does with 8-bit pictures.
    """
    zooms = (1.0, mid_zoom, max_zoom)
    order = ORDERS[rng.integer("order", len(ORDERS))]
    rows = np.stack([_central_window(image.shape[0], zooms[k]) for k in order])
    columns = np.stack([_central_window(image.shape[1], zooms[k]) for k in order])
    return read_smoothed(image, rows, columns)


def _central_window(length: int, zoom: float) -> NDArray[np.float64]:
    """Where the central part of an axis stretched corner to corner onto round(length·zoom) pixels is read."""
    stretched = round(length * zoom)
    start = (stretched - length) // 2
    return np.asarray((start + np.arange(length)) * ((length - 1) / max(stretched - 1, 1)), np.float64)
