from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.registry import corruption


@corruption(family="colour", source="syn2nat")
def invert_img(image: Image, rng: Draws) -> Image:  # noqa: ARG001
    """The negative of the picture, 255 − x.

    It is on or off: half-way to the negative there is no picture left. Every severity above 0 is the published one.
    """
    return 255 - image
