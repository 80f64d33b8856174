from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.film import technicolor as mattes
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly


@corruption(family="colour", source="c-bar", channels="rgb", amount=evenly(1, clean=0, steps=10))
def technicolor(image: Image, rng: Draws, *, amount: float) -> Image:  # noqa: ARG001
    """Three-strip film: each colour is filtered by the mattes of the other two, so colours grow stronger.

    Quirk kept: a channel can reach 2.25 times white and nothing is clipped, so what is beyond white wraps to
    dark, modulo 256 (the published cast leaves that to the platform). Greys stay. Nothing is drawn.
    """
    return mattes(image, amount)
