"""Calibration against a plain loop over predictions."""

import math

import numpy as np
import pytest

from brittle import BrittleError
from brittle.metrics import calibration_bins, expected_calibration_error
from tests.errors import naming


def by_hand(confidence: np.ndarray, correct: np.ndarray, bins: int) -> tuple[float, list[int]]:
    """Every prediction is put into the bin (i / bins, (i + 1) / bins], one after the other."""
    inside: list[list[tuple[float, bool]]] = [[] for _ in range(bins)]
    for sure, right in zip(confidence, correct, strict=True):
        place = 0
        while place < bins - 1 and sure > (place + 1) / bins:
            place += 1
        inside[place].append((float(sure), bool(right)))
    error = 0.0
    for group in inside:
        if group:
            mean = math.fsum(sure for sure, _ in group) / len(group)
            accuracy = sum(right for _, right in group) / len(group)
            error += len(group) / len(confidence) * abs(accuracy - mean)
    return error, [len(group) for group in inside]


@pytest.mark.parametrize("bins", [1, 2, 10, 15])
@pytest.mark.parametrize("count", [1, 7, 1000])
@pytest.mark.parametrize("seed", range(3))
def test_bins_are_those_of_a_loop(bins: int, count: int, seed: int) -> None:
    rng = np.random.default_rng([bins, count, seed])
    confidence, correct = rng.beta(4, 1.5, count), rng.random(count) < 0.7
    error, counts = by_hand(confidence, correct, bins)
    binned = calibration_bins(confidence, correct, bins=bins)
    assert binned.ece == pytest.approx(error, abs=1e-12)
    assert binned.counts.tolist() == counts
    assert expected_calibration_error(confidence, correct, bins=bins) == binned.ece
    assert binned.excess == pytest.approx(confidence.mean() - correct.mean(), abs=1e-12)


def test_the_ends_of_the_axis_are_inside() -> None:
    binned = calibration_bins([0.0, 1.0, 0.5], [False, True, True], bins=2)
    assert binned.counts.tolist() == [2, 1]  # 0.5 belongs to the bin that ends there
    assert binned.accuracy.tolist() == [0.5, 1.0]
    assert np.isnan(calibration_bins([0.9], [True]).accuracy[:13]).all()


@pytest.mark.parametrize("sure", [0.0, 0.4, 1.0])
def test_known_errors(sure: float) -> None:
    right = np.arange(10) < 4
    assert expected_calibration_error(np.full(10, sure), right) == pytest.approx(abs(sure - 0.4))


@pytest.mark.parametrize(
    ("confidence", "correct", "bins", "named"),
    [
        ([0.5], [True, False], 15, "(1,)"),
        ([], [], 15, "(0,)"),
        ([1.5], [True], 15, 1.5),
        ([float("nan")], [True], 15, "nan"),
        ([0.5], [True], 0, 0),
    ],
)
def test_mistakes_are_named(confidence: list, correct: list, bins: int, named: object) -> None:
    with pytest.raises(BrittleError, match=naming(named)):
        calibration_bins(confidence, correct, bins=bins)
