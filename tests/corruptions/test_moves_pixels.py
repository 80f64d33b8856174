"""What a corruption declares about moving pixels, against what happens to dots in a picture."""

import cv2
import numpy as np
import pytest

import brittle
from brittle.corruptions import Draws, corruption, registry

SIDE, HALF = 224, 2
DOTS = [(48, 60), (150, 44), (70, 170), (176, 180), (112, 140), (30, 120), (196, 96), (101, 31), (57, 203), (133, 97)]
ROWS, COLUMNS = np.mgrid[:SIDE, :SIDE]


def smooth_picture() -> np.ndarray:
    """Soft colours, with black and white corners, so that a dot changes neither the darkest nor the brightest value."""
    coarse = np.random.default_rng(0).integers(70, 180, (6, 6, 3)).astype(np.float32)
    picture = np.clip(cv2.resize(coarse, (SIDE, SIDE), interpolation=cv2.INTER_CUBIC), 60, 195).astype(np.uint8)
    picture[:2, :2] = picture[-2:, :2] = 0
    picture[:2, -2:] = picture[-2:, -2:] = 255
    return picture


def share_of_moved_dots(tested: brittle.Corruption) -> float:
    """Of dots whose trace is seen: how many left their place, further than their trace is wide.

    A dot's trace is the difference between the corrupted pictures with and without it, from the same draws, in one
    channel. Where a blur spreads it, its place still shows it, or it is scattered more widely than it is shifted.
    """
    picture, moved = smooth_picture(), []
    for sample in (1, 2, 3):
        without = tested(picture, tested.max_severity, sample=sample).astype(np.float32)
        for row, column in DOTS:
            place = slice(row - HALF, row + HALF + 1), slice(column - HALF, column + HALF + 1)
            dotted = picture.copy()
            dotted[place] = np.where(picture[row, column] > 127, 0, 255)
            difference = np.abs(tested(dotted, tested.max_severity, sample=sample) - without)
            for channel in range(3):
                trace = cv2.blur(difference[..., channel], (5, 5))
                if trace.max() < 4:  # hidden, or left the frame
                    continue
                seen_at_its_place = trace[place].max() / trace.max()
                trace[trace < 0.25 * trace.max()] = 0
                middle = [float((trace * axis).sum() / trace.sum()) for axis in (ROWS, COLUMNS)]
                wide = np.sqrt((trace * ((ROWS - middle[0]) ** 2 + (COLUMNS - middle[1]) ** 2)).sum() / trace.sum())
                shift = np.hypot(middle[0] - row, middle[1] - column)
                moved.append(seen_at_its_place < 0.5 and shift > max(2.5, wide))
    return float(np.mean(moved))


@pytest.mark.parametrize("tested", brittle.list_corruptions(), ids=lambda tested: tested.id)
def test_what_is_declared_is_what_happens_to_dots(tested: brittle.Corruption) -> None:
    assert tested.moves_pixels == (share_of_moved_dots(tested) > 0)


def test_geometry_moves_pixels_unless_it_says_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_by_id", dict(registry._by_id))
    declared = []
    for family, moves in [("geometry", None), ("geometry", False), ("noise", None), ("noise", True)]:

        @corruption(family=family, source="mine", moves_pixels=moves)
        def same(image: np.ndarray, _: Draws) -> np.ndarray:
            """Nothing happens here."""
            return image

        declared.append(registry.get_corruption("mine/same").moves_pixels)
    assert declared == [True, False, False, True]
