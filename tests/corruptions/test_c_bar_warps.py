"""Eighteen C-bar corruptions (blurs, colours, warps, cutout, lines) against a plain reading of their definitions."""

import itertools
import math

import numpy as np
import pytest
from scipy import ndimage

import brittle
from brittle.corruptions import Draws
from brittle.corruptions.kernels.splines import spline_coefficients
from brittle.datasets import photo
from tests.corruptions.c_bar_warps_reference import READINGS

SMALL_SHARE = {
    "scatter": 1e-3,  # a hash that falls on the other side of a whole number
    "circular_motion_blur": 2e-4,  # a place on the frame's edge that is inside or outside by the last bit
    "checkerboard_cutout": 2e-4,  # a pixel on the edge of a square
}
"""What share of the values may differ by more than one grey level, and why; for all others none may."""


@pytest.mark.parametrize("side", [32, 224])
@pytest.mark.parametrize("name", READINGS)
def test_agrees_with_a_plain_reading(name: str, side: int) -> None:
    corruption = brittle.get_corruption(f"c-bar/{name}")
    severities = (0.7, 2.5, 6, corruption.max_severity) if side == 32 else (4.9,)
    for picture, sample in (("cat", 3), ("coffee", 4)):
        image = photo(picture, side)
        for severity in severities:
            parameters = corruption.parameters(severity, side)
            read = READINGS[name](image, Draws(0, corruption.id, sample), **parameters)
            ours = brittle.corrupt(image, corruption, severity, sample=sample)
            gap = np.abs((ours.astype(int) - read + 128) % 256 - 128)  # 0 and 255 are neighbours where bytes wrap
            assert (gap > 1).mean() <= SMALL_SHARE.get(name, 0)
            assert gap.mean() < 0.3  # truncation of what is whole but for a rounding error


@pytest.mark.parametrize("side", [32, 224])
@pytest.mark.parametrize(
    ("name", "formulas"),
    [
        ("scatter", {"radius_px": lambda s, side: 0.01 * s * side}),
        ("chromatic_abberation", {"shift_px": lambda s, side: 0.01 * s * side}),
        (
            "transverse_chromatic_abberation",
            {"mid_zoom": lambda s, _: 1 + 0.025 * s, "max_zoom": lambda s, _: 1 + 0.05 * s},
        ),
        ("circular_motion_blur", {"max_angle_deg": lambda s, _: 1.5 * s}),
        ("bleach_bypass", {"amount": lambda s, _: 0.1 * s}),
        ("technicolor", {"amount": lambda s, _: 0.1 * s}),
        ("pseudocolor", {"amount": lambda s, _: 0.05 * s}),
        ("hue_shift", {"abs_hue_turns": lambda s, _: 0.05 * s}),
        ("color_dither", {"levels": lambda s, _: 14 - s}),
        ("color_balance", {"abs_factor_shift": lambda s, _: 0.1 * s}),
        (
            "perspective_no_bars",
            {
                "abs_offset": lambda s, _: 0.01 * s,
                "abs_shift_px": lambda s, side: s * side / 100,
                "abs_log2_factor": lambda s, _: 0.015 * s,
                "denominator": lambda s, side: 0.02 * s / side,
            },
        ),
        ("quadrilateral_no_bars", {"max_corner_shift_px": lambda s, side: s * side / 30}),
        (
            "pinch_and_twirl",
            {"abs_angle_rad": lambda s, _: s * math.pi / 20, "amount": lambda s, _: 0.04 * s + 0.1},
        ),
        ("fish_eye", {"eta": lambda s, _: 0.2 * s + 1}),
        ("water_drop", {"amplitude": lambda s, _: 0.025 * s}),
        ("ripple", {"amplitude_px": lambda s, side: 0.0025 * s * side}),
        ("checkerboard_cutout", {"fraction": lambda s, _: 0.1 * s}),
        ("lines", {"line_count": lambda s, side: 0.1 * s * side}),
    ],
)
def test_parameters_follow_the_published_formulas(name: str, formulas: dict, side: int) -> None:
    corruption = brittle.get_corruption(f"c-bar/{name}")
    assert corruption.max_severity == (12 if name == "color_dither" else 10)
    for s in (0.5, 1, 2.35, 5.6, 9.15, 10):
        expected = {parameter: formula(s, side) for parameter, formula in formulas.items()}
        assert corruption.parameters(s, side) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("s", "count"), [(0.5, 1), (1, 3), (1.5, 4), (2, 6), (2.5, 8)])
def test_cifar_has_the_published_number_of_lines(s: float, count: int) -> None:
    assert math.floor(brittle.get_corruption("c-bar/lines").parameters(s, 32)["line_count"] + 1e-9) == count


