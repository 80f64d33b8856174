"""Arguments of `corrupt` at the edge of what numbers, texts and arrays can be."""

import tracemalloc
from fractions import Fraction

import numpy as np
import pytest

import brittle
from brittle import BrittleError

IMAGE = np.random.default_rng(0).integers(0, 256, (16, 16, 3), np.uint8)


@pytest.mark.parametrize("severity", [10**400, Fraction(10**400), np.True_, True, float("inf"), -(10**400)], ids=repr)
def test_no_severity(severity: object) -> None:
    with pytest.raises(BrittleError, match="severity"):
        brittle.corrupt(IMAGE, "fog", severity=severity)  # type: ignore[arg-type]


@pytest.mark.parametrize("sample", ["\ud800", "a\x00b", "x" * 10_000, -1, 10**30], ids=ascii)
def test_any_text_and_number_is_a_sample(sample: str | int) -> None:
    first, second = (brittle.corrupt(IMAGE, "fog", severity=2, sample=sample) for _ in range(2))
    assert np.array_equal(first, second)
    assert not np.array_equal(first, brittle.corrupt(IMAGE, "fog", severity=2, sample="other"))


@pytest.mark.parametrize("dtype", [">f4", "<f4", ">f8", "u1"])
def test_the_type_of_the_input_comes_back(dtype: str) -> None:
    image = IMAGE.astype(dtype) if dtype == "u1" else (IMAGE / 255).astype(dtype)
    assert brittle.corrupt(image, "contrast", severity=1).dtype == np.dtype(dtype)


@pytest.mark.parametrize("corruption", ["spatter", "gaussian_noise", "fog", "motion_blur"])
def test_the_input_itself_is_never_returned(corruption: str) -> None:
    assert not np.shares_memory(brittle.corrupt(IMAGE, corruption, severity=5e-324), IMAGE)


def test_rain_on_a_long_thin_picture_takes_little_memory() -> None:
    image = np.zeros((1, 10_000, 3), np.uint8)
    tracemalloc.start()
    brittle.corrupt(image, "syn2nat/random_rain", severity=5)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3000 * image.shape[1]  # all drops at once took 40 kB a pixel
