import math

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.layer import add_layer
from brittle.corruptions.kernels.swirls import swirls
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly


@corruption(family="noise", source="c-bar", intensity=evenly(64, clean=0, steps=10))
def plasma_noise(image: Image, rng: Draws, *, intensity: float) -> Image:
    """Swirling colours, as of old screen savers, laid over a slightly dimmed picture.

    The picture keeps 1 − intensity/255 of its brightness, while the colours, which reach from −intensity to
    +intensity, add nothing on average: so it darkens. A grey image gets the first of the three colours.
    """
    height, width, channels = image.shape
    colours = swirls(
        height,
        width,
        channels,
        time=rng.uniform("time", 0, 6 * math.pi),
        steps=4 + rng.integer("steps", 3),
        decay=2.25 - rng.uniform("sharpness", 0.5, 1),
        size=rng.uniform("size", 0.075, 0.2) * min(height, width),
    )
    return add_layer(image, colours, intensity, keep=1 - intensity / 255)
