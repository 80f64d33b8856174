import math

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.lines import draw_lines
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly


@corruption(family="occlusion", source="c-bar", line_count=evenly(224, clean=0, steps=10, px=1))
def lines(image: Image, rng: Draws, *, line_count: float) -> Image:
    """Thin grey lines cross the picture, more or less in one direction.

    Base angle and spread are drawn. Quirks kept: lines are one pixel wide at any size, and their number grows with
    the side instead; they end one side away from the point they go through; each is cut to 8 bit before the next.
    The coverage of a pixel is 1 minus its distance to the line, which is what scikit-image's `line_aa` gives.
    """
    angle, spread = rng.uniform("angle", 0, 2 * math.pi), rng.uniform("spread", 0.1, 1)
    count = math.floor(line_count + 1e-9)  # 0.1·s·side, free of rounding errors
    return draw_lines(image, rng.key("lines"), count, angle, spread, min(image.shape[:2]), 128)
