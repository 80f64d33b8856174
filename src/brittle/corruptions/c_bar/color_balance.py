from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.colour_wheel import away_from_grey
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly


@corruption(family="colour", source="c-bar", channels="rgb", abs_factor_shift=evenly(1, clean=0, steps=10))
def color_balance(image: Image, rng: Draws, *, abs_factor_shift: float) -> Image:
    """Colours grow twice as strong, or fade to grey: a fair coin says which.

    As Pillow's colour enhancement does it. The released package cannot run this one, for want of an import; this
    is the version of the paper's experiments.
    """
    return away_from_grey(image, 1 + abs_factor_shift if rng.integer("sign", 2) else 1 - abs_factor_shift)
