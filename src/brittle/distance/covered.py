"""How far an augmentation goes towards a corruption, as a share of the way."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from brittle.metrics.fraction import Floats


def covered(distance: ArrayLike, clean: ArrayLike) -> Floats:
    """1 − distance / ‖E f(c)‖: about 0 if the augmentation does nothing towards the corruption, 1 if it contains it.

    `clean` is ‖E f(c)‖, how far the clean images are. 0 for a corruption that moves nothing, to which there is no way.
    """
    far, whole = np.asarray(distance, np.float64), np.asarray(clean, np.float64)
    return np.asarray(np.where(whole > 0, 1 - far / np.where(whole > 0, whole, 1), 0.0))
