import numpy as np

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.coloured_noise import blue_noise
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly


@corruption(family="occlusion", source="c-bar", fades=False, threshold=evenly(0.5, clean=-2.5, steps=10))
def blue_noise_sample(image: Image, rng: Draws, *, threshold: float) -> Image:
    """Pixels turn black, evenly scattered: those where blue noise is not above a threshold.

    Quirk kept: the threshold starts at −2.5 standard deviations, so just above severity 0 already 0.6 % are black.
    """
    height, width = image.shape[:2]
    kept = blue_noise(rng.key("phases"), height, width) > threshold
    return np.asarray(image * kept[:, :, np.newaxis], np.uint8)
