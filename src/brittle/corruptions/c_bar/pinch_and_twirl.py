import math

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.bytes import truncate
from brittle.corruptions.kernels.lenses import pinch_and_twirl as whirls
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly

COARSE_BELOW = math.sqrt(32 * 224)
"""Images with a shorter side below this (85 px) have the grid that is published for 32 px."""


@corruption(
    family="geometry",
    source="c-bar",
    fades=False,
    abs_angle_rad=evenly(math.pi / 2, clean=0, steps=10),
    amount=evenly(0.5, clean=0.1, steps=10),
)
def pinch_and_twirl(image: Image, rng: Draws, *, abs_angle_rad: float, amount: float) -> Image:
    """A grid of whirls, each pinched towards its centre and twisted one way or the other.

    5×5 whirls as published for 224 px, 3×3 as for 32 px, more along a longer side; rows and columns left over at
    the end stay untouched. Quirk kept: the pinch starts at 0.1, so it jumps in at once above severity 0.
    """
    height, width = image.shape[:2]
    side = min(height, width)
    across = 3 if side < COARSE_BELOW else 5
    cell = max(side // across, 1)
    rows, columns = (min(length * across // side, length // cell) for length in (height, width))
    return truncate(whirls(image, rng.key("signs"), cell, rows, columns, abs_angle_rad, amount))
