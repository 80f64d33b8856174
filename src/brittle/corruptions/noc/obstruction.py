from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import integers


@corruption(family="occlusion", source="noc", side=integers(47, 125, clean=0, px=1))
def obstruction(image: Image, rng: Draws, *, side: float) -> Image:
    """One grey square somewhere in the picture, its side from 47 to 125 of 224 pixels.

    Its place is uniform and always fully inside; its grey is uniform and drawn once per image.
    """
    height, width = image.shape[:2]
    length = min(round(side), height, width)
    top, left = rng.integer("row", height - length + 1), rng.integer("column", width - length + 1)
    out = image.copy()
    out[top : top + length, left : left + length] = int(rng.uniform("grey") * 255 + 0.5)
    return out
