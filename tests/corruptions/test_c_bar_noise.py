"""C-bar's noises, caustic_refraction and blue_noise_sample against a plain reading of their published definitions."""

import math

import numpy as np
import pytest

import brittle
from brittle.corruptions import Draws
from brittle.corruptions.kernels.arithmetic import angle, cosine, sine
from brittle.corruptions.kernels.noise import LARGEST, blue_noise, brown_noise
from brittle.datasets import photo
from tests.corruptions.c_bar_noise_reference import REFERENCE

FIELDS = ("blue_noise", "brownish_noise", "blue_noise_sample")
"""Published for square images of even side only; the plain reading knows no others."""


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        (name, shape)
        for name in REFERENCE
        for shape in ((32, 32, 3), (224, 224, 3), (50, 50, 1), (60, 91, 3), (40, 33, 1))
        if name not in FIELDS or shape[0] == shape[1]
    ],
)
def test_fast_and_plain_readings_agree(name: str, shape: tuple[int, int, int]) -> None:
    corruption = brittle.get_corruption(f"c-bar/{name}")
    image = photo("cat", 224)[: shape[0], : shape[1], : shape[2]].copy()
    for severity in (0.3, 2.35, 5, 10):
        for sample in range(3):
            fast = brittle.corrupt(image, corruption, severity, sample=sample).astype(int)
            slow = REFERENCE[name](image, Draws(0, corruption.id, sample), **corruption.parameters(severity, shape[:2]))
            gap = np.abs(fast - slow)
            # Where arithmetic lands within rounding of a jump (the next ring, the threshold, the slope
            # from which water bends), a pixel may fall to either side.
            assert (gap > 1).mean() < 1e-3
            assert gap.mean() < 0.01


@pytest.mark.parametrize("side", [32, 224])
@pytest.mark.parametrize(
    ("name", "parameter", "per_unit"),
    [
        ("single_frequency_greyscale", "intensity", 19.6),
        ("cocentric_sine_waves", "intensity", 12.8),
        ("plasma_noise", "intensity", 6.4),
        ("voronoi_noise", "intensity", 25.5),
        ("caustic_noise", "intensity", 25.5),
        ("sparkles", "radius", "0.01 S"),
        ("inverse_sparkles", "falloff_exponent", 0.13),
        ("perlin_noise", "alpha", 0.05),
        ("blue_noise", "intensity", 19.6),
        ("brownish_noise", "intensity", 6.4),
        ("caustic_refraction", "lens_scale", "0.05 S"),
        ("caustic_refraction", "lighting", 0.2),
        ("blue_noise_sample", "threshold", 0.3),
    ],
)
def test_parameters_are_the_published_multiples_of_the_magnitude(
    name: str, parameter: str, per_unit: float | str, side: int
) -> None:
    corruption = brittle.get_corruption(f"c-bar/{name}")
    slope = float(per_unit.split()[0]) * side if isinstance(per_unit, str) else per_unit
    start = -2.5 if parameter == "threshold" else 0
    assert corruption.max_severity == 10
    for magnitude in (0.7, 2.35, 4, 10):
        assert corruption.parameters(magnitude, side)[parameter] == pytest.approx(start + slope * magnitude)


@pytest.mark.parametrize(
    ("side", "magnitudes", "measured"),
    [
        (32, (0.7, 1.4, 2.1, 3.5, 4.2), (1.1, 1.9, 3.2, 7.3, 10.9)),
        (224, (0.8, 1.6, 2.4, 4.0, 5.6), (1.2, 2.2, 3.7, 9.7, 20.6)),
    ],
)
def test_blue_noise_sample_blackens_what_was_measured(
    side: int, magnitudes: tuple[float, ...], measured: tuple[float, ...]
) -> None:
    white = np.full((side, side, 3), 255, np.uint8)
    for magnitude, percent in zip(magnitudes, measured, strict=True):
        black = [
            (brittle.corrupt(white, "c-bar/blue_noise_sample", magnitude, sample=i) == 0).mean() * 100
            for i in range(60)
        ]
        assert np.mean(black) == pytest.approx(percent, rel=0.03, abs=0.1)


