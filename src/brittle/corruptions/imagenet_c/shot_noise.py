import math

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.poisson import count_photons
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import levels


@corruption(
    family="noise",
    source="imagenet-c",
    photons=levels(
        *(60, 25, 12, 5, 3),
        at32=(500, 250, 100, 75, 50),
        at64=(250, 100, 50, 30, 15),
        at299=(50, 20, 10, 5, 3),
        clean=math.inf,
        scale="inverse-sqrt",
    ),
)
def shot_noise(image: Image, rng: Draws, *, photons: float) -> Image:
    """Photon counting: Poisson(λ·x)/λ for each element, where white stands for λ photons. Black stays black.

    Between the levels the relative noise 1/√λ moves linearly. Above 2,000 photons (a severity close to 0)
    counts are rounded normal variates.
    """
    return count_photons(image, rng.key("noise"), photons)
