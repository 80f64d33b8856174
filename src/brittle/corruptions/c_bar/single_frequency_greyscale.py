import math

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.layer import add_layer
from brittle.corruptions.kernels.waves import plane_wave
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly


@corruption(family="noise", source="c-bar", intensity=evenly(196, clean=0, steps=10))
def single_frequency_greyscale(image: Image, rng: Draws, *, intensity: float) -> Image:
    """Grey stripes: one plane sine wave of a random direction, frequency and phase.

    One frequency is uniform on ±π radians per pixel, the other is smaller; which of them runs across is a fair
    coin. Quirk kept: they do not depend on the size of the image, so on a larger one the stripes are finer.
    """
    height, width = image.shape[:2]
    large = rng.uniform("large", -math.pi, math.pi)
    small = abs(large) * rng.uniform("small", -1, 1)
    across, down = (large, small) if rng.uniform("order") < 0.5 else (small, large)
    wave = plane_wave(height, width, across=across, down=down, phase=rng.uniform("phase", 0, 2 * math.pi))
    return add_layer(image, wave, intensity)
