import numpy as np

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.palette import colour_by_luma
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly


@corruption(family="colour", source="c-bar", channels="rgb", amount=evenly(0.5, clean=0, steps=10))
def pseudocolor(image: Image, rng: Draws, *, amount: float) -> Image:
    """The picture is tinted by a scale of five random colours along its luma, as in a heat map.

    Between two colours the way is partly straight, partly a smooth step, in a share that is drawn. Quirks kept:
    the smooth part takes the colour difference modulo 256, so a falling component rises instead and the scale
    breaks at the band's end; colour components are 0 to 254.
    """
    colours = [[rng.integer(f"colour {k} {channel}", 255) for channel in "rgb"] for k in range(5)]
    return colour_by_luma(image, np.array(colours, np.int64), rng.uniform("smoothness", 0.25, 0.75), amount)
