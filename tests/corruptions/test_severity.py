import math

import numpy as np
import pytest

import brittle
from brittle import BrittleError
from brittle.corruptions.severity import choose_table, evenly, integers, levels
from tests.errors import naming

ALL = [c.id for c in brittle.list_corruptions()]
SIDES = frozenset({32, 64, 224, 299})


def test_levels_are_hit_exactly_and_straight_lines_lie_between() -> None:
    sigma = levels(0.1, 0.3, 0.7, clean=0)
    assert [sigma.at(s, 224, 1) for s in (0, 0.5, 1, 1.5, 2, 3)] == pytest.approx([0, 0.05, 0.1, 0.2, 0.3, 0.7])
    assert sigma.at(2, 224, 1) == 0.3


def test_photons_move_linearly_in_the_noise_that_they_make() -> None:
    photons = levels(100, 25, clean=math.inf, scale="inverse-sqrt")
    assert photons.at(0, 224, 1) == math.inf
    assert 1 / math.sqrt(photons.at(0.5, 224, 1)) == pytest.approx(0.05)
    assert 1 / math.sqrt(photons.at(1.5, 224, 1)) == pytest.approx(0.15)


def test_whole_parameters_are_rounded() -> None:
    assert levels(10, 13, clean=1, integer=True).at(1.5, 224, 1) == 12  # halves to even, as Python rounds


@pytest.mark.parametrize(
    ("side", "table", "ratio"),
    [
        (32, 32, 1), (64, 64, 1), (224, 224, 1), (299, 299, 1),
        (28, 32, 28 / 32), (96, 64, 1.5), (128, 224, 128 / 224), (300, 224, 300 / 224), (3000, 224, 3000 / 224),
        (1, 32, 1 / 32),
    ],
)  # fmt: skip
def test_other_sizes_take_the_nearest_table_and_scale_it(side: int, table: int, ratio: float) -> None:
    assert choose_table(SIDES, side) == (table, pytest.approx(ratio))


def test_lengths_grow_with_the_image_and_strengths_do_not() -> None:
    blur, noise = brittle.get_corruption("imagenet-c/gaussian_blur"), brittle.get_corruption("gaussian_noise")
    assert blur.parameters(5, 448)["sigma"] == 12
    assert blur.parameters(5, 448, table=224)["sigma"] == 6
    assert noise.parameters(5, 448) == noise.parameters(5, 224)
    assert blur.parameters(5, (448, 1000)) == blur.parameters(5, 448)


@pytest.mark.parametrize("name", ALL)
def test_parameters_are_continuous(name: str) -> None:
    corruption = brittle.get_corruption(name)
    for level in range(1, 6):
        at, before = corruption.parameters(level), corruption.parameters(level - 1e-9)
        for parameter, value in at.items():
            slack = 1 if corruption.levels[parameter].integer else 1e-4 * max(1, abs(value))
            assert abs(value - before[parameter]) <= slack


@pytest.mark.parametrize("severity", [-0.1, 5.01, math.nan, math.inf, -math.inf])
def test_a_severity_out_of_range_is_named(severity: float) -> None:
    with pytest.raises(BrittleError, match=naming(0, 5)):
        brittle.corrupt(np.zeros((8, 8, 3), np.uint8), "fog", severity)


@pytest.mark.parametrize("severity", ["3", None, True, [1], np.array([1, 2])])
def test_a_severity_of_the_wrong_type_is_named(severity: object) -> None:
    with pytest.raises(TypeError, match=naming("severity", repr(severity), 0, 5)):
        brittle.corrupt(np.zeros((8, 8, 3), np.uint8), "fog", severity)  # type: ignore[arg-type]


def test_numpy_numbers_are_severities() -> None:
    image = np.full((8, 8, 3), 90, np.uint8)
    expected = brittle.corrupt(image, "imagenet-c/brightness", 3)
    for severity in (np.float32(3), np.int64(3), np.array(3)):
        np.testing.assert_array_equal(brittle.corrupt(image, "imagenet-c/brightness", severity), expected)


@pytest.mark.parametrize(
    ("given", "values"),
    [({"size": 0}, ("size=0", 1)), ({"table": 100}, ("imagenet-c/fog", "table=100", 32, 64, 224, 299))],
)
def test_bad_sizes_are_named(given: dict[str, int], values: tuple) -> None:
    with pytest.raises(BrittleError, match=naming(*values)):
        brittle.get_corruption("fog").parameters(1, **given)  # type: ignore[arg-type]


def test_even_parameters_move_evenly() -> None:
    strength = evenly(196, clean=0, steps=10)
    assert [strength.at(s, 224, 1) for s in (0, 0.5, 4.5, 10)] == pytest.approx([0, 9.8, 88.2, 196])
    sigma = evenly(0.18, first=0.05, clean=0)
    assert [sigma.at(s, 224, 1) for s in (0, 0.5, 1, 3, 5)] == pytest.approx([0, 0.025, 0.05, 0.115, 0.18])


@pytest.mark.parametrize(("first", "last"), [(2, 4), (8, 3), (14, 170)])
def test_whole_numbers_have_equal_shares_of_the_range(first: int, last: int) -> None:
    number = integers(first, last, clean=0)
    assert (number.at(1, 224, 1), number.at(5, 224, 1)) == (first, last)
    drawn = [number.at(s, 224, 1) for s in np.linspace(1, 5, 100_001)]
    values, counts = np.unique(drawn, return_counts=True)
    assert len(values) == abs(last - first) + 1
    assert counts.min() / counts.max() > 0.97


def test_a_parameter_goes_on_to_its_furthest_value_and_no_further() -> None:
    sigma = evenly(0.5, first=0.1, clean=0, furthest=0.8)
    assert (sigma.highest, sigma.at(sigma.highest, 224, 1)) == (pytest.approx(8), pytest.approx(0.8))
    assert evenly(0.5, clean=0).highest == 5
    count = integers(8, 3, clean=255, furthest=1)
    assert [count.at(severity, 224, 1) for severity in (5, 5.01, count.highest)] == [3, 2, 1]


@pytest.mark.parametrize("corruption", brittle.list_corruptions(source="noc"), ids=lambda one: one.name)
def test_candidates_can_be_drawn_beyond_their_range(corruption: brittle.corruptions.Corruption) -> None:
    highest = corruption.highest_severity
    assert highest >= corruption.max_severity
    for side in (32, 224):
        photo = brittle.datasets.photo("cat", side)
        drawn = corruption(photo, highest, sample="a")
        assert (drawn.shape, drawn.dtype) == (photo.shape, photo.dtype)
        assert (drawn != photo).any()
    with pytest.raises(BrittleError, match=naming(f"{highest:g}", highest + 1)):
        corruption(photo, highest + 1)


def test_published_benchmarks_end_at_their_strongest_level() -> None:
    assert {one.highest_severity for one in brittle.list_corruptions(source="imagenet-c")} == {5}
