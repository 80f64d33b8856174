import numpy as np

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.coloured_noise import blue_noise as draw
from brittle.corruptions.kernels.layer import add_layer
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly


@corruption(family="noise", source="c-bar", intensity=evenly(196, clean=0, steps=10))
def blue_noise(image: Image, rng: Draws, *, intensity: float) -> Image:
    """Fine grain in every channel: random noise whose amplitude grows with the frequency.

    Quirk kept: phases are copied with the wrong sign, so the inverse transform is complex, and its real part is
    taken. Beyond 1,024 px a tile of that size is repeated, without a seam.
    """
    height, width, channels = image.shape
    planes = [draw(rng.key(f"phases {c}"), height, width) for c in range(channels)]
    return add_layer(image, np.stack(planes), intensity)
