"""Geometry of NOC's candidates."""

import math

from brittle._types import Pixels
from brittle.corruptions.images import Draws
from brittle.corruptions.kernels.resampling import affine_nearest, resized, shift
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly, integers, levels


@corruption(family="geometry", source="noc", full_depth=True, pixels=integers(44, 110, clean=0, px=1, furthest=200))
def elastic(image: Pixels, rng: Draws, *, pixels: float) -> Pixels:
    """The picture is cut off at the top or at the left and stretched back to its size along that axis.

    Quirk kept: this is what the code does; it is no elastic warp. The stretching is bilinear.
    """
    height, width = image.shape[:2]
    cut = round(pixels)
    part = image[min(cut, height - 1) :] if rng.integer("axis", 2) else image[:, min(cut, width - 1) :]
    return resized(part, (height, width))


@corruption(family="geometry", source="noc", full_depth=True, degrees=integers(7, 50, clean=0, furthest=180))
def rotation(image: Pixels, rng: Draws, *, degrees: float) -> Pixels:
    """The picture turns about its centre by a whole angle of either sign; black fills the corners.

    Pixels are moved whole (nearest neighbour), as Pillow moves them, so slanted edges are jagged.
    """
    angle = math.radians(degrees if rng.integer("sign", 2) else -degrees)
    cos, sin = math.cos(angle), math.sin(angle)
    return affine_nearest(image, (cos, sin, -sin, cos))


@corruption(family="geometry", source="noc", full_depth=True, degrees=integers(12, 39, clean=0, furthest=75))
def shear(image: Pixels, rng: Draws, *, degrees: float) -> Pixels:
    """Rows slide sideways, upper and lower ones in opposite directions, by a whole angle of either sign.

    The middle row stays, black comes in, and pixels are moved whole (nearest neighbour), as Pillow moves them.
    """
    slope = math.tan(math.radians(degrees if rng.integer("sign", 2) else -degrees))
    return affine_nearest(image, (1.0, slope, 0.0, 1.0))


@corruption(
    family="geometry",
    source="noc",
    full_depth=True,
    share=evenly(1, first=0, clean=0, furthest=4),
    least=levels(15, 15, 15, 15, 15, clean=0, px=1),
    most=levels(62, 62, 62, 62, 62, clean=0, px=1),
)
def translation(image: Pixels, rng: Draws, *, share: float, least: float, most: float) -> Pixels:
    """The picture slides out of its frame along both axes; black comes in.

    Published are two independent distances, each a whole number uniform on 15 … 62 of 224 pixels. To have them move
    together with one severity, their *difference* is drawn once per image, from the distribution it has there, and
    severity leads along the diagonal of that difference: from where the shorter one is 15 to where the longer one is
    62. A uniform severity then gives exactly the published pairs.
    """
    offset = rng.uniform("row") - rng.uniform("column")
    start_y, start_x, progress = max(offset, 0.0), max(-offset, 0.0), share * (1 - abs(offset))
    dy, dx = _distance(start_y + progress, least, most), _distance(start_x + progress, least, most)
    return shift(image, dy if rng.integer("up", 2) else -dy, dx if rng.integer("left", 2) else -dx)


def _distance(position: float, least: float, most: float) -> int:
    """The distance at a position on [0, 1]; each of the published whole numbers has an equal share of it."""
    return round(least + (most - least) * min(int(position * 48), 47) / 47)
