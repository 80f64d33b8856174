import math

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.nearest import affine_nearest
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import integers


@corruption(family="geometry", source="noc", degrees=integers(7, 50, clean=0))
def rotation(image: Image, rng: Draws, *, degrees: float) -> Image:
    """The picture turns about its centre by a whole angle of either sign; black fills the corners.

    Pixels are moved whole (nearest neighbour), as Pillow moves them, so slanted edges are jagged.
    """
    angle = math.radians(degrees if rng.integer("sign", 2) else -degrees)
    cos, sin = math.cos(angle), math.sin(angle)
    return affine_nearest(image, (cos, sin, -sin, cos))
