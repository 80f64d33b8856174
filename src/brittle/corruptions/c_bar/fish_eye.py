from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.bytes import truncate
from brittle.corruptions.kernels.lenses import fish_eyes
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly

LENSES = 0.01 * 224 * 224
"""How many lenses a square image has, before the fraction is cut off."""


@corruption(family="geometry", source="c-bar", eta=evenly(3, clean=1, steps=10))
def fish_eye(image: Image, rng: Draws, *, eta: float) -> Image:
    """501 small glass lenses lie over the picture, one on top of the other, and enlarge what is below them.

    Severity is the refractive index. Lenses have a radius of 5 % of the shorter side, but at least 3 px (down to
    32 px; below that it shrinks with the image), so small pictures are covered more densely. A
    picture that is not square has more lenses, by its area.
    """
    height, width = image.shape[:2]
    side = min(height, width)
    radius = max(0.05 * side, min(3.0, 3 / 32 * side))
    count = int(LENSES * max(height, width) / side)
    return truncate(fish_eyes(image, rng.key("lenses"), count, radius, eta))
