"""A random affine map from three jittered points."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np
from numpy.typing import NDArray


def jittered_square(height: int, width: int, moves: Sequence[Sequence[float]]) -> NDArray[np.float64]:
    """The inverse, 3×3, of the affine map that moves three corners of a centred square by (x, y) each.

    The square reaches a third of the shorter side from the middle, in whole pixels, as elastic transforms have it.
    """
    centre = np.array([width // 2, height // 2], np.float32)
    reach = max(min(height, width) // 3, 1)
    corners = centre + np.array([[reach, reach], [reach, -reach], [-reach, -reach]], np.float32)
    forward = cv2.getAffineTransform(corners, corners + np.array(moves, np.float32))
    return np.vstack([cv2.invertAffineTransform(forward), [0.0, 0.0, 1.0]])
