import cv2
import numpy as np
from numpy.typing import NDArray

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.bytes import truncate
from brittle.corruptions.kernels.smooth_noise import smooth_noise
from brittle.corruptions.kernels.warp import affine, displace
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import levels


@corruption(
    family="digital",
    source="imagenet-c",
    monotone=False,
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
    monotone. α has the unit px²: smoothing over σ weakens white noise by 1/σ.
    """
    height, width = image.shape[:2]
    warped = affine(image, _jittered(height, width, affine_jitter, rng))
    if alpha > 0 and sigma > 0:
        dx = smooth_noise(rng.key("dx"), height, width, sigma) * np.float32(alpha)
        dy = smooth_noise(rng.key("dy"), height, width, sigma) * np.float32(alpha)
        warped = displace(warped, dx, dy)
    return truncate(warped)


def _jittered(height: int, width: int, jitter: float, rng: Draws) -> NDArray[np.float64]:
    """The inverse of the map that sends three points of a centred square to jittered copies of themselves."""
    centre = np.array([width // 2, height // 2], np.float32)
    reach = max(min(height, width) // 3, 1)
    corners = centre + np.array([[reach, reach], [reach, -reach], [-reach, -reach]], np.float32)
    moves = [[rng.uniform(f"{axis}{i}", -jitter, jitter) for axis in "xy"] for i in range(3)]
    forward = cv2.getAffineTransform(corners, corners + np.array(moves, np.float32))
    return np.asarray(cv2.invertAffineTransform(forward), np.float64)
