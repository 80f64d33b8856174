"""Weather sequences: snow whose direction turns, brightness, and water that runs down."""

from __future__ import annotations

import numpy as np

from brittle._types import Field, Image
from brittle.corruptions.imagenet_p.perturbation import DrawFrame, perturbation
from brittle.corruptions.images import Draws
from brittle.corruptions.kernels.blur import gaussian, motion_blur
from brittle.corruptions.kernels.blur import zoom as enlarge
from brittle.corruptions.kernels.colour import shift_value
from brittle.corruptions.kernels.layers import tint
from brittle.corruptions.kernels.random_words import normals
from brittle.corruptions.kernels.shapes import flakes, water_layer, whiten_and_add

WATER = (175.0, 238.0, 238.0)


@perturbation(
    test=True,
    at224={"frames": 31, "loc": 0.05, "scale": 0.3, "zoom": 3, "threshold": 0.5, "radius": 14, "sigma": 4, "mix": 0.85},
    at64={"scale": 0.28, "zoom": 2, "radius": 10, "sigma": 2.5},
    at32={"zoom": 2, "radius": 10, "sigma": 2},
)
def snow(
    image: Image,
    rng: Draws,
    *,
    loc: float,
    scale: float,
    zoom: float,
    threshold: float,
    radius: float,
    sigma: float,
    mix: float,
) -> DrawFrame:
    """One field of flakes whose direction turns by 4° a frame."""
    height, width = image.shape[:2]
    field = enlarge(loc + scale * normals(rng.key("flakes"), height, width), zoom)
    flake_layer = flakes(field, threshold)[:, :, np.newaxis]

    def frame(i: int) -> Image:
        layer = np.rint(motion_blur(flake_layer, radius, sigma, 4 * i - 150))
        return whiten_and_add(image, layer[:, :, 0], mix)

    return frame


@perturbation(test=True, at224={"frames": 31, "step": 0.02}, at32={"step": 0.015})
def brightness(image: Image, rng: Draws, *, step: float) -> DrawFrame:  # noqa: ARG001
    """From dark to bright: the value of HSV moves by an even step, through the clean image in the middle."""
    return lambda i: shift_value(image, step * (i - 15))


@perturbation(
    test=False,
    at224={
        "frames": 31, "loc": 0.65, "scale": 0.27, "sigma": 3.7, "threshold": 0.69, "gain": 0.6,
        "drip": (0.05, 0.1, 0.15, 0.7),
    },
    at64={"loc": 0.6, "scale": 0.25, "sigma": 1.75, "threshold": 0.7, "drip": (0.2, 0.8)},
    at32={"loc": 0.6, "scale": 0.265, "sigma": 1.75, "threshold": 0.7, "drip": (0.2, 0.8)},
    at299={"scale": 0.3, "sigma": 4},
)  # fmt: skip
def spatter(
    image: Image,
    rng: Draws,
    *,
    loc: float,
    scale: float,
    sigma: float,
    threshold: float,
    gain: float,
    drip: tuple[float, ...],
) -> DrawFrame:
    """Water on the lens that runs down: each frame's field is the one before, smeared along the columns."""
    height, width, channels = image.shape
    field = gaussian(loc + scale * normals(rng.key("splash"), height, width), sigma)
    fields: list[Field] = [np.where(field < threshold, np.float32(0), field)]
    colour = WATER if channels == 3 else (sum(w * c for w, c in zip((0.299, 0.587, 0.114), WATER, strict=True)),)

    def frame(i: int) -> Image:
        while len(fields) <= i:
            fields.append(_run_down(fields[-1], drip))
        return tint(image, water_layer(fields[i], 0) * np.float32(gain), colour, opaque=False)

    return frame


def _run_down(field: Field, drip: tuple[float, ...]) -> Field:
    """Each column convolved with the drip, of the same length, as NumPy's `same` mode centres it."""
    height = len(field)
    before = (len(drip) - 1) // 2
    out = np.zeros((height + len(drip) - 1, field.shape[1]), np.float32)
    for k, weight in enumerate(drip):
        out[k : k + height] += np.float32(weight) * field
    return out[before : before + height]
