"""Two bundled photographs, so that everything can be tried at once."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np

from brittle.arrays import Image

FOLDER = Path(__file__).parent / "photos"


def photo(name: str = "cat", size: int = 224) -> Image:
    """A bundled photograph ("cat" or "coffee") as size×size×3 uint8."""
    known = sorted(path.stem for path in FOLDER.glob("*.jpg"))
    if name not in known:
        raise ValueError(f"there is no photograph {name!r}; there are: {', '.join(known)}")
    picture = cv2.imread(str(FOLDER / f"{name}.jpg"), cv2.IMREAD_COLOR_RGB)
    assert picture is not None
    return np.asarray(cv2.resize(picture, (size, size), interpolation=cv2.INTER_AREA), np.uint8)


def square(image: Image, side: int) -> Image:
    """The central square of a photograph H×W×3 of uint8, brought to side×side."""
    if image.ndim != 3 or image.shape[2] != 3 or image.dtype != np.uint8:
        raise ValueError(f"the photograph must be H×W×3 uint8, got shape {image.shape} of {image.dtype}")
    if side < 1:
        raise ValueError(f"a side is at least 1 px, got {side}")
    height, width = image.shape[:2]
    short = min(height, width)
    top, left = (height - short) // 2, (width - short) // 2
    how = cv2.INTER_AREA if short >= side else cv2.INTER_CUBIC
    middle = np.ascontiguousarray(image[top : top + short, left : left + short])
    return np.asarray(cv2.resize(middle, (side, side), interpolation=how), np.uint8)
