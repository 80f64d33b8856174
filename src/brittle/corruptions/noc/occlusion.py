"""Occlusion of NOC's candidates."""

import numpy as np

from brittle._types import Pixels
from brittle.corruptions.images import Draws
from brittle.corruptions.kernels.colour import through_nearest
from brittle.corruptions.kernels.shapes import DIAMOND, DISC, stamp_greys
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import integers, levels


@corruption(family="occlusion", source="noc", full_depth=True, thickness=integers(9, 46, clean=0, px=1, furthest=110))
def border(image: Pixels, rng: Draws, *, thickness: float) -> Pixels:
    """A grey frame around the picture, 9 to 46 of 224 pixels thick, its grey uniform and drawn once per image.

    At other sizes a thickness may not be whole; the innermost ring of the frame is then see-through.
    """
    height, width = image.shape[:2]
    full = min(int(thickness), height, width)
    fraction = thickness - full
    grey = int(rng.uniform("grey") * 255 + 0.5)
    out = np.full_like(image, grey)
    inside = (slice(full, max(height - full, full)), slice(full, max(width - full, full)))
    out[inside] = image[inside]
    if 0 < fraction < 1:
        for ring in _sides(out[inside]):
            ring[:] = through_nearest(
                np.ascontiguousarray(ring), lambda greys: (1 - fraction) * greys + fraction * grey
            )
    return out


def _sides(picture: Pixels) -> tuple[Pixels, ...]:
    """The outermost rows and columns, each pixel in one of them only."""
    return picture[:1], picture[1:][-1:], picture[1:-1, :1], picture[1:-1, 1:][:, -1:]


@corruption(
    family="occlusion",
    source="noc",
    full_depth=True,
    count=integers(7, 50, clean=0, furthest=500),
    pixel=levels(1, 1, 1, 1, 1, clean=None, px=1),
)
def circle(image: Pixels, rng: Draws, *, count: float, pixel: float) -> Pixels:
    """Grey discs all over the picture, each in its own shade.

    Quirk kept: the discs are 13 pixels across; the paper says radius 7. Lengths grow with the shorter side of the
    image, the number stays; where discs overlap, the later one is seen.
    """
    return stamp_greys(image, DISC, rng.key("discs"), int(count), pixel)


@corruption(family="occlusion", source="noc", full_depth=True, side=integers(47, 125, clean=0, px=1, furthest=224))
def obstruction(image: Pixels, rng: Draws, *, side: float) -> Pixels:
    """One grey square somewhere in the picture, its side from 47 to 125 of 224 pixels.

    Its place is uniform and always fully inside; its grey is uniform and drawn once per image.
    """
    height, width = image.shape[:2]
    length = min(round(side), height, width)
    top, left = rng.integer("row", height - length + 1), rng.integer("column", width - length + 1)
    out = image.copy()
    out[top : top + length, left : left + length] = int(rng.uniform("grey") * 255 + 0.5)
    return out


@corruption(
    family="occlusion",
    source="noc",
    full_depth=True,
    count=integers(9, 76, clean=0, furthest=500),
    pixel=levels(1, 1, 1, 1, 1, clean=None, px=1),
)
def rhombus(image: Pixels, rng: Draws, *, count: float, pixel: float) -> Pixels:
    """Grey diamonds all over the picture, each in its own shade.

    Quirk kept: the diamonds are 13 rows high and 14 columns wide; the paper calls them 7×7. Lengths grow with the
    shorter side of the image, the number stays; where diamonds overlap, the later one is seen.
    """
    return stamp_greys(image, DIAMOND, rng.key("diamonds"), int(count), pixel)
