from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.stamps import DIAMOND, stamp_greys
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import integers, levels


@corruption(
    family="occlusion",
    source="noc",
    count=integers(9, 76, clean=0),
    pixel=levels(1, 1, 1, 1, 1, clean=None, px=1),
)
def rhombus(image: Image, rng: Draws, *, count: float, pixel: float) -> Image:
    """Grey diamonds all over the picture, each in its own shade.

    Quirk kept: the diamonds are 13 rows high and 14 columns wide; the paper calls them 7×7. Lengths grow with the
    shorter side of the image, the number stays; where diamonds overlap, the later one is seen.
    """
    return stamp_greys(image, DIAMOND, rng.key("diamonds"), int(count), pixel)
