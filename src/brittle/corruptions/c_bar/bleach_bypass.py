from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.film import bleach_bypass as bypass
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly


@corruption(family="colour", source="c-bar", channels="rgb", amount=evenly(1, clean=0, steps=10))
def bleach_bypass(image: Image, rng: Draws, *, amount: float) -> Image:  # noqa: ARG001
    """Film whose silver was not bleached out: harsh contrast, from the picture's luma laid over itself.

    Quirks kept: twice the pixel value is formed in 8 bit, so in dark surroundings bright channels wrap to dark
    ones; nothing is clipped at the end, so values slightly below 0 wrap to almost white. Nothing is drawn.
    """
    return bypass(image, amount)
