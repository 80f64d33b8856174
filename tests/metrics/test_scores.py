"""Scores of cells: accuracy, robustness, corruption errors, rCE, and how they refuse nonsense."""

from collections.abc import Callable

import numpy as np
import pytest

from brittle import BrittleError, metrics
from brittle.metrics import Estimate
from tests.errors import naming


def test_accuracy_and_error_keep_the_cells() -> None:
    correct = np.array([[True, False], [True, True], [True, False], [False, False]])
    assert metrics.accuracy(correct).tolist() == [0.75, 0.25]
    assert metrics.error(correct).tolist() == [0.25, 0.75]


def test_robustness_as_ratio_and_as_drop() -> None:
    accuracy, clean = np.array([[0.4, 0.6], [0.1, 0.1]]), np.array([0.8, 0.2])
    assert metrics.robustness_score(accuracy, clean[:, None]) == pytest.approx(np.array([[0.5, 0.75], [0.5, 0.5]]))
    assert metrics.accuracy_drop(accuracy[0], 0.8) == pytest.approx([0.4, 0.2])
    assert metrics.residual_robustness(accuracy, clean) == pytest.approx([0.3, 0.1])
    assert metrics.residual_robustness(accuracy[0], 0.8) == pytest.approx(0.3)


def test_corruption_errors_by_hand() -> None:
    errors, baseline = np.array([0.3, 0.6]), np.array([0.6, 0.8])
    assert metrics.corruption_errors(errors, baseline) == pytest.approx([0.5, 0.75])
    assert metrics.mce(errors, baseline) == pytest.approx(0.625)
    assert metrics.relative_corruption_errors(errors, 0.2, baseline, 0.4) == pytest.approx([0.5, 1.0])
    assert metrics.relative_mce(errors, 0.2, baseline, 0.4) == pytest.approx(0.75)
    assert metrics.unnormalised_error(errors) == pytest.approx(0.45)


def test_many_models_at_once_are_the_models_one_by_one(rng: np.random.Generator) -> None:
    errors, clean, baseline = rng.uniform(0.3, 0.9, (7, 15)), rng.uniform(0.1, 0.3, 7), rng.uniform(0.6, 0.9, 15)
    assert metrics.mce(errors, baseline) == pytest.approx([float(metrics.mce(e, baseline)) for e in errors])
    together = metrics.relative_mce(errors, clean, baseline, 0.4)
    assert together == pytest.approx(
        [float(metrics.relative_mce(e, c, baseline, 0.4)) for e, c in zip(errors, clean, strict=True)]
    )
    terms = metrics.relative_corruption_errors(errors, clean, baseline, 0.4)
    assert metrics.errors_from_relative(terms, clean, baseline, 0.4) == pytest.approx(errors)


def test_rce_of_hand_made_shifts() -> None:
    """Two shifts, scales 0, 0.5, 1: rises of 0.1 + 0.3 over 0.2 + 0.3, and of 0 + 0.2 over 0.1 + 0.1."""
    errors = [[0.2, 0.3, 0.5], [0.3, 0.3, 0.5]]
    baseline = [[0.4, 0.6, 0.7], [0.5, 0.6, 0.6]]
    assert metrics.shift_rce(errors, baseline) == pytest.approx([0.8, 1.0])
    assert metrics.rce(errors, baseline) == pytest.approx(0.9)
    assert metrics.rce(baseline, baseline) == pytest.approx(1)


def test_accuracy_drop_by_shift_or_by_image() -> None:
    accuracy = [[0.8, 0.7], [0.6, 0.2]]
    assert metrics.mean_accuracy_drop(accuracy) == pytest.approx([0.25])
    assert metrics.mean_accuracy_drop(accuracy, images=[300, 100]) == pytest.approx([0.75 * 0.1 + 0.25 * 0.4])


@pytest.mark.parametrize(
    ("estimate", "text"),
    [
        (Estimate("mCE", 0.767, 0.759, 0.775), "mCE 76.7 % [75.9, 77.5]"),
        (Estimate("relative mCE", 1.05), "relative mCE 105.0 %"),
        (Estimate("ID/OOD slope", 0.5, 0.25, 0.75, percent=False), "ID/OOD slope 0.500 [0.250, 0.750]"),
    ],
)
def test_an_estimate_says_its_name_and_its_error_bar(estimate: Estimate, text: str) -> None:
    assert str(estimate) == text
    assert float(estimate) == estimate.value


@pytest.mark.parametrize(
    ("wrong", "values"),
    [
        (lambda: Estimate("CE", 0.7), ("'CE'", "mCE")),
        (lambda: Estimate("mCE", 0.7, low=0.6), ("low=0.6", "high=None")),
        (lambda: metrics.mce([58.1], [0.8]), (0, 1, "58.1", 100)),
        (lambda: metrics.mce([0.5], [0.0]), ("baseline", 0)),
        (lambda: metrics.mce([0.5, 0.5], [0.5]), ("(2,)", "(1,)")),
        (lambda: metrics.mce([np.nan], [0.5]), ("error", 0, 1, "nan")),
        (lambda: metrics.relative_mce([0.5], 0.2, [0.4], 0.4), ("baseline", 0)),
        (lambda: metrics.robustness_score(0.5, 0.0), ("clean accuracy", 0)),
        (lambda: metrics.accuracy([]), ("correct", "empty")),
        (lambda: metrics.accuracy([3, 4]), ("correct", "True", "False", 3)),
        (lambda: metrics.rce([[0.5]], [[0.5]]), ("scale 0", "(1, 1)")),
        (lambda: metrics.mean_accuracy_drop([[0.5, 0.4]], images=[1, 2]), ("images", 1, "[1, 2]")),
        (lambda: metrics.balance([]), ("balance", "(0,)")),
    ],
)
def test_nonsense_is_refused_in_one_sentence(wrong: Callable[[], object], values: tuple) -> None:
    with pytest.raises(BrittleError, match=naming(*values)):
        wrong()
