import numpy as np
from PIL import Image as Pil

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.rounding import mix
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly, levels


@corruption(
    family="digital",
    source="noc",
    factor=evenly(3.25, first=1.1, clean=1.1),
    weight=levels(1, 1, 1, 1, 1, clean=0),
)
def thumbnail_resize(image: Image, rng: Draws, *, factor: float, weight: float) -> Image:  # noqa: ARG001
    """A thumbnail shown too large: shrunk to ⌊side/f⌋ and enlarged again, both bilinearly.

    Pillow does both, so shrinking averages over all pixels. The factor is the same at every image size. Below
    severity 1 the result for f = 1.1 is mixed with the clean image, because ⌊side/f⌋ would jump.
    """
    height, width, channels = image.shape
    picture = Pil.fromarray(image if channels == 3 else image[:, :, 0])
    small = picture.resize((max(int(width / factor), 1), max(int(height / factor), 1)), Pil.Resampling.BILINEAR)
    large = np.array(small.resize((width, height), Pil.Resampling.BILINEAR)).reshape(image.shape)
    return large if weight == 1 else mix(image, large, weight)
