"""The array types of the public signatures, named once."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Image = NDArray[np.uint8]
"""An 8-bit image, H×W×C with C = 1 (grey) or 3 (RGB) wherever a corruption sees it."""

Field = NDArray[np.float32]
"""A real-valued picture: a layer, a displacement, an image before its final truncation to 8 bit."""

Key = NDArray[np.uint64]
"""Two words that address one stream of random numbers."""
