from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.caustics import caustics
from brittle.corruptions.kernels.layer import add_layer
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly


@corruption(family="noise", source="c-bar", intensity=evenly(255, clean=0, steps=10))
def caustic_noise(image: Image, rng: Draws, *, intensity: float) -> Image:
    """Light on the bottom of a pool: bright patches between the curves; it only brightens.

    The pattern repeats after 0.75 to 1.25 times the shorter side, with a faint seam, as published.
    """
    height, width = image.shape[:2]
    time, size = rng.uniform("time", 0.5, 2), rng.uniform("size", 0.75, 1.25) * min(height, width)
    return add_layer(image, caustics(height, width, time=time, size=size), intensity)
