import numpy as np

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.grey_table import GREYS, through_table
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import levels


@corruption(
    family="colour",
    source="syn2nat",
    threshold=levels(244.8, 233.6, 222.4, 211.2, 200, clean=244.8),
    amount=levels(1, 1, 1, 1, 1, clean=0),
)
def solarize(image: Image, rng: Draws, *, threshold: float, amount: float) -> Image:  # noqa: ARG001
    """The brightest places turn dark: values of 200 and more are inverted.

    From severity 1 on the threshold comes down evenly, from 256; below, the inversion itself fades in.
    """
    inverted = GREYS + amount * (255 - 2 * GREYS)
    return through_table(image, np.where(threshold <= GREYS, inverted, GREYS))
