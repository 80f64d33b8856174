from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.displacement import scatter as read_nearby
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly


@corruption(family="blur", source="c-bar", radius_px=evenly(22.4, clean=0, steps=10, px=1))
def scatter(image: Image, rng: Draws, *, radius_px: float) -> Image:
    """Each pixel is read from a random place near it, as through rough glass.

    Quirk kept: what is random is only the seed of a hash of row and column, so the scatter has a faint
    texture, coarser for a small seed. Places beyond the frame are moved to its edge.
    """
    return read_nearby(image, rng.uniform("seed", 0, 10), radius_px)
