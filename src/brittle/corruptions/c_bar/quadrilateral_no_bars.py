from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.viewpoint import quadrilateral
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly


@corruption(family="geometry", source="c-bar", max_corner_shift_px=evenly(224 / 3, clean=0, steps=10, px=1))
def quadrilateral_no_bars(image: Image, rng: Draws, *, max_corner_shift_px: float) -> Image:
    """The four corners are pulled in random directions, and what they span fills the frame.

    Where a corner lies outside, the clean picture shows, so there are no black bars. Bilinear as Pillow's
    QUAD does it, with truncation. At high severities corners may cross, and the picture folds.
    """

    def shifted(name: str, position: float) -> float:
        return position + max_corner_shift_px * rng.uniform(name, -1, 1)

    height, width = image.shape[:2]
    nw = shifted("nw x", 0), shifted("nw y", 0)
    sw = shifted("sw x", 0), shifted("sw y", height)
    se = shifted("se x", width), shifted("se y", height)
    ne = shifted("ne x", width), shifted("ne y", 0)
    return quadrilateral(image, (*nw, *sw, *se, *ne))
