"""A JPEG without its file has the pixels of libjpeg-turbo, as Pillow and OpenCV carry it."""

from io import BytesIO

import cv2
import numpy as np
import pytest
from PIL import Image as Pil

import brittle
from brittle import BrittleError
from brittle.corruptions.kernels.jpeg import LANES, LONGEST, through_jpeg
from brittle.datasets import photo
from tests.errors import naming

RNG = np.random.default_rng(19)
SHORT = range(1, 35)
"""From one pixel to beyond two blocks of chroma: every way in which a picture can end within a block."""

PICTURES = {
    "noise": RNG.integers(0, 256, (224, 224, 3), np.uint8),
    "black and white": RNG.integers(0, 2, (224, 224, 3), np.uint8) * np.uint8(255),
    "saturated": np.repeat(np.repeat(RNG.integers(0, 2, (28, 28, 3), np.uint8) * np.uint8(255), 8, 0), 8, 1),
    "one pixel in a block": np.kron(np.ones((28, 28, 1)), np.eye(64, 1).reshape(8, 8, 1) * [255, 0, 255]).astype("u1"),
    "stripes": np.tile(np.array([[255, 0, 255], [0, 255, 0]], np.uint8), (224, 112, 1)),
    "flat": np.full((224, 224, 3), (255, 0, 37), np.uint8),
    **{name: photo(name, 224) for name in ("cat", "coffee")},
}


def by_pillow(image: np.ndarray, quality: int) -> np.ndarray:
    file = BytesIO()
    Pil.fromarray(image.squeeze(2) if image.shape[2] == 1 else image).save(file, "JPEG", quality=quality)
    return np.asarray(Pil.open(file)).reshape(image.shape)


def by_opencv(image: np.ndarray, quality: int) -> np.ndarray:
    _, file = cv2.imencode(".jpg", image[:, :, ::-1], (cv2.IMWRITE_JPEG_QUALITY, quality))
    how = cv2.IMREAD_GRAYSCALE if image.shape[2] == 1 else cv2.IMREAD_COLOR_RGB
    return cv2.imdecode(file, how).reshape(image.shape)


@pytest.mark.parametrize("library", [by_pillow, by_opencv])
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("height", SHORT)
def test_every_small_size(height: int, channels: int, library) -> None:
    for width in SHORT:
        for quality, picture in ((10, "coffee"), (50, "black and white"), (93, "noise")):
            image = np.ascontiguousarray(PICTURES[picture][30 : 30 + height, 90 : 90 + width, :channels])
            expected = library(image, quality)
            np.testing.assert_array_equal(through_jpeg(image, quality), expected, f"{width}×{height} at {quality}")


@pytest.mark.parametrize("name", PICTURES)
@pytest.mark.parametrize("channels", [1, 3])
def test_every_quality(name: str, channels: int) -> None:
    image = np.ascontiguousarray(PICTURES[name][:150, :201, :channels])
    for quality in range(1, 101):
        np.testing.assert_array_equal(through_jpeg(image, quality), by_pillow(image, quality), f"quality {quality}")


@pytest.mark.parametrize("size", [(224, 224), (299, 299), (8, 8 * LANES + 8), (1, 3000), (3000, 1), (1333, 2001)])
@pytest.mark.parametrize("quality", [7, 25, 85, 100])
def test_large_pictures(size: tuple[int, int], quality: int) -> None:
    enlarged = cv2.resize(PICTURES["cat"], size[::-1], interpolation=cv2.INTER_CUBIC)
    image = cv2.add(enlarged, RNG.integers(0, 16, enlarged.shape, np.uint8))
    for picture in (image, np.ascontiguousarray(image[:, :, 1:2])):
        np.testing.assert_array_equal(through_jpeg(picture, quality), by_pillow(picture, quality))


def test_a_side_that_no_jpeg_file_can_have_is_refused() -> None:
    image = np.zeros((1, LONGEST + 1, 3), np.uint8)
    with pytest.raises(BrittleError, match=naming(str(LONGEST), str(LONGEST + 1))):
        brittle.corrupt(image, "jpeg_compression", 1)
    assert through_jpeg(image[:, 1:], 50).shape == (1, LONGEST, 3)
