"""Two overlap matrices of the same corruptions."""

import numpy as np
import pytest

from brittle import BrittleError
from brittle.design import OverlapMatrix, compare_overlaps

NAMES = tuple("abcdefgh")


def matrix(seed: int = 0, noise: float = 0.0, names: tuple[str, ...] = NAMES) -> OverlapMatrix:
    side = len(names)
    base = np.random.default_rng(0).random((side, side))
    scores = (base + base.T) / 2 + noise * _symmetric(np.random.default_rng(seed).normal(size=(side, side)))
    np.fill_diagonal(scores, 1)
    return OverlapMatrix(names, scores)


def _symmetric(square: np.ndarray) -> np.ndarray:
    return (square + square.T) / 2


def test_a_matrix_agrees_with_itself_in_any_order() -> None:
    one = matrix()
    agreement = compare_overlaps(one, one.subset(NAMES[::-1]))
    assert agreement.spearman.value == pytest.approx(1)
    assert agreement.mean_absolute.value == pytest.approx(0)
    assert agreement.pairs == 28
    assert "28 pairs" in str(agreement)


def test_noise_shows_in_both_numbers_and_in_the_interval() -> None:
    near, far = (compare_overlaps(matrix(), matrix(1, noise)) for noise in (0.05, 1.0))
    assert near.spearman.value > 0.9 > far.spearman.value
    assert near.mean_absolute.value < 0.1 < far.mean_absolute.value
    assert near.spearman.low is not None
    assert near.spearman.low <= near.spearman.value <= near.spearman.high
    plain = np.triu_indices(8, 1)
    expected = np.abs(matrix().scores - matrix(1, 1.0).scores)[plain].mean()
    assert far.mean_absolute.value == pytest.approx(expected)


def test_masked_pairs_are_left_out() -> None:
    scores = matrix().scores.copy()
    scores[2, :] = scores[:, 2] = np.nan
    scores[2, 2] = 1
    agreement = compare_overlaps(matrix(), OverlapMatrix(NAMES, scores))
    assert agreement.pairs == 21
    assert agreement.mean_absolute.value == pytest.approx(0)


def test_other_corruptions_or_too_few_pairs_are_refused() -> None:
    with pytest.raises(BrittleError, match="only one of them has h, x"):
        compare_overlaps(matrix(), matrix(names=(*NAMES[:-1], "x")))
    with pytest.raises(BrittleError, match="at least 4"):
        compare_overlaps(matrix(names=NAMES[:3]), matrix(names=NAMES[:3]))
