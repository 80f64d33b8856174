import math

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.noise import add_normal
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly


@corruption(
    family="noise",
    source="syn2nat",
    smallest=evenly(math.sqrt(500), clean=0),
    largest=evenly(math.sqrt(1000), clean=0),
)
def gauss_noise(image: Image, rng: Draws, *, smallest: float, largest: float) -> Image:
    """Normal noise on every value, with a variance drawn from 500 … 1000: σ = 22 to 32 grey levels.

    The parameters are standard deviations; what is uniform between them is the variance, as published.
    """
    sigma = math.sqrt(rng.uniform("variance", smallest**2, largest**2))
    return add_normal(image, rng.key("noise"), constant=sigma)
