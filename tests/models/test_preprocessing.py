"""What a network is shown is what Pillow and plain arithmetic give."""

import numpy as np
import pytest
import torch
from PIL import Image

from brittle import BrittleError
from brittle.models import Preprocessing
from brittle.models.preprocessing import INTERPOLATIONS
from tests.errors import naming
from tests.models.networks import images

HALF = ((0.5, 0.4, 0.3), (0.2, 0.25, 0.3))


def standardised(pixels: np.ndarray) -> np.ndarray:
    return (pixels / 255 - np.array(HALF[0])) / np.array(HALF[1])


@pytest.mark.parametrize("interpolation", INTERPOLATIONS)
@pytest.mark.parametrize(("sides", "size"), [((48, 64), 32), ((20, 30), 32), ((48, 64), (24, 40))])
def test_without_a_crop_the_aspect_may_change(interpolation: str, sides: tuple, size) -> None:
    given = images(3, *sides)
    prepare = Preprocessing(*HALF, size=size, interpolation=interpolation)
    height, width = size if isinstance(size, tuple) else (size, size)
    how = Image.Resampling[interpolation.upper()]
    expected = np.stack([np.asarray(Image.fromarray(image).resize((width, height), how)) for image in given])
    np.testing.assert_array_equal(prepare.pixels(given), expected)
    np.testing.assert_allclose(prepare.array(given), standardised(expected), atol=1e-5)
    tensor = prepare.tensor(given, "cpu")
    assert tensor.shape == (3, 3, height, width)
    assert tensor.is_contiguous(memory_format=torch.channels_last)
    np.testing.assert_allclose(tensor.permute(0, 2, 3, 1).numpy(), standardised(expected), atol=1e-5)


@pytest.mark.parametrize(("sides", "between"), [((48, 64), (40, 53)), ((90, 50), (72, 40)), ((40, 40), (40, 40))])
def test_with_a_crop_the_shorter_side_is_resized_and_the_middle_kept(sides: tuple, between: tuple) -> None:
    given = images(2, *sides)
    shown = Preprocessing(size=40, crop=32, interpolation="bicubic").pixels(given)
    for image, seen in zip(given, shown, strict=True):
        large = np.asarray(Image.fromarray(image).resize(between[::-1], Image.Resampling.BICUBIC))
        top, left = ((side - 32) / 2 for side in between)
        np.testing.assert_array_equal(seen, large[round(top) : round(top) + 32, round(left) : round(left) + 32])


@pytest.mark.parametrize("options", [{}, {"size": 32}, {"size": 40, "crop": 32}, {"crop": 32}, {"size": (32, 32)}])
def test_images_of_the_final_size_are_left_alone(options: dict) -> None:
    given = images(2)
    np.testing.assert_array_equal(Preprocessing(**options).pixels(given), given)


@pytest.mark.parametrize(
    ("options", "values"),
    [
        ({"std": (0.2, 0.2, 0)}, ("std", "(0.2, 0.2, 0.0)", 0)),
        ({"mean": (0.2, 0.2)}, ("mean", "three")),
        ({"mean": (0.2, 0.2, float("nan"))}, ("mean", "three")),
        ({"size": 0}, ("size", 0)),
        ({"size": 2.5}, ("size", 0, "2.5")),
        ({"crop": (1, 2, 3)}, ("crop", 0, "(1, 2, 3)")),
        ({"size": 32, "crop": 40}, ("crop", "size=32", "crop=40")),
        ({"interpolation": "cubic"}, ("interpolation", "bicubic", "bilinear", "lanczos", "nearest", "cubic")),
    ],
)
def test_numbers_that_make_no_sense_are_named(options: dict, values: tuple) -> None:
    with pytest.raises(BrittleError, match=naming(*values)):
        Preprocessing(**options)


@pytest.mark.parametrize(
    ("given", "values"),
    [
        (np.zeros((2, 8, 8), np.uint8), ("N×H×W×3", "uint8", "(2, 8, 8)")),
        (np.zeros((2, 8, 8, 3)), ("N×H×W×3", "uint8", "(2, 8, 8, 3)", "float64")),
        (np.zeros((2, 8, 8, 3), np.uint8), ("(8, 8)", "crop=16", "size")),
    ],
)
def test_images_that_do_not_fit_are_named(given: np.ndarray, values: tuple) -> None:
    with pytest.raises(BrittleError, match=naming(*values)):
        Preprocessing(crop=16).pixels(given)