@pytest.mark.parametrize(("s", "levels"), [(0.5, 14), (1, 13), (2.9, 12), (3, 11), (11.99, 3), (12, 2)])
def test_dithering_leaves_the_published_number_of_levels(s: float, levels: int) -> None:
    ramp = np.tile(np.arange(256, dtype=np.uint8), (40, 1))
    assert len(np.unique(brittle.corrupt(ramp, "c-bar/color_dither", s))) == levels


def test_dithering_never_goes_down_a_row() -> None:
    image = photo("cat", 40)
    other = image.copy()
    other[5] = 255 - other[5]
    changed = brittle.corrupt(image, "c-bar/color_dither", 9) != brittle.corrupt(other, "c-bar/color_dither", 9)
    assert changed.any((1, 2)).nonzero()[0].tolist() == [5]


@pytest.mark.parametrize(("s", "share"), [(1, 0.039), (10, 0.186)])
def test_technicolor_wraps_the_published_share_of_random_colours(s: float, share: float) -> None:
    image = np.random.default_rng(0).integers(0, 256, (300, 300, 3), dtype=np.uint8)
    x = image / 255
    matte = 1 - 1.5 * x + x.sum(-1, keepdims=True) / 2
    full = (1 - s / 10) * x + s / 10 * x * matte.prod(-1, keepdims=True) / matte
    assert (full * 255 >= 256).mean() == pytest.approx(share, abs=0.003)
    out = brittle.corrupt(image, "c-bar/technicolor", s)
    assert np.abs((out - np.floor(full * 255) + 128) % 256 - 128).max() <= 1


def test_bleach_bypass_wraps_below_black() -> None:
    """A dark channel in a pixel just lighter than the threshold is screened to −3 and comes out almost white."""
    image = np.full((2, 2, 3), (120, 133, 0), np.uint8)
    assert (brittle.corrupt(image, "c-bar/bleach_bypass", 10)[..., 2] == 253).all()


@pytest.mark.parametrize("s", [2, 5, 8])
def test_a_cutout_hides_half_the_chosen_share(s: float) -> None:
    white = np.full((96, 96, 1), 255, np.uint8)
    hidden = [(brittle.corrupt(white, "c-bar/checkerboard_cutout", s, sample=i) == 128).mean() for i in range(150)]
    assert np.mean(hidden) == pytest.approx(0.05 * s, abs=0.02)


def test_cutouts_and_lines_only_ever_grow() -> None:
    white = np.full((64, 64, 1), 255, np.uint8)
    for name in ("checkerboard_cutout", "lines"):
        changed = [brittle.corrupt(white, f"c-bar/{name}", s, sample=1) < 255 for s in (1, 2, 4, 7, 10)]
        assert all((less <= more).all() for less, more in itertools.pairwise(changed))
        assert changed[0].any()


def test_opposite_hues_are_exact() -> None:
    image = photo("coffee", 64)
    turned = brittle.corrupt(image, "c-bar/hue_shift", 10)
    flipped = image.max(-1, keepdims=True).astype(int) + image.min(-1, keepdims=True) - image
    np.testing.assert_array_equal(turned, flipped)


@pytest.mark.parametrize("name", ["perspective_no_bars", "quadrilateral_no_bars"])
def test_there_are_no_bars(name: str) -> None:
    white = np.full((50, 70, 3), 255, np.uint8)
    assert all((brittle.corrupt(white, f"c-bar/{name}", 10, sample=i) == 255).all() for i in range(10))


@pytest.mark.parametrize("shape", [(1, 1), (1, 6), (2, 2), (3, 40), (7, 5), (33, 34), (120, 3)])
def test_spline_coefficients_are_scipys(shape: tuple[int, int]) -> None:
    image = np.random.default_rng(1).integers(0, 256, (*shape, 3), dtype=np.uint8)
    ours = spline_coefficients(image)[1:-2, 1:-2, :3]
    read = np.stack([ndimage.spline_filter(image[..., c].astype(float), 3) for c in range(3)], -1)
    np.testing.assert_allclose(ours, read, atol=1e-3)


@pytest.mark.parametrize("shape", [(37, 90), (90, 37)])
@pytest.mark.parametrize("name", ["chromatic_abberation", "circular_motion_blur", "perspective_no_bars"])
def test_some_agree_on_pictures_that_are_not_square(name: str, shape: tuple[int, int]) -> None:
    image = photo("cat", 90)[: shape[0], : shape[1]]
    corruption = brittle.get_corruption(f"c-bar/{name}")
    read = READINGS[name](image, Draws(0, corruption.id, 0), **corruption.parameters(6, shape))
    gap = np.abs(brittle.corrupt(image, corruption, 6).astype(int) - read)
    assert (gap > 1).mean() <= 1e-3
