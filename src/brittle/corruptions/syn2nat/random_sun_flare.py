import math

import cv2
import numpy as np

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.discs import count_discs, layers_of_white
from brittle.corruptions.kernels.rounding import mix
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly

CIRCLES = 10
RINGS = 20


@corruption(
    family="weather",
    source="syn2nat",
    strength=evenly(1, clean=0),
    radius=evenly(200, clean=200, px=1),
)
def random_sun_flare(image: Image, rng: Draws, *, strength: float, radius: float) -> Image:
    """The sun in the upper half of the picture, with a wide white glow and a few faint spots on a line through it.

    The glow is 20 white discs one over the other, up to 200 pixels in radius, with weights a³ from 1 down to 0. The
    6 to 10 spots lie on one overlay, so that a spot shows again with each one after it. Everything is rounded to
    8 bit after each step. Not kept: a line so steep that its spots overflow; spots far outside are just not seen.
    """
    height, width = image.shape[:2]
    y, x = int(rng.uniform("row", 0, 0.5) * height), int(rng.uniform("column") * width)
    spotted = _with_spots(image, rng, y, x, strength, radius / 200)
    radii = np.floor(np.linspace(1, 200, RINGS)) * (radius / 200)
    weights = strength * np.linspace(1, 0, RINGS) ** 3
    counts = count_discs(height, width, np.full(RINGS, float(y)), np.full(RINGS, float(x)), radii)
    return layers_of_white(spotted, counts, weights)


def _with_spots(image: Image, rng: Draws, y: int, x: int, strength: float, scale: float) -> Image:
    height, width, channels = image.shape
    slope = math.tan(rng.uniform("angle", 0, 2 * math.pi))
    overlay, out = image.copy(), image
    for i in range(6 + rng.integer("circles", CIRCLES - 5)):
        column = rng.integer(f"column{i}", width)
        row = y - slope * (column - x)
        size = max(1, round((1, 8)[rng.integer(f"size{i}", 2)] * scale))
        colour = [205 + rng.integer(f"{channel}{i}", 51) for channel in ("red", "green", "blue")[:channels]]
        if -size <= row <= height + size:
            cv2.circle(overlay, (column, round(row)), size, colour, -1)
        weight = strength * rng.uniform(f"weight{i}", 0.05, 0.2)
        out = mix(out, overlay, weight)
    return out
