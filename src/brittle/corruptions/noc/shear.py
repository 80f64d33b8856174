import math

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.nearest import affine_nearest
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import integers


@corruption(family="geometry", source="noc", degrees=integers(12, 39, clean=0))
def shear(image: Image, rng: Draws, *, degrees: float) -> Image:
    """Rows slide sideways, upper and lower ones in opposite directions, by a whole angle of either sign.

    The middle row stays, black comes in, and pixels are moved whole (nearest neighbour), as Pillow moves them.
    """
    slope = math.tan(math.radians(degrees if rng.integer("sign", 2) else -degrees))
    return affine_nearest(image, (1.0, slope, 0.0, 1.0))
