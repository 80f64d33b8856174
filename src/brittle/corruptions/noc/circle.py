from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.stamps import DISC, stamp_greys
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import integers, levels


@corruption(
    family="occlusion",
    source="noc",
    count=integers(7, 50, clean=0),
    pixel=levels(1, 1, 1, 1, 1, clean=None, px=1),
)
def circle(image: Image, rng: Draws, *, count: float, pixel: float) -> Image:
    """Grey discs all over the picture, each in its own shade.

    Quirk kept: the discs are 13 pixels across; the paper says radius 7. Lengths grow with the shorter side of the
    image, the number stays; where discs overlap, the later one is seen.
    """
    return stamp_greys(image, DISC, rng.key("discs"), int(count), pixel)
