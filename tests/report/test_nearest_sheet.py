"""The pictures of augmentations that are nearest to corruptions."""

import numpy as np
import pytest

from brittle import BrittleError
from brittle.report.sheets import NearestRow, nearest_sheet


def test_pictures_stand_beside_each_other() -> None:
    clean = np.full((32, 32, 3), 200, np.uint8)
    rows = [NearestRow("fog", clean // 2, {"augmix": (clean // 4, 1.5), "none": (clean, 3.0)}) for _ in range(9)]
    sheet = np.asarray(nearest_sheet(clean, rows, thumb=40))
    for value in (200, 100, 50):
        assert (sheet == value).all(-1).sum() >= 9 * 1000
    assert nearest_sheet(clean, rows[:1], thumb=40).height < 250
    with pytest.raises(BrittleError, match="at least one corruption"):
        nearest_sheet(clean, [])
