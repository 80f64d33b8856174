"""The seven shifts of the tiny world, drawn by corruptions of brittle, one after the other."""

from __future__ import annotations

import numpy as np

from brittle._types import Image
from brittle.corruptions import corrupt

STEPS: dict[str, tuple[tuple[str, float, float], ...]] = {
    "heavy_snow": (("imagenet-c/frost", 1.0, 3.0), ("imagenet-c/snow", 2.0, 5.0), ("imagenet-c/snow", 2.0, 5.0)),
    "heavy_rain": (
        ("imagenet-c/spatter", 2.0, 3.0),
        ("syn2nat/random_rain", 3.0, 5.0),
        ("imagenet-c/motion_blur", 0.5, 2.0),
    ),
    "heavy_fog": (("imagenet-c/fog", 2.0, 5.0), ("imagenet-c/fog", 2.0, 5.0)),
    "heavy_sandstorm": (
        ("imagenet-c/fog", 2.0, 5.0),
        ("imagenet-c/fog", 1.0, 4.0),
        ("syn2nat/to_sepia", 5.0, 5.0),
        ("imagenet-c/speckle_noise", 1.0, 4.0),
    ),
    "cartoon_style": (("c-bar/pseudocolor", 6.0, 10.0), ("syn2nat/posterize", 3.0, 5.0)),
    "pencil_sketch_style": (("syn2nat/emboss", 1.0, 5.0), ("syn2nat/invert_img", 1.0, 1.0)),
    "graffiti_style": (("c-bar/brownish_noise", 3.0, 10.0),),
}
"""The corruptions of each shift, and between which severities they go."""


def draw_shift(image: Image, shift: str, amount: float, sample: int) -> Image:
    """An image in a shift; amount 0 is a little of it, 1 is all."""
    for corruption, least, most in STEPS[shift]:
        image = corrupt(image, corruption, least + amount * (most - least), sample=sample)
    return np.asarray(image, np.uint8)
