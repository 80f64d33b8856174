import math

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.palette import dither_along_rows
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly


@corruption(family="colour", source="c-bar", fades=False, levels=evenly(2, clean=14, steps=12))
def color_dither(image: Image, rng: Draws, *, levels: float) -> Image:  # noqa: ARG001
    """Few levels per channel, dithered into horizontal streaks.

    Severity goes up to 12, where two levels are left; the number of levels is 14 minus the whole part of the
    severity, so 14 levels jump in at once above severity 0. Quirks kept: meant as serpentine Floyd–Steinberg, but
    never serpentine, and the shares of the row below go astray: each error only goes right, 7/16 of it except
    in the first row and 1/16 except in the last. Nothing is drawn.
    """
    return dither_along_rows(image, math.ceil(levels))
