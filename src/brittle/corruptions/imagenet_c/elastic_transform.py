import numpy as np

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.affine_jitter import jittered_square
from brittle.corruptions.kernels.bytes import truncate
from brittle.corruptions.kernels.smooth_noise import smooth_noise
from brittle.corruptions.kernels.warp import affine, displace
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import levels


@corruption(
    family="digital",
    source="imagenet-c",
    monotone=False,
    moves_pixels=True,
    alpha=levels(
        *(488, 488, 12.2, 17.08, 29.28),
        at32=(0, 1.6, 2.56, 3.2, 3.2),
        at64=(0, 3.2, 6.4, 6.4, 10.24),
        at299=(720, 720, 18, 25.2, 43.2),
        clean=0,
        px=2,
    ),
    sigma=levels(
        *(170.8, 19.52, 2.44, 2.44, 2.44),
        at32=(0, 6.4, 1.92, 1.28, 0.96),
        at64=(0, 19.2, 5.12, 1.92, 1.92),
        at299=(252, 28.8, 3.6, 3.6, 3.6),
        clean=None,
        px=1,
    ),
    affine_jitter=levels(
        *(24.4, 48.8, 4.88, 4.88, 4.88),
        at32=(2.56, 2.24, 1.92, 1.6, 0.96),
        at64=(5.12, 3.84, 3.84, 1.92, 1.28),
        at299=(36, 72, 7.2, 7.2, 7.2),
        clean=0,
        px=1,
    ),
)
def elastic_transform(image: Image, rng: Draws, *, alpha: float, sigma: float, affine_jitter: float) -> Image:
    """A rubber sheet: a random affine map, then a smooth random displacement of every pixel.

    Quirks kept: at 224 px the constants are multiples of 244, a slip of the authors, and at 299 px of 360;
    severities 1 and 2 are dominated by the affine map and 3 to 5 by the fine displacement, so the series is not
    monotone. α has the unit px²: smoothing over σ weakens white noise by 1/σ. Not kept: OpenCV's steps of 1/32 px, and
    the mixed-up coordinates of the control points, which matter only off squares.
    """
    height, width = image.shape[:2]
    moves = [[rng.uniform(f"{axis}{i}", -affine_jitter, affine_jitter) for axis in "xy"] for i in range(3)]
    warped = affine(image, jittered_square(height, width, moves))
    if alpha > 0 and sigma > 0:
        dx = smooth_noise(rng.key("dx"), height, width, sigma) * np.float32(alpha)
        dy = smooth_noise(rng.key("dy"), height, width, sigma) * np.float32(alpha)
        warped = displace(warped, dx, dy)
    return truncate(warped)
