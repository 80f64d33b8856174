from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.project import undistort
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly


@corruption(
    family="geometry",
    source="syn2nat",
    distortion=evenly(4, clean=0),
    shift=evenly(4, clean=0, px=1),
)
def optical_distortion(image: Image, rng: Draws, *, distortion: float, shift: float) -> Image:
    """A bad lens: straight lines bend inwards or outwards, up to a fish eye or a picture folded over itself.

    Positions are read at d·(1 + k·r² + k·r⁴) from a centre that is up to 4 pixels off, with r in image sides and k
    uniform on ± 4; what lies outside mirrors. The shift of the centre is a whole number of pixels, as published.
    """
    height, width = image.shape[:2]
    k = rng.uniform("k", -distortion, distortion)
    dy, dx = (round(rng.uniform(axis, -shift, shift)) for axis in ("dy", "dx"))
    return undistort(image, k, k, (height / 2 + dy, width / 2 + dx))
