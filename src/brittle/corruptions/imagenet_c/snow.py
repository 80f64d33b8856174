import numpy as np

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.motion import motion_blur
from brittle.corruptions.kernels.snowfall import flakes, whiten_and_add
from brittle.corruptions.kernels.words import normals
from brittle.corruptions.kernels.zoom import zoom as enlarge
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import levels


@corruption(
    family="weather",
    source="imagenet-c",
    loc=levels(
        *(0.1, 0.2, 0.55, 0.55, 0.55),
        at32=(0.1, 0.1, 0.15, 0.25, 0.3),
        at64=(0.1, 0.1, 0.15, 0.25, 0.3),
        at299=(0.1, 0.2, 0.55, 0.55, 0.55),
        clean=None,
    ),
    scale=levels(
        *(0.3, 0.3, 0.3, 0.3, 0.3),
        at32=(0.2, 0.2, 0.3, 0.3, 0.3),
        at64=(0.2, 0.2, 0.3, 0.3, 0.3),
        at299=(0.3, 0.3, 0.3, 0.3, 0.3),
        clean=None,
    ),
    zoom=levels(
        *(3, 2, 4, 4.5, 2.5),
        at32=(1, 1, 1.75, 2.25, 1.25),
        at64=(1, 1, 1.75, 2.25, 1.25),
        at299=(3, 2, 4, 4.5, 2.5),
        clean=None,
        px=1,
    ),
    threshold=levels(
        *(0.5, 0.5, 0.9, 0.85, 0.85),
        at32=(0.6, 0.5, 0.55, 0.6, 0.65),
        at64=(0.6, 0.5, 0.55, 0.6, 0.65),
        at299=(0.5, 0.5, 0.9, 0.85, 0.85),
        clean=1.1,
    ),
    blur_radius=levels(
        *(10, 12, 12, 12, 12),
        at32=(8, 10, 10, 12, 14),
        at64=(8, 10, 10, 12, 14),
        at299=(10, 12, 12, 12, 12),
        clean=None,
        px=1,
    ),
    blur_sigma=levels(
        *(4, 4, 8, 8, 12),
        at32=(3, 4, 4, 6, 12),
        at64=(3, 4, 4, 6, 12),
        at299=(4, 4, 8, 8, 12),
        clean=None,
        px=1,
    ),
    mix=levels(
        *(0.8, 0.7, 0.7, 0.65, 0.55),
        at32=(0.95, 0.9, 0.9, 0.85, 0.8),
        at64=(0.8, 0.8, 0.7, 0.65, 0.6),
        at299=(0.8, 0.7, 0.7, 0.65, 0.55),
        clean=1,
    ),
)
def snow(
    image: Image,
    rng: Draws,
    *,
    loc: float,
    scale: float,
    zoom: float,
    threshold: float,
    blur_radius: float,
    blur_sigma: float,
    mix: float,
) -> Image:
    """Falling snow: thresholded noise, enlarged and motion-blurred into flakes, over a whitened picture.

    The flakes fall at an angle uniform on −135° … −45° and are added twice, once turned by 180°. Quirks kept:
    the enlargement is not monotone in severity, so neither is the size of the flakes; the layer is cut to 8 bit
    before it is blurred and rounded afterwards. Towards severity 0 the threshold rises, so flakes vanish one by
    one.
    """
    height, width = image.shape[:2]
    field = enlarge(loc + scale * normals(rng.key("flakes"), height, width), zoom)
    angle = rng.uniform("angle", -135, -45)
    layer = np.rint(motion_blur(flakes(field, threshold)[:, :, np.newaxis], blur_radius, blur_sigma, angle))
    return whiten_and_add(image, layer[:, :, 0], mix)
