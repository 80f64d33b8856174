import numpy as np

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.grey_table import look_up
from brittle.corruptions.kernels.rounding import nearest_bytes
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly


@corruption(family="colour", source="noc", weight=evenly(0.74, first=0.33, clean=0))
def contrast(image: Image, rng: Draws, *, weight: float) -> Image:  # noqa: ARG001
    """Everything is drawn towards the mean of all pixels and channels, so greys and colours lie closer together.

    The mean is one number, not one per channel, so colours fade too.
    """
    mean = int(image.sum(dtype=np.int64)) / image.size
    return look_up(image, nearest_bytes((1 - weight) * np.arange(256) + weight * mean))
