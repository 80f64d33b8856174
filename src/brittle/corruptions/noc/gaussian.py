from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.half_normal import add_half_normal
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly


@corruption(family="noise", source="noc", sigma=evenly(0.18, first=0.05, clean=0))
def gaussian(image: Image, rng: Draws, *, sigma: float) -> Image:
    """Noise that only brightens: |n| with n normal of standard deviation σ, for every pixel and channel.

    Quirk kept: the paper says zero-mean noise, the code takes the absolute value, so the picture also gets brighter,
    by 0.8 σ on average.
    """
    return add_half_normal(image, rng.key("noise"), 255 * sigma)
