"""Drops on a lens, where a smooth random field rises above a threshold."""

from __future__ import annotations

import cv2
import numpy as np

from brittle.arrays import Field
from brittle.corruptions.kernels.gaussian import gaussian

RELIEF = np.array([[-2, -1, 0], [-1, 1, 1], [0, 1, 2]], np.float32)
"""An emboss filter: drops look lit from one side."""


def water_layer(field: Field, threshold: float) -> Field:
    """Clear drops with lit rims, the brightest point at 1; all zero if no point reaches the threshold."""
    drops = np.where(field < threshold, 0, np.clip(field, 0, 1) * 255).astype(np.uint8)
    outside = 255 - cv2.Canny(drops, 50, 150)
    distance = np.minimum(cv2.distanceTransform(outside, cv2.DIST_L2, 5), 20)
    smooth = cv2.blur(distance, (3, 3)) + np.float32(1e-3)  # builds of OpenCV differ by less than this hair
    relief = cv2.equalizeHist(smooth.astype(np.uint8))
    relief = cv2.blur(cv2.filter2D(relief, cv2.CV_8U, RELIEF), (3, 3))
    layer = drops.astype(np.float32) * relief.astype(np.float32)
    brightest = float(layer.max())
    return layer / np.float32(brightest) if brightest > 0 else layer


def mud_layer(field: Field, threshold: float, blur: float) -> Field:
    """Opaque splashes with soft rims: where the smoothed splash is thinner than 0.8 there is none."""
    cover = gaussian((field > threshold).astype(np.float32), blur)
    cover[cover < 0.8] = 0
    return cover
