import math

import numpy as np
from numpy.typing import NDArray

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.displacement import read_grid
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly


@corruption(family="geometry", source="c-bar", amplitude_px=evenly(5.6, clean=0, steps=10, px=1))
def ripple(image: Image, rng: Draws, *, amplitude_px: float) -> Image:
    """Rows and columns are stretched and squeezed in waves, as behind ribbed glass.

    Quirks kept: each axis is moved along itself only, so there is no sideways wave; at the borders black
    comes in from outside.
    """
    height, width = image.shape[:2]
    side = min(height, width)

    def moved(axis: str, length: int) -> NDArray[np.float64]:
        wavelength = rng.uniform(f"{axis} wavelength", 0.1, 0.3) * side
        phase = rng.uniform(f"{axis} phase", 0, 2 * math.pi)
        places = np.arange(length)
        shift = amplitude_px * np.sin(2 * math.pi / wavelength * places + phase)
        return np.asarray(places + shift, np.float64)

    return read_grid(image, moved("y", height), moved("x", width))
