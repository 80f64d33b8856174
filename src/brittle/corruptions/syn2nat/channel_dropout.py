import numpy as np

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.grey_table import GREYS, through_table
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly


@corruption(family="colour", source="syn2nat", channels="rgb", dimmed=evenly(1, clean=0))
def channel_dropout(image: Image, rng: Draws, *, dimmed: float) -> Image:
    """Red, green or blue goes missing: one channel, drawn at equal odds, fades to 0."""
    kept = np.ones(3)
    kept[rng.integer("channel", 3)] -= dimmed
    return through_table(image, np.outer(GREYS, kept))
