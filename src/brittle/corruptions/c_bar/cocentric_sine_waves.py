from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.layer import add_layer
from brittle.corruptions.kernels.waves import bent_rings
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly

NARROWEST = 1e-6
"""Rings have a width, even if 0 is drawn."""


@corruption(family="noise", source="c-bar", intensity=evenly(128, clean=0, steps=10))
def cocentric_sine_waves(image: Image, rng: Draws, *, intensity: float) -> Image:
    """Grey rings around a random centre, bent into lobes.

    Quirks kept: the spelling; the profile of a ring is a sawtooth, not a sine; the number of lobes is not whole,
    which leaves a seam above the centre; rings may be narrower than a pixel, and then look like noise.
    """
    height, width = image.shape[:2]
    side = min(height, width)
    rings = bent_rings(
        height,
        width,
        centre=(rng.uniform("x", 0, width), rng.uniform("y", 0, height)),
        spacing=max(rng.uniform("spacing", 0, side / 10), NARROWEST),
        bend=rng.uniform("bend", 0, side / 10),
        lobes=rng.uniform("lobes", 0, 10),
    )
    return add_layer(image, rings, intensity)
