from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.bytes import truncate
from brittle.corruptions.kernels.gaussian import gaussian
from brittle.corruptions.kernels.shuffle import copy_from_neighbours
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import levels


@corruption(
    family="blur",
    source="imagenet-c",
    monotone=False,
    sigma=levels(
        *(0.7, 0.9, 1, 1.1, 1.5),
        at32=(0.05, 0.25, 0.4, 0.25, 0.4),
        at64=(0.1, 0.5, 0.6, 0.7, 0.9),
        at299=(0.8, 1, 1.1, 1.2, 1.6),
        clean=0,
        px=1,
    ),
    max_delta=levels(
        *(1, 2, 2, 3, 4),
        at32=(1, 1, 1, 1, 1),
        at64=(1, 1, 1, 2, 2),
        at299=(1, 3, 2, 4, 5),
        clean=0,
        px=1,
    ),
    iterations=levels(
        *(2, 1, 3, 2, 2),
        at32=(1, 1, 1, 2, 2),
        at64=(1, 1, 2, 1, 2),
        at299=(3, 1, 4, 2, 2),
        clean=None,
    ),
)
def glass_blur(image: Image, rng: Draws, *, sigma: float, max_delta: float, iterations: float) -> Image:
    """Frosted glass: blur, let pixels change places with near neighbours, and blur again.

    Quirks kept: the published exchange overwrites one pixel before it reads it, so each pixel is a *copy* of a
    neighbour, and copies travel, because the sweep runs from the bottom right to the top left in place. Offsets
    are uniform on −δ … δ−1, which pulls the picture towards the bottom right by half a pixel a sweep. Between
    the levels δ widens the offsets continuously, and a fractional last sweep visits that share of the pixels.
    """
    blurred = truncate(gaussian(image, sigma))
    copied = copy_from_neighbours(blurred, rng.key("offsets"), max_delta, iterations)
    return truncate(gaussian(copied, sigma))
