"""The 23 NOC candidates against a plain reading of the fact sheet, and against what follows from it."""

import numpy as np
import pytest
from scipy import ndimage, stats

import brittle
from brittle.corruptions import Draws
from brittle.corruptions.kernels.colour import rotate_hue
from brittle.corruptions.noc.noise import mean_filter
from brittle.datasets import photo
from tests.corruptions.noc_reference import RANGES, REFERENCE, value_at

NOC = [c.name for c in brittle.list_corruptions(source="noc")]
AREA = {"rain": 121, "circle": 121, "rhombus": 98}

ANY_SIZE = [
    name
    for name in REFERENCE
    if name == "blur" or not any(level.px for level in brittle.get_corruption(f"noc/{name}").levels.values())
]


def test_all_twenty_three_are_there() -> None:
    assert sorted(NOC) == sorted(RANGES) == sorted([*REFERENCE, "translation"])


@pytest.mark.parametrize("severity", [1, 2.7, 5])
@pytest.mark.parametrize("name", REFERENCE)
def test_every_pixel_agrees_with_the_reading(name: str, severity: float) -> None:
    for sample, picture in enumerate(("cat", "coffee", "cat", "coffee")):
        _compare(name, photo(picture, 224), severity, sample)


@pytest.mark.parametrize("name", ANY_SIZE)
def test_what_has_no_lengths_agrees_at_other_sizes(name: str) -> None:
    image = np.ascontiguousarray(photo("coffee", 97)[:, 10:71])
    for sample, severity in enumerate((1, 2, 3.3, 5)):
        _compare(name, image, severity, sample)


def _compare(name: str, image: np.ndarray, severity: float, sample: int) -> None:
    expected = REFERENCE[name](image, Draws(0, f"noc/{name}", sample), value_at(name, severity))
    gap = np.abs(brittle.corrupt(image, f"noc/{name}", severity, sample=sample).astype(int) - expected)
    # One more or less where exact arithmetic lands on a half; Pillow rounds a thumbnail four times on its way.
    assert gap.max() <= (2 if name == "thumbnail_resize" else 1)
    assert gap.mean() < 0.03


def test_translation_draws_the_published_pairs() -> None:
    """With a uniform severity both distances are uniform on 15 … 62, the signs fair, and all four independent."""
    rows, columns = np.mgrid[:224, :224].astype(np.uint8)
    image = np.stack([rows, columns, np.full_like(rows, 255)], -1)
    moves = []
    for sample in range(3000):
        severity = Draws(1, "severity", sample).uniform("s", 1, 5)
        out = brittle.corrupt(image, "noc/translation", severity, sample=sample)
        dy, dx = 112 - out[112, 112, :2].astype(int)
        moves.append((dy, dx))
        if sample < 20:
            expected = np.zeros_like(image)
            for y in range(max(dy, 0), min(224 + dy, 224)):
                expected[y, max(dx, 0) : min(224 + dx, 224)] = image[y - dy, max(-dx, 0) : min(224 - dx, 224)]
            np.testing.assert_array_equal(out, expected)
    moves = np.array(moves)
    for axis in (0, 1):
        counts = np.bincount(np.abs(moves[:, axis]), minlength=63)
        assert counts[:15].sum() == 0 == counts[63:].sum()
        assert stats.chisquare(counts[15:63]).pvalue > 1e-3
    pairs, *_ = np.histogram2d(*np.abs(moves).T, bins=6)
    signs = np.array([[((moves[:, 0] > 0) == a) & ((moves[:, 1] > 0) == b) for b in (0, 1)] for a in (0, 1)]).sum(-1)
    assert stats.chisquare(pairs.ravel()).pvalue > 1e-3
    assert stats.chisquare(signs.ravel()).pvalue > 1e-3


@pytest.mark.parametrize(("severity", "sigma"), [(1, 0.05), (5, 0.18)])
def test_gaussian_has_the_moments_of_a_half_normal(severity: float, sigma: float) -> None:
    added = brittle.corrupt(np.zeros((400, 400, 3), np.uint8), "noc/gaussian", severity) / 255
    assert added.mean() == pytest.approx(sigma * np.sqrt(2 / np.pi), rel=0.005)
    assert added.std() == pytest.approx(sigma * np.sqrt(1 - 2 / np.pi), rel=0.005)


@pytest.mark.parametrize(("severity", "share"), [(1, 0.003), (5, 0.032)])
def test_salt_and_pepper_come_in_equal_shares(severity: float, share: float) -> None:
    out = brittle.corrupt(np.full((600, 600, 3), 100, np.uint8), "noc/salt_pepper", severity)
    for value in (0, 255):
        assert (out == value).mean() == pytest.approx(share / 2, rel=0.05)


@pytest.mark.parametrize("severity", [0.5, 1, 5])
def test_every_drop_halves_what_is_left_once(severity: float) -> None:
    """On black, k drops leave 2⁻ᵏ of the darkness; all drops lie fully inside, so the k sum to 121 a drop."""
    out = brittle.corrupt(np.zeros((224, 224, 1), np.uint8), "noc/rain", severity)
    drops = np.rint(-np.log2(1 - np.minimum(out, 254) / 255)).sum()
    assert drops == 121 * brittle.get_corruption("noc/rain").parameters(severity)["count"]


