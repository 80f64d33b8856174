from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.rectangle import black_rectangle
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly


@corruption(family="occlusion", source="syn2nat", side=evenly(150, clean=0, px=1))
def cutout(image: Image, rng: Draws, *, side: float) -> Image:
    """One black square of 150×150 pixels, two thirds of the width of the picture.

    Quirk kept: a square whose start lies above or left of the frame is moved in whole, one that ends below or
    right of it is cut off. A pixel that an edge covers in part is darkened by that part.
    """
    height, width = image.shape[:2]
    top = max(rng.integer("row", height + 1) - side / 2, 0)
    left = max(rng.integer("column", width + 1) - side / 2, 0)
    return black_rectangle(image, top, top + side, left, left + side)
