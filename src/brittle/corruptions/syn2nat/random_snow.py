import numpy as np

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.grey_table import GREYS
from brittle.corruptions.kernels.lightness import map_lightness
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly


@corruption(family="weather", source="syn2nat", brightening=evenly(2.5, clean=1))
def random_snow(image: Image, rng: Draws, *, brightening: float) -> Image:
    """Dark places turn white, as if snow lay there: what is below a threshold is made 2.5 times as light.

    The threshold is a lightness of 98 … 123. Quirk kept: it is not the bright places that whiten but the dark ones,
    and what lies between ends up lighter than what was lighter. The lightness is that of OpenCV's 8-bit HLS.
    """
    below = 85 + 127.5 * rng.uniform("point", 0.1, 0.3)
    return map_lightness(image, np.where(below > GREYS, GREYS * brightening, GREYS))