@pytest.mark.parametrize("side", [32, 100, 448])
@pytest.mark.parametrize("name", AREA)
def test_shapes_cover_the_same_share_at_every_size(name: str, side: int) -> None:
    image = np.full((side, side, 1), 137, np.uint8)
    covered = [(brittle.corrupt(image, f"noc/{name}", 0.2, sample=i) != 137).mean() for i in range(400)]
    count = brittle.get_corruption(f"noc/{name}").parameters(0.2)["count"]
    expected = 1 - (1 - AREA[name] / 224**2) ** count
    assert np.mean(covered) == pytest.approx(expected, abs=5 * np.std(covered) / 20)


@pytest.mark.parametrize("name", ["artifacts", "vertical_artifacts"])
@pytest.mark.parametrize("side", [32, 448])
def test_dashes_cover_the_same_share_at_every_size(name: str, side: int) -> None:
    shares = [
        np.mean(
            [
                (brittle.corrupt(np.zeros((s, s, 1), np.uint8), f"noc/{name}", 1, sample=i) > 0).mean()
                for i in range(300)
            ]
        )
        for s in (side, 224)
    ]
    assert shares[0] == pytest.approx(shares[1], rel=0.05)


def test_shapes_keep_their_places_as_severity_grows() -> None:
    image = np.zeros((224, 224, 1), np.uint8)
    for name in ("rain", "circle", "rhombus", "artifacts", "vertical_artifacts"):
        few, many = (brittle.corrupt(image, f"noc/{name}", s, sample=3) > 0 for s in (2, 4))
        assert few.sum() < many.sum()
        assert (many[few]).mean() > 0.98  # a dark shape may hide a bright one


def test_obstruction_is_always_whole_and_reaches_every_edge() -> None:
    image = np.zeros((224, 260, 1), np.uint8)
    edges = []
    for sample in range(400):
        out = brittle.corrupt(image, "noc/obstruction", 1, sample=sample)
        if out.max() == 0:
            continue
        rows, columns = (np.flatnonzero(out.any((axis, 2))) for axis in (1, 0))
        assert len(rows) == len(columns) == 47
        assert (out[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1] == out.max()).all()
        edges.append((rows[0], columns[0]))
    top, left = np.array(edges).T
    assert stats.kstest((top + 0.5) / 178, "uniform").pvalue > 1e-3
    assert stats.kstest((left + 0.5) / 214, "uniform").pvalue > 1e-3


@pytest.mark.parametrize(("side", "severity"), [(32, 1), (32, 5), (100, 3), (448, 5), (5, 5)])
def test_a_frame_has_its_share_of_thickness_at_every_size(side: int, severity: float) -> None:
    out = brittle.corrupt(np.zeros((side, 3 * side, 1), np.uint8), "noc/border", severity, sample=1)[
        :, 3 * side // 2, 0
    ]
    full = int(out.max())
    thickness = out[: side // 2].sum() / full
    assert thickness == pytest.approx(value_at("border", severity) * side / 224, abs=2 / full)
    np.testing.assert_array_equal(out, out[::-1])


@pytest.mark.parametrize("width", [3.0, 4.2, 5.0, 6.0])
def test_wide_mean_filters_spread_as_a_square_of_that_width(width: float) -> None:
    """The variance of a real-valued box, five times; at odd widths it is the plain mean filter."""
    point = np.zeros((61, 61, 1), np.uint8)
    point[30, 30] = 255
    spread = mean_filter(point, width, passes=5)[..., 0].astype(float) / 255
    assert spread.sum() == pytest.approx(1, abs=1e-4)
    half = (width - 1) / 2
    reach, part = int(half), half - int(half)
    variance = 2 * (sum(k * k for k in range(1, reach + 1)) + part * (reach + 1) ** 2) / width
    offset = np.arange(61) - 30
    for axis in (0, 1):
        assert (spread.sum(axis) * offset**2).sum() == pytest.approx(5 * variance, rel=1e-3)
    if width == int(width) and int(width) % 2:
        read = point[..., 0] / 255
        for _ in range(5):
            read = ndimage.uniform_filter(read, int(width), mode="constant")
        np.testing.assert_allclose(spread, read, atol=1e-6)


def test_a_lone_blurred_edge_gets_the_dark_rim() -> None:
    """One pass leaves 2/3 of a white image at an edge and 4/9 in a corner; five passes leave less."""
    white = np.full((40, 40, 1), 255, np.uint8)
    once, five = (mean_filter(white, 3, passes)[..., 0] / 255 for passes in (1, 5))
    assert (once[0, 20], once[0, 0], once[20, 20]) == pytest.approx((2 / 3, 4 / 9, 1))
    assert five[0, 0] == pytest.approx(five[0, 20] ** 2)
    assert five[0, 20] < 0.5 < five[5, 20]


def test_hue_is_that_of_pillow_for_very_many_colours() -> None:
    colours = np.random.default_rng(0).integers(0, 256, (300, 500, 3), dtype=np.uint8)
    colours[:100] //= 8  # dark and nearly grey ones are the delicate ones
    colours[100:150] = colours[100:150] // 32 + 120
    for sample in range(2):
        for turn in (0.05, 0.21, 0.5):
            draws = Draws(0, "noc/hue", sample)
            steps = int((1 if draws.integer("sign", 2) else -1) * turn * 255)
            np.testing.assert_array_equal(rotate_hue(colours, steps), REFERENCE["hue"](colours, draws, turn))
