"""Noise of ImageNet-C."""

import math

from brittle._types import Pixels
from brittle.corruptions.images import Draws
from brittle.corruptions.kernels.noise import add_normal, count_photons, replace_with_extremes
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import levels


@corruption(
    family="noise",
    source="imagenet-c",
    full_depth=True,
    channels="any",
    sigma=levels(
        *(0.08, 0.12, 0.18, 0.26, 0.38),
        at32=(0.04, 0.06, 0.08, 0.09, 0.10),
        at64=(0.04, 0.08, 0.12, 0.15, 0.18),
        at299=(0.09, 0.13, 0.19, 0.27, 0.40),
        clean=0,
    ),
)
def gaussian_noise(image: Pixels, rng: Draws, *, sigma: float) -> Pixels:
    """Normal noise of standard deviation σ, independent for every pixel and channel, as from a sensor in low light."""
    return add_normal(image, rng.key("noise"), constant=255 * sigma)


@corruption(
    family="noise",
    source="imagenet-c",
    full_depth=True,
    channels="any",
    amount=levels(
        *(0.03, 0.06, 0.09, 0.17, 0.27),
        at32=(0.01, 0.02, 0.03, 0.05, 0.07),
        at64=(0.01, 0.02, 0.05, 0.08, 0.14),
        at299=(0.04, 0.07, 0.10, 0.18, 0.28),
        clean=0,
    ),
)
def impulse_noise(image: Pixels, rng: Draws, *, amount: float) -> Pixels:
    """Salt and pepper: a share of all elements becomes 0 or 255, at even odds.

    Quirk kept: channels are hit separately, so the specks are coloured.
    """
    return replace_with_extremes(image, rng.key("specks"), amount)


@corruption(
    family="noise",
    source="imagenet-c",
    full_depth=True,
    channels="any",
    photons=levels(
        *(60, 25, 12, 5, 3),
        at32=(500, 250, 100, 75, 50),
        at64=(250, 100, 50, 30, 15),
        at299=(50, 20, 10, 5, 3),
        clean=math.inf,
        scale="inverse-sqrt",
    ),
)
def shot_noise(image: Pixels, rng: Draws, *, photons: float) -> Pixels:
    """Photon counting: Poisson(λ·x)/λ for each element, where white stands for λ photons. Black stays black.

    Between the levels the relative noise 1/√λ moves linearly. Above 2,000 photons (a severity close to 0)
    counts are rounded normal variates.
    """
    return count_photons(image, rng.key("noise"), photons)


@corruption(
    family="noise",
    source="imagenet-c",
    full_depth=True,
    channels="any",
    sigma=levels(
        *(0.15, 0.20, 0.35, 0.45, 0.60),
        at32=(0.06, 0.10, 0.12, 0.16, 0.20),
        at64=(0.15, 0.20, 0.25, 0.30, 0.35),
        at299=(0.16, 0.21, 0.36, 0.46, 0.61),
        clean=0,
    ),
)
def speckle_noise(image: Pixels, rng: Draws, *, sigma: float) -> Pixels:
    """Normal noise in proportion to brightness: x + x·n for every element. One of the four extra corruptions."""
    return add_normal(image, rng.key("noise"), gain=sigma)
