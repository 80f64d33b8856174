from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.grey_table import GREYS, through_table
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly


@corruption(family="colour", source="syn2nat", limit=evenly(0.9, clean=0))
def random_brightness(image: Image, rng: Draws, *, limit: float) -> Image:
    """Brighter or darker by up to 0.9 of the grey scale: x + 255·uniform(−0.9, 0.9)."""
    return through_table(image, GREYS + 255 * rng.uniform("shift", -limit, limit))
