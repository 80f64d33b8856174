import numpy as np

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.spin import mean_of_rotations
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly

TURNS = np.linspace(-1, 1, 21)
WEIGHTS = np.exp(-2 * TURNS**2)


@corruption(family="blur", source="c-bar", fades=False, max_angle_deg=evenly(15, clean=0, steps=10))
def circular_motion_blur(image: Image, rng: Draws, *, max_angle_deg: float) -> Image:  # noqa: ARG001
    """The picture spins about its centre while it is taken: the mean of 21 turned copies.

    Quirk kept: turned copies are black outside the frame, so corners and edges darken, the outermost pixels
    already at the smallest angle, which makes the effect jump in. Copies are rounded to 8 bit, as SciPy
    does with 8-bit pictures; their mean is truncated. Nothing is drawn.
    """
    return mean_of_rotations(image, np.radians(TURNS * max_angle_deg), WEIGHTS)
