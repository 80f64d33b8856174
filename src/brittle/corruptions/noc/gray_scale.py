from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.rotate_hue import mix_with_luma
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly


@corruption(family="colour", source="noc", channels="rgb", weight=evenly(1.0, first=0.49, clean=0))
def gray_scale(image: Image, rng: Draws, *, weight: float) -> Image:  # noqa: ARG001
    """Colours fade to grey, the Rec. 601 luma as a whole number, and are gone at severity 5.

    Its strong end is not calibrated as the others are: a ResNet-18 still keeps 0.70 of its accuracy there.
    """
    return mix_with_luma(image, weight)
