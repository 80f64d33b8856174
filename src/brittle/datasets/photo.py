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
