"""Lightness of 8-bit HLS (OpenCV's: hue in steps of 2°), the hue and the saturation kept."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from brittle.arrays import Image
from brittle.corruptions.kernels.colour_space import convert
from brittle.corruptions.kernels.grey_table import through_table


def map_lightness(image: Image, values: NDArray[Any], where: Image | None = None) -> Image:
    """Replace lightness L by values[L], clipped and truncated, everywhere or where the mask is not 0.

    The way to 8-bit HLS and back costs a colour image about a grey level; a grey one loses nothing.
    """
    if image.shape[2] == 1:
        changed = through_table(image, values)
        return changed if where is None else np.where(where[:, :, np.newaxis] > 0, changed, image)
    hls = convert(image, cv2.COLOR_RGB2HLS)
    lightness = hls[:, :, 1]
    changed = through_table(np.ascontiguousarray(lightness), values)
    hls[:, :, 1] = changed if where is None else np.where(where > 0, changed, lightness)
    return convert(hls, cv2.COLOR_HLS2RGB)
