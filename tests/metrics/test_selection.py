"""Brier, NLL, adaptive ECE, AURC and accuracy at coverage: against plain loops, torchmetrics and scikit-learn."""

import math
from itertools import permutations

import numpy as np
import pytest

from brittle import BrittleError
from brittle.metrics import (
    accuracy_at_coverage,
    adaptive_calibration_bins,
    adaptive_calibration_error,
    area_under_risk_coverage,
    brier_scores,
    expected_calibration_error,
    negative_log_likelihoods,
    risk_coverage,
)
from tests.errors import naming


def random_outputs(count: int, classes: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Softmaxed scores, of which the label's is often the highest."""
    rng = np.random.default_rng([count, classes, seed])
    labels = rng.integers(classes, size=count)
    scores = rng.normal(0, 1.5, (count, classes))
    scores[np.arange(count), labels] += 2
    raised = np.exp(scores)
    return raised / raised.sum(1, keepdims=True), labels


def risks_by_hand(confidence: list[float], correct: list[bool]) -> list[float]:
    """The error among the k surest, one after the other; the mean over all orders of those that are equally sure."""
    found = []
    for order in permutations(range(len(confidence))):
        ranked = [confidence[i] for i in order]
        if ranked == sorted(ranked, reverse=True):
            wrong = [not correct[i] for i in order]
            found.append([sum(wrong[:k]) / k for k in range(1, len(wrong) + 1)])
    return np.mean(found, axis=0).tolist()


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_the_curve_is_that_of_a_loop(ties: bool, seed: int) -> None:
    rng = np.random.default_rng([ties, seed])
    confidence = rng.integers(1, 4, 6) / 4 if ties else rng.random(6)
    correct = rng.random(6) < 0.6
    curve, risks = risk_coverage(confidence, correct), risks_by_hand(confidence.tolist(), correct.tolist())
    assert curve.risk == pytest.approx(risks)
    assert curve.coverage == pytest.approx(np.arange(1, 7) / 6)
    assert area_under_risk_coverage(confidence, correct) == pytest.approx(np.mean(risks))
    for coverage, kept in ((1 / 6, 1), (0.5, 3), (0.51, 4), (0.9, 6), (1, 6)):
        assert accuracy_at_coverage(confidence, correct, coverage=coverage) == pytest.approx(1 - risks[kept - 1])


@pytest.mark.parametrize("digits", [None, 1, 0], ids=["no ties", "ties", "all tied"])
@pytest.mark.parametrize("count", [200, 2000])
def test_values_that_stand_for_curves_change_as_the_curves_do(count: int, digits: int | None) -> None:
    """Their mean is the area, or the accuracy, and their resampled means spread as those of real resamples."""
    rng = np.random.default_rng(count)
    confidence = rng.beta(3, 1, count)
    correct = rng.random(count) < confidence
    confidence = confidence if digits is None else np.ceil(confidence * 10**digits) / 10**digits
    curve = risk_coverage(confidence, correct)
    for values, value, measure in (
        (curve.area_values(), curve.area, area_under_risk_coverage),
        (curve.accuracy_values(), curve.accuracy_at(), accuracy_at_coverage),
    ):
        assert values.mean() == pytest.approx(value)
        draws = rng.integers(count, size=(400, count))
        real = np.array([measure(confidence[draw], correct[draw]) for draw in draws])
        linear = values[draws].mean(1)
        assert linear.std() == pytest.approx(real.std(), rel=0.1)
        assert np.corrcoef(linear, real)[0, 1] > 0.97


@pytest.mark.parametrize("count", [1, 7, 15, 16, 1000])
def test_adaptive_bins_hold_equally_many(count: int) -> None:
    rng = np.random.default_rng(count)
    confidence, correct = rng.random(count), rng.random(count) < 0.7
    binned = adaptive_calibration_bins(confidence, correct)
    assert binned.counts.sum() == count
    assert np.ptp(binned.counts) <= 1
    assert len(binned.counts) == min(count, 15)
    order, parts = np.argsort(confidence), []
    for part in np.split(order, np.cumsum(binned.counts)[:-1]):
        parts.append(len(part) / count * abs(correct[part].mean() - confidence[part].mean()))
    assert binned.ece == pytest.approx(math.fsum(parts), abs=1e-12)
    shuffled = rng.permutation(count)
    tied = np.round(confidence, 1)
    assert adaptive_calibration_error(tied, correct) == pytest.approx(
        adaptive_calibration_error(tied[shuffled], correct[shuffled]), abs=1e-12
    )


def test_brier_and_nll_are_those_of_all_probabilities() -> None:
    shares, labels = random_outputs(500, 12)
    of_label = shares[np.arange(500), labels]
    truth = np.eye(12)[labels]
    assert brier_scores(of_label, (shares**2).sum(1)) == pytest.approx(((shares - truth) ** 2).sum(1), abs=1e-12)
    assert negative_log_likelihoods(of_label) == pytest.approx([-math.log(p) for p in of_label])
    assert brier_scores([1.0, 0.0], [1.0, 1.0]).tolist() == [0.0, 2.0]
    assert negative_log_likelihoods([0.0])[0] == pytest.approx(87.3, abs=0.1)


@pytest.mark.parametrize(("count", "classes"), [(300, 3), (3000, 10), (1500, 100)])
def test_the_same_as_torchmetrics_and_scikit_learn(count: int, classes: int) -> None:
    torch = pytest.importorskip("torch")
    metrics = pytest.importorskip("torchmetrics.functional.classification", reason="torchmetrics is not installed")
    sklearn = pytest.importorskip("sklearn.metrics", reason="scikit-learn is not installed")
    from sklearn.calibration import calibration_curve

    shares, labels = random_outputs(count, classes)
    confidence, correct = shares.max(1), shares.argmax(1) == labels
    of_label = shares[np.arange(count), labels]
    tensors = torch.tensor(shares), torch.tensor(labels)
    theirs = metrics.multiclass_calibration_error(*tensors, num_classes=classes, n_bins=15, norm="l1")
    assert expected_calibration_error(confidence, correct) == pytest.approx(float(theirs), abs=1e-6)
    assert negative_log_likelihoods(of_label).mean() == pytest.approx(sklearn.log_loss(labels, shares), abs=1e-6)
    ours = brier_scores(of_label, (shares**2).sum(1)).mean()
    assert ours == pytest.approx(((shares - np.eye(classes)[labels]) ** 2).sum(1).mean(), abs=1e-6)
    if hasattr(sklearn, "brier_score_loss") and classes > 2:
        try:
            assert ours == pytest.approx(sklearn.brier_score_loss(labels, shares, scale_by_half=False), abs=1e-6)
        except TypeError:
            pytest.skip("this scikit-learn has no Brier score of many classes; all others are equal")
    accuracy, sure = calibration_curve(correct, confidence, n_bins=15, strategy="quantile")
    gaps = np.abs(accuracy - sure).mean()  # the counts are multiples of 15, so all bins weigh the same
    assert adaptive_calibration_error(confidence, correct) == pytest.approx(gaps, abs=1e-6)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: brier_scores([0.5], [0.5, 0.5]), "(2,)"),
        (lambda: brier_scores([-0.5], [0.5]), -0.5),
        (lambda: negative_log_likelihoods([float("nan")]), "nan"),
        (lambda: negative_log_likelihoods([]), "(0,)"),
        (lambda: accuracy_at_coverage([0.5], [True], coverage=0), 0),
        (lambda: area_under_risk_coverage([2.0], [True]), 2),
        (lambda: adaptive_calibration_error([0.5], [True], bins=0), 0),
    ],
)
def test_mistakes_are_named(call, named: object) -> None:
    with pytest.raises(BrittleError, match=naming(named)):
        call()
