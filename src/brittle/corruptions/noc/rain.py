from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.stamps import DISC, stamp_whitening
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import integers, levels


@corruption(
    family="weather",
    source="noc",
    count=integers(12, 120, clean=0),
    pixel=levels(1, 1, 1, 1, 1, clean=None, px=1),
)
def rain(image: Image, rng: Draws, *, count: float, pixel: float) -> Image:
    """Drops on the lens: discs that draw what they cover half-way to white.

    Quirks kept: where drops overlap, each halves the rest again; they are 13 pixels across, the paper says radius 7.
    Lengths grow with the shorter side of the image, the number stays.
    """
    return stamp_whitening(image, DISC, rng.key("drops"), int(count), pixel)
