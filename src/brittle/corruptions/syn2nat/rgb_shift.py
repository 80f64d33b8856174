import numpy as np

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.grey_table import GREYS, through_table
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly


@corruption(family="colour", source="syn2nat", limit=evenly(200, clean=0))
def rgb_shift(image: Image, rng: Draws, *, limit: float) -> Image:
    """A strong colour cast: each channel is shifted by its own draw of up to ± 200 grey levels.

    A grey picture has one channel and one shift.
    """
    shifts = [rng.uniform(channel, -limit, limit) for channel in ("red", "green", "blue")[: image.shape[2]]]
    return through_table(image, np.add.outer(GREYS, shifts))
