import math

import numpy as np

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.bspline import read_smoothed
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly


@corruption(
    family="blur",
    source="c-bar",
    channels="rgb",
    fades=False,
    moves_pixels=True,
    shift_px=evenly(22.4, clean=0, steps=10, px=1),
)
def chromatic_abberation(image: Image, rng: Draws, *, shift_px: float) -> Image:
    """Red, green and blue are shifted apart, each in a direction of its own.

    Quirks kept: the spelling; the cubic B-spline is used without its prefilter, so every channel is also blurred
    by (1, 4, 1)/6 along both axes however small the shift; where a channel has left the frame it is 0. Because of
    these two the effect jumps in at once above severity 0. Channels are rounded to 8 bit, as SciPy does
    with 8-bit pictures.
    """
    height, width = image.shape[:2]
    angles = [rng.uniform(f"angle {channel}", 0, 2 * math.pi) for channel in "rgb"]
    rows = np.stack([np.arange(height) - shift_px * math.cos(angle) for angle in angles])
    columns = np.stack([np.arange(width) - shift_px * math.sin(angle) for angle in angles])
    return read_smoothed(image, rows, columns)
