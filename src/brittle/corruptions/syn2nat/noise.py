"""Noise of Syn2Nat's candidates."""

import math

from brittle._types import Image, Pixels
from brittle.corruptions.images import Draws
from brittle.corruptions.kernels.noise import add_normal, multiply_pixels, sensor_noise
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly


@corruption(
    family="noise",
    source="syn2nat",
    full_depth=True,
    channels="any",
    smallest=evenly(math.sqrt(500), clean=0),
    largest=evenly(math.sqrt(1000), clean=0),
)
def gauss_noise(image: Pixels, rng: Draws, *, smallest: float, largest: float) -> Pixels:
    """Normal noise on every value, with a variance drawn from 500 … 1000: σ = 22 to 32 grey levels.

    The parameters are standard deviations; what is uniform between them is the variance, as published.
    """
    sigma = math.sqrt(rng.uniform("variance", smallest**2, largest**2))
    return add_normal(image, rng.key("noise"), constant=sigma)


@corruption(
    family="noise",
    source="syn2nat",
    channels="rgb",
    least_shift=evenly(0.2, clean=0),
    most_shift=evenly(0.5, clean=0),
    least_intensity=evenly(0.5, clean=0),
    most_intensity=evenly(1, clean=0),
)
def iso_noise(
    image: Image, rng: Draws, *, least_shift: float, most_shift: float, least_intensity: float, most_intensity: float
) -> Image:
    """Coloured grain of a sensor at high sensitivity: lightness is lifted by Poisson noise, hue trembles.

    Both are in HLS. Quirks kept: the Poisson rate follows the standard deviation of the picture's lightness, so a
    flat picture gets none; the noise only brightens; and the hue of σ = shift·intensity·360°, up to half the
    circle, is nearly any hue. Grey pixels have no hue to lose.
    """
    intensity = rng.uniform("intensity", least_intensity, most_intensity)
    shift = rng.uniform("shift", least_shift, most_shift)
    return sensor_noise(image, rng.key("noise"), rate=intensity, hue=shift * intensity * 360)


@corruption(
    family="noise", source="syn2nat", full_depth=True, smallest=evenly(0.7, clean=1), largest=evenly(1.3, clean=1)
)
def multiplicative_noise(image: Pixels, rng: Draws, *, smallest: float, largest: float) -> Pixels:
    """Every pixel is brightened or darkened by its own factor of 0.7 … 1.3; the colours stay."""
    return multiply_pixels(image, rng.key("factors"), smallest, largest)
