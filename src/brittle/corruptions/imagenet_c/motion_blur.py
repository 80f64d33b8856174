import numpy as np

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.motion import motion_blur as blur
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import levels


@corruption(
    family="blur",
    source="imagenet-c",
    radius=levels(
        *(10, 15, 15, 15, 20),
        at32=(6, 6, 6, 8, 9),
        at64=(10, 10, 10, 10, 12),
        at299=(12, 17, 17, 17, 22),
        clean=0,
        px=1,
    ),
    sigma=levels(
        *(3, 5, 8, 12, 15),
        at32=(1, 1.5, 2, 2, 2.5),
        at64=(1, 1.5, 2, 2.5, 3),
        at299=(4, 6, 9, 13, 16),
        clean=0,
        px=1,
    ),
)
def motion_blur(image: Image, rng: Draws, *, radius: float, sigma: float) -> Image:
    """A moving camera: a one-sided Gaussian trail at an angle uniform on −45° … 45°, drawn once per image.

    Quirks kept: the trail points one way, so the picture moves; taps sit on whole pixels; and, alone among the
    19, the result is rounded, because ImageMagick made it. Between the levels the last tap has a fractional
    weight.
    """
    return np.rint(blur(image, radius, sigma, rng.uniform("angle", -45, 45))).astype(np.uint8)
