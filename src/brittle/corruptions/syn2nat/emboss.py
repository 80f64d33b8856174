import numpy as np

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.taps import correlate
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly


@corruption(family="digital", source="syn2nat", alpha=evenly(1, clean=0))
def emboss(image: Image, rng: Draws, *, alpha: float) -> Image:
    """Edges look raised, as if lit from the bottom right: a 3×3 kernel of strength 0.2 … 0.7.

    The published effect replaces the picture; lower severities mix it in.
    """
    s = rng.uniform("strength", 0.2, 0.7)
    relief = np.array([[-1 - s, -s, 0], [-s, 1, s], [0, s, 1 + s]])
    identity = np.zeros((3, 3))
    identity[1, 1] = 1
    return correlate(image, identity + alpha * (relief - identity))
