"""Noise sequences: frame 0 is the clean image, and every later frame an independent noisy copy of it."""

from __future__ import annotations

from brittle._types import Image
from brittle.corruptions.imagenet_p.perturbation import DrawFrame, perturbation
from brittle.corruptions.images import Draws
from brittle.corruptions.kernels.noise import add_normal, count_photons


@perturbation(
    test=True,
    noise=True,
    at224={"frames": 31, "sigma": (0.03, 0.05, 0.08)},
    at64={"sigma": (0.025, 0.05, 0.075)},
    at32={"sigma": (0.02, 0.04, 0.06)},
    at299={"sigma": (0.035, 0.055, 0.085)},
)
def gaussian_noise(image: Image, rng: Draws, *, sigma: float) -> DrawFrame:
    """Normal noise, drawn independently for every frame."""
    return lambda i: add_normal(image, rng.key(f"frame {i}"), constant=255 * sigma) if i else image


@perturbation(
    test=True,
    noise=True,
    at224={"frames": 31, "photons": (300, 120, 60)},
    at64={"photons": (500, 250, 125)},
    at32={"photons": (700, 400, 200)},
    at299={"photons": (250, 100, 50)},
)
def shot_noise(image: Image, rng: Draws, *, photons: float) -> DrawFrame:
    """Photon counts, drawn independently for every frame."""
    return lambda i: count_photons(image, rng.key(f"frame {i}"), float(photons)) if i else image


@perturbation(
    test=False,
    noise=True,
    at224={"frames": 31, "sigma": (0.05, 0.10, 0.15)},
    at32={"sigma": (0.05, 0.07, 0.10)},
    at299={"sigma": (0.06, 0.11, 0.16)},
)
def speckle_noise(image: Image, rng: Draws, *, sigma: float) -> DrawFrame:
    """Noise in proportion to brightness, drawn independently for every frame."""
    return lambda i: add_normal(image, rng.key(f"frame {i}"), gain=sigma) if i else image
