import numpy as np

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.layer import fade_to_white
from brittle.corruptions.kernels.stars import star
from brittle.corruptions.kernels.words import normals
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly

STARS = 5


@corruption(family="noise", source="c-bar", fades=False, radius=evenly(0.1 * 224, clean=0, steps=10, px=1))
def sparkles(image: Image, rng: Draws, *, radius: float) -> Image:
    """Five white stars of 50 to 199 rays each, glittering over the picture.

    Quirk kept: a ray is at least one pixel long at any size, so on small images the first severities look alike,
    and just above severity 0 there are already five points of light instead of none.
    """
    height, width = image.shape[:2]
    kept = np.ones((height, width), np.float32)
    for i in range(STARS):
        rays = 50 + rng.integer(f"rays {i}", 150)
        lengths = radius * (1 + 0.25 * normals(rng.key(f"lengths {i}"), 1, rays)[0])
        centre = (rng.uniform(f"y {i}", 0, height), rng.uniform(f"x {i}", 0, width))
        kept *= 1 - star(height, width, centre=centre, lengths=np.maximum(lengths, 1))
    return fade_to_white(image, kept)
