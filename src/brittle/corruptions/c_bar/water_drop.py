import math

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.displacement import ring_waves
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly


@corruption(family="geometry", source="c-bar", amplitude=evenly(0.25, clean=0, steps=10))
def water_drop(image: Image, rng: Draws, *, amplitude: float) -> Image:
    """Rings of waves spread from a point, as where a drop has fallen into water.

    The amplitude is a share of the wavelength, which is drawn, as are centre and phase. Quirk kept: the waves end
    sharply at half the side from the centre.
    """
    height, width = image.shape[:2]
    side = min(height, width)
    centre = rng.uniform("y", 0.25, 0.75) * height, rng.uniform("x", 0.25, 0.75) * width
    wavelength = rng.uniform("wavelength", 0.05, 0.2) * side
    return ring_waves(image, centre, wavelength, rng.uniform("phase", 0, 2 * math.pi), amplitude, side // 2)
