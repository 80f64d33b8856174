import math

import numpy as np

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.project import project
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import levels


@corruption(family="geometry", source="syn2nat", limit=levels(7.2, 28.8, 64.8, 115.2, 180, clean=0))
def rotate(image: Image, rng: Draws, *, limit: float) -> Image:
    """Turned about its centre by any angle up to ± 180°, with mirror images in the corners.

    The largest angle grows with the square of the severity: a few degrees already move almost every pixel.
    """
    angle = math.radians(rng.uniform("angle", -limit, limit))
    c, s = math.cos(angle), math.sin(angle)
    y, x = (image.shape[0] - 1) / 2, (image.shape[1] - 1) / 2
    return project(image, np.array([[c, -s, x - c * x + s * y], [s, c, y - s * x - c * y], [0, 0, 1]]))
