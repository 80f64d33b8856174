"""The order of sampled augmentations by their distance, and schemes of a few of them."""

import numpy as np
import pytest

from brittle import BrittleError
from brittle.benchmarks import Cell
from brittle.corruptions import Draws
from brittle.distance import (
    ChosenTransforms,
    CorruptionFeatures,
    choose_augmentations,
    chosen_schemes,
    interleaved_order,
)
from brittle.training.augmentation import AugMix, fixed
from tests.errors import naming

RNG = np.random.default_rng(0)
ROWS = RNG.normal(size=(30, 4)).astype(np.float32)
CELLS = CorruptionFeatures((Cell("fog", 1.0), Cell("snow", 1.0)), RNG.normal(size=(2, 5, 4)).astype(np.float32))
IMAGE = RNG.integers(0, 256, (32, 32, 3), dtype=np.uint8)


def test_rankings_are_interleaved() -> None:
    distances = RNG.random((30, 3))
    rankings = distances.argsort(0)
    expected: list[int] = []
    for place in rankings:
        expected += [i for i in dict.fromkeys(map(int, place)) if i not in expected]
    assert interleaved_order(distances).tolist() == expected
    assert sorted(expected) == list(range(30))


def test_the_closest_are_closer_than_the_farthest() -> None:
    distance = np.linalg.norm(ROWS[:, None] - CELLS.means, axis=-1)
    closest, farthest = (choose_augmentations(ROWS, CELLS, 4, choice) for choice in ("closest", "farthest"))
    assert set(distance.argmin(0)) <= set(closest)
    assert distance[list(closest)].min(1).max() < distance[list(farthest)].min(1).min()
    few, many = (choose_augmentations(ROWS, CELLS, count, "random", seed=3) for count in (4, 9))
    assert many[:4] == few
    assert few != choose_augmentations(ROWS, CELLS, 4, "random", seed=4)


def test_a_scheme_of_chosen_transforms_has_no_others() -> None:
    scheme = ChosenTransforms(AugMix(), (3, 17), seed=5)
    known = [fixed(AugMix(), 5, number)(IMAGE[None])[0] for number in (3, 17)]
    drawn = [scheme(IMAGE, Draws(0, "any", i)) for i in range(20)]
    which = {next(i for i, one in enumerate(known) if np.array_equal(one, image)) for image in drawn}
    assert which == {0, 1}
    np.testing.assert_array_equal(scheme(np.stack([IMAGE] * 2), Draws(0, "any", 0))[1], drawn[0])


def test_schemes_are_named_by_choice_and_number() -> None:
    schemes = chosen_schemes(AugMix(), ROWS, CELLS, (2, 5), seed=1)
    assert list(schemes) == [f"{choice} {n}" for choice in ("closest", "farthest", "random") for n in (2, 5)]
    assert [len(scheme.numbers) for scheme in schemes.values()] == [2, 5] * 3
    assert {scheme.seed for scheme in schemes.values()} == {1}


@pytest.mark.parametrize(
    ("call", "values"),
    [
        (lambda: choose_augmentations(ROWS, CELLS, 31, "closest"), (1, 30, 31)),
        (lambda: choose_augmentations(ROWS, CELLS, 3, "nearest"), ("closest", "nearest")),  # type: ignore[arg-type]
        (lambda: interleaved_order([1.0, 2.0]), ("(2,)",)),
        (lambda: interleaved_order([[1.0], [np.nan]]), (1, 2, "NaN")),
        (lambda: ChosenTransforms(AugMix(), ()), ("()",)),
    ],
)
def test_a_mistake_is_one_sentence(call, values: tuple) -> None:
    with pytest.raises(BrittleError, match=naming(*values)):
        call()
