"""Several models against the best: what is said of all of them at once holds."""

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from brittle import BrittleError
from brittle.metrics import difference, differences, holm, indistinguishable_groups, pairwise_differences
from brittle.metrics.paired import largest_t
from tests.errors import naming


def right(share: float, seed: int, n: int = 400) -> np.ndarray:
    return np.random.default_rng(seed).random((n, 3)) < share


@pytest.mark.parametrize("models", [3, 6, 10])
def test_the_largest_t_of_independent_models_is_tukeys(models: int) -> None:
    errors = np.random.default_rng(0).normal(size=(40_000, models))
    assert largest_t(errors, 0.95) == pytest.approx(
        stats.studentized_range.ppf(0.95, models, np.inf) / 2**0.5, rel=0.01
    )


def test_two_models_have_the_paired_difference_and_three_have_wider_ones() -> None:
    best, good, poor = right(0.8, 0), right(0.75, 1), right(0.5, 2)
    alone = difference(good, best, name="good", resamples=500)
    assert differences([best, good], names=["good"], resamples=500) == [alone]
    first, other = differences([best, good, poor], names=["good", "poor"], resamples=500)
    assert first.value == alone.value
    assert 1.1 < (first.high - first.low) / (alone.high - alone.low) < 1.35  # 2.34 standard errors for 1.96
    assert other.high < 0
    assert "simultaneous for all pairs of 3 models" in first.method


def test_equal_models_have_a_difference_of_zero_that_is_not_certain() -> None:
    best = right(0.7, 0)
    for one in differences([best, best, best], names="ab", resamples=50):
        assert one.value == 0
        assert -0.02 < one.low < 0 < one.high < 0.02
    for one in differences([np.ones((6, 3), dtype=bool)] * 3, names="ab", resamples=50):
        assert (one.low, one.high) == pytest.approx((-0.57, 0.57), abs=0.03)  # wider than two models' 0.48


def test_of_equally_good_models_hardly_ever_one_is_clearly_worse_than_the_best() -> None:
    singly = together = 0
    for trial in range(1000, 1100):
        rng = np.random.default_rng(trial)
        models = sorted((rng.random((80, 1)) < 0.7 for _ in range(6)), key=lambda rows: -rows.sum())
        best, *others = models
        singly += any(difference(other, best, resamples=200).high < 0 for other in others)
        together += any(one.high < 0 for one in differences(models, names="abcde", resamples=200))
    assert together / 100 < 0.1
    assert singly / 100 > 0.2  # which is why


def test_holm_is_the_textbooks() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.7]) == [1, 1]
    assert holm([0.2]) == [0.2]


def test_what_cannot_be_compared_is_told() -> None:
    with pytest.raises(BrittleError, match=naming(400, 3, 9)):
        differences([right(0.5, 0), right(0.5, 1), right(0.5, 2, n=9)], names="ab")
    with pytest.raises(BrittleError, match=naming(1, 0)):
        differences([right(0.5, 0)], names=[])
    with pytest.raises(BrittleError, match=naming(0, 1)):
        holm([1.2])


@pytest.mark.parametrize("count", [2, 3, 5])
def test_all_pairs_have_the_intervals_of_the_differences_to_any_first_model(count: int) -> None:
    tables = [right(0.5 + 0.06 * i, i, n=120) for i in range(count)]
    pairs = pairwise_differences(tables, resamples=300)
    assert list(pairs) == list(combinations(range(count), 2))
    for first in range(count):
        others = [i for i in range(count) if i != first]
        gaps = differences([tables[first], *(tables[i] for i in others)], names=["x"] * len(others), resamples=300)
        for other, gap in zip(others, gaps, strict=True):
            low, high = sorted((first, other))
            known, sign = pairs[low, high], 1 if other < first else -1
            assert known.value == pytest.approx(sign * gap.value)
            ends = sorted((sign * gap.low, sign * gap.high))
            assert [known.low, known.high] == pytest.approx(ends, abs=1e-9)
    assert pairwise_differences(tables[:1]) == {}


@pytest.mark.parametrize("seed", range(30))
def test_groups_are_the_largest_of_which_no_two_differ(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 8))
    apart = np.triu(rng.random((count, count)) < rng.random(), 1)
    apart = apart | apart.T
    equal = [
        set(chosen)
        for size in range(1, count + 1)
        for chosen in combinations(range(count), size)
        if not apart[np.ix_(chosen, chosen)].any()
    ]
    largest = sorted(tuple(sorted(one)) for one in equal if not any(one < other for other in equal))
    assert indistinguishable_groups(apart) == largest
    for first, second in combinations(range(count), 2):  # two models differ exactly if they share no letter
        assert apart[first, second] != any({first, second} <= set(group) for group in largest)


def test_what_is_no_relation_of_models_is_refused() -> None:
    assert indistinguishable_groups(np.zeros((0, 0))) == []
    for wrong in ([[0, 1], [0, 0]], [[1]], [0, 1]):
        with pytest.raises(BrittleError, match=naming("symmetric")):
            indistinguishable_groups(wrong)
