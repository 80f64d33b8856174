"""Occlusion of Syn2Nat's candidates."""

from brittle._types import Pixels
from brittle.corruptions.images import Draws
from brittle.corruptions.kernels.random_words import uniforms
from brittle.corruptions.kernels.shapes import black_frame, black_rectangle
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly


@corruption(family="occlusion", source="syn2nat", full_depth=True, frame=evenly(47, clean=0, px=1))
def border(image: Pixels, rng: Draws, *, frame: float) -> Pixels:  # noqa: ARG001
    """A black frame, 47 pixels wide at 224: the central 130×130 are left.

    Other sizes get a frame of the same share of the shorter side. A pixel that the frame covers in part is
    darkened by that part.
    """
    height, width = image.shape[:2]
    return black_frame(image, frame, height - frame, frame, width - frame)


@corruption(
    family="occlusion",
    source="syn2nat",
    full_depth=True,
    fewest=evenly(16, clean=0),
    most=evenly(48, clean=0),
    side=evenly(8, clean=8, px=1),
)
def coarse_dropout(image: Pixels, rng: Draws, *, fewest: float, most: float, side: float) -> Pixels:
    """Black squares of 8×8 pixels, 16 to 48 of them, anywhere inside the frame; they may overlap.

    Lower severities have fewer of the same squares. Other image sizes have squares of a whole number of pixels.
    """
    height, width = image.shape[:2]
    count = int(rng.uniform("count", fewest, most + 1))
    square_height, square_width = min(max(1, round(side)), height), min(max(1, round(side)), width)
    positions = uniforms(rng.key("places"), max(count, 1), 2) * 0.5 + 0.5
    out = image.copy()
    for v, u in positions[:count].tolist():
        top, left = int(v * (height - square_height + 1)), int(u * (width - square_width + 1))
        out[top : top + square_height, left : left + square_width] = 0
    return out


@corruption(family="occlusion", source="syn2nat", full_depth=True, side=evenly(150, clean=0, px=1))
def cutout(image: Pixels, rng: Draws, *, side: float) -> Pixels:
    """One black square of 150×150 pixels, two thirds of the width of the picture.

    Quirk kept: a square whose start lies above or left of the frame is moved in whole, one that ends below or
    right of it is cut off. A pixel that an edge covers in part is darkened by that part.
    """
    height, width = image.shape[:2]
    top = max(rng.integer("row", height + 1) - side / 2, 0)
    left = max(rng.integer("column", width + 1) - side / 2, 0)
    return black_rectangle(image, top, top + side, left, left + side)