@pytest.mark.parametrize("shape", [(32, 32), (45, 45), (30, 47), (47, 30), (1, 9), (8, 1)])
def test_blue_noise_is_standardised_and_blue_at_any_size(shape: tuple[int, int]) -> None:
    fields = np.array([blue_noise(Draws(0, "b", i).key("p"), *shape) for i in range(200)], float)
    assert fields.std((1, 2)) == pytest.approx(1, abs=1e-4)
    assert np.abs(fields.mean((1, 2))).max() < 1e-5
    power = (np.abs(np.fft.fftshift(np.fft.fft2(fields), (1, 2))) ** 2).mean(0)
    y, x = np.mgrid[: shape[0], : shape[1]]
    square = (y - shape[0] // 2) ** 2 + (x - shape[1] // 2) ** 2
    assert np.corrcoef(power.ravel(), square.ravel())[0, 1] > 0.9


def test_brown_noise_shifts_whole_channels() -> None:
    """The mean is not removed: σ ≈ 0.7 and at most about 1.6 standard deviations, as measured."""
    means = [brown_noise(Draws(0, "b", i).key("p"), 32, 32).mean() for i in range(400)]
    assert np.std(means) == pytest.approx(0.7, abs=0.1)
    assert 1.3 < np.abs(means).max() < 2


def test_large_noise_is_a_repeated_tile_or_an_enlarged_field() -> None:
    key = Draws(0, "b", 0).key("p")
    shape = (40, LARGEST + 300)
    blue, brown = blue_noise(key, *shape), brown_noise(key, *shape)
    assert blue.shape == brown.shape == shape
    np.testing.assert_array_equal(blue[:, :300], blue[:, LARGEST:])
    assert brown.std() == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize("side", [448, 700])
def test_refraction_of_large_images_is_that_of_224_px_enlarged(side: int) -> None:
    """The same water bends a larger picture by as much of its side."""
    ramp = np.linspace(0, 255, side)
    shares = []
    for length in (224, side):
        row = np.interp(np.linspace(0, side - 1, length), np.arange(side), ramp)
        image = np.broadcast_to(row[None, :, None], (length, length, 3)).astype(np.uint8)
        out = brittle.corrupt(np.ascontiguousarray(image), "c-bar/caustic_refraction", 5, sample=3)
        shares.append(np.abs(out.astype(float) - image).mean())
    assert shares[1] == pytest.approx(shares[0], rel=0.1)


@pytest.mark.parametrize("value", [0.0, 1e-9, 0.7, math.pi / 2, math.pi, 4.0, 100.1, 54321.0])
def test_polynomials_are_sines_and_angles(value: float) -> None:
    for x in (value, -value):
        assert sine(x) == pytest.approx(math.sin(x), abs=1e-10)
        assert cosine(x) == pytest.approx(math.cos(x), abs=1e-10)
        for y in (0.0, 1e-9, 1.0, 0.42 * x, -x, -300.0):
            assert angle(x, y) == pytest.approx(math.atan2(x + 0.0, y + 0.0), abs=1e-10)


@pytest.mark.parametrize("name", ["imagenet-c-bar", "cifar10-c-bar"])
def test_recipes_hold_ten_corruptions_at_five_magnitudes(name: str) -> None:
    recipe = brittle.load_benchmark(name)
    assert [len(entry.levels) for entry in recipe.entries] == [5] * 10
    assert all(entry.id.startswith("c-bar/") for entry in recipe.entries)


@pytest.mark.parametrize("name", REFERENCE)
def test_thin_images_survive(name: str) -> None:
    for shape in ((1, 5000, 3), (5000, 1, 3), (2, 777, 1), (1, 1, 3)):
        image = np.full(shape, 128, np.uint8)
        assert brittle.corrupt(image, f"c-bar/{name}", 10).shape == shape
