import numpy as np

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.coloured_noise import brown_noise
from brittle.corruptions.kernels.layer import add_layer
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly


@corruption(family="noise", source="c-bar", intensity=evenly(64, clean=0, steps=10))
def brownish_noise(image: Image, rng: Draws, *, intensity: float) -> Image:
    """Large soft clouds of colour: random noise whose amplitude falls with the square of the frequency.

    Quirks kept: the mean is not removed and is the largest term, so each channel is shifted as a whole, which
    gives a colour cast; phases are copied with the wrong sign and the real part is taken. Frequencies are counted
    per side. Beyond 1,024 px a field of that size is enlarged.
    """
    height, width, channels = image.shape
    planes = [brown_noise(rng.key(f"phases {c}"), height, width) for c in range(channels)]
    return add_layer(image, np.stack(planes), intensity)
