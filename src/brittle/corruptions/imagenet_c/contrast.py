import cv2
import numpy as np

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import levels


@corruption(
    family="digital",
    source="imagenet-c",
    factor=levels(
        *(0.4, 0.3, 0.2, 0.1, 0.05),
        at32=(0.75, 0.5, 0.4, 0.3, 0.15),
        at64=(0.4, 0.3, 0.2, 0.1, 0.05),
        at299=(0.4, 0.3, 0.2, 0.1, 0.05),
        clean=1,
    ),
)
def contrast(image: Image, rng: Draws, *, factor: float) -> Image:  # noqa: ARG001
    """Every channel is drawn towards its own mean: (x − μ)·c + μ.

    Quirk kept: μ is the mean of the channel, not of the luminance, so colour casts stay.
    """
    means = np.array(cv2.mean(image)[: image.shape[2]])
    greys = np.arange(256.0)[:, np.newaxis]
    table = np.clip((greys - means) * factor + means, 0, 255).astype(np.uint8)
    return np.asarray(cv2.LUT(image, table[np.newaxis]), np.uint8).reshape(image.shape)
