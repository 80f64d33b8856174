import numpy as np
from PIL import Image as Pil

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import integers


@corruption(family="geometry", source="noc", pixels=integers(44, 110, clean=0, px=1))
def elastic(image: Image, rng: Draws, *, pixels: float) -> Image:
    """The picture is cut off at the top or at the left and stretched back to its size along that axis.

    Quirk kept: this is what the code does; it is no elastic warp. The stretching is bilinear.
    """
    height, width, channels = image.shape
    cut = round(pixels)
    part = image[min(cut, height - 1) :] if rng.integer("axis", 2) else image[:, min(cut, width - 1) :]
    picture = Pil.fromarray(part if channels == 3 else part[:, :, 0])
    return np.array(picture.resize((width, height), Pil.Resampling.BILINEAR)).reshape(image.shape)
