import numpy as np
from numpy.typing import NDArray

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly


@corruption(family="digital", source="syn2nat", monotone=False, scale=evenly(0.45, clean=1))
def downscale(image: Image, rng: Draws, *, scale: float) -> Image:  # noqa: ARG001
    """Coarse pixels: shrunk to 0.45 of the size and enlarged again, 224 → 101 → 224, without any averaging.

    Both ways take the nearest pixel towards the top left, so the picture also moves a little. The small picture has
    a whole number of pixels: the effect moves in steps, and it is not monotone, because near one half every second
    pixel is simply repeated, while other scales displace more of them.
    """
    rows, columns = _nearest(image.shape[0], scale), _nearest(image.shape[1], scale)
    return np.take(np.take(image, rows, axis=0), columns, axis=1)


def _nearest(length: int, scale: float) -> NDArray[np.int64]:
    """Which pixel each pixel shows after both ways."""
    small = max(1, round(length * scale))
    down = np.minimum((np.arange(small) / scale).astype(np.int64), length - 1)
    up = np.arange(length) * small // length
    return down[up]
