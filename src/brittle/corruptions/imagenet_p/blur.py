"""Blur sequences: motion blur that turns, zoom blur and Gaussian blur that grow."""

from __future__ import annotations

import numpy as np

from brittle._types import Image
from brittle.corruptions.imagenet_p.perturbation import DrawFrame, perturbation
from brittle.corruptions.images import Draws
from brittle.corruptions.kernels.arithmetic import truncate
from brittle.corruptions.kernels.blur import gaussian, mean_of_zooms
from brittle.corruptions.kernels.blur import motion_blur as blur


@perturbation(
    test=True,
    at224={"frames": 31, "radius": 10, "sigma": 3, "degrees": 4, "last": 30},
    at64={"radius": 14, "degrees": 5},
    at32={"frames": 21, "radius": 6, "sigma": 1.8, "degrees": 9, "last": 20},
    at299={"radius": 13},
)
def motion_blur(
    image: Image,
    rng: Draws,  # noqa: ARG001
    *,
    radius: float,
    sigma: float,
    degrees: float,
    last: int,
) -> DrawFrame:
    """A trail of constant length turns to the horizontal.

    Not kept: at 64 px the original blurs the full-size photograph and then reduces it; here the image itself is
    blurred.
    """
    return lambda i: np.rint(blur(image, radius, sigma, degrees * (i - last))).astype(np.uint8)


@perturbation(test=True, at224={"frames": 31, "step": 0.004})
def zoom_blur(image: Image, rng: Draws, *, step: float) -> DrawFrame:  # noqa: ARG001
    """The running mean of ever larger enlargements, 0.4 % apart."""
    return lambda i: mean_of_zooms(image, 1 + step * i, i + 1, clean_again=False)


@perturbation(
    test=False,
    at224={"frames": 31, "first": 0.25, "step": 0.035, "cut": 6},
    at64={"first": 0.35, "step": 0.014, "cut": 7},
    at32={"first": 0.3, "step": 0.015, "cut": 7},
    at299={"first": 0.35},
)
def gaussian_blur(image: Image, rng: Draws, *, first: float, step: float, cut: float) -> DrawFrame:  # noqa: ARG001
    """A Gaussian that widens, its kernel ending at 6 or 7 standard deviations."""
    return lambda i: truncate(gaussian(image, first + step * i, cut=cut), image)
