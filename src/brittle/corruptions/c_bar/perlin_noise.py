import numpy as np

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.layer import add_layer
from brittle.corruptions.kernels.turbulence import turbulence
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly


@corruption(family="noise", source="c-bar", alpha=evenly(0.5, clean=0, steps=10))
def perlin_noise(image: Image, rng: Draws, *, alpha: float) -> Image:
    """Grey smoke: turbulence of five octaves is blended in.

    Quirk kept: the smoke has no value below one half, so it lightens and flattens the picture. Not kept: one
    gradient in 260,000 is drawn as 0/0; here it is 0.
    """
    height, width = image.shape[:2]
    smoke = np.minimum(0.5 * turbulence(rng.key("lattice"), height, width, min(height, width) / 7) + 0.5, 1)
    return add_layer(image, smoke, 255 * alpha, keep=1 - alpha)
