import numpy as np

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.taps import correlate
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly


@corruption(
    family="digital",
    source="syn2nat",
    weakest=evenly(0.3, clean=0),
    strongest=evenly(0.6, clean=0),
)
def sharpen(image: Image, rng: Draws, *, weakest: float, strongest: float) -> Image:
    """Edges are overdrawn: 0.3 … 0.6 of a 3×3 sharpening kernel is mixed in.

    The kernel has 8 + l in its middle, with a lightness l of 0.6 … 1, so the picture also darkens a little.
    """
    alpha = rng.uniform("alpha", weakest, strongest)
    kernel = np.full((3, 3), -alpha)
    kernel[1, 1] = 1 - alpha + alpha * (8 + rng.uniform("lightness", 0.6, 1))
    return correlate(image, kernel)
