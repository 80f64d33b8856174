"""A model that is no better than guessing is noticed, and another order of the classes is found where it fits."""

import numpy as np
import pytest

from brittle.evaluation.score import guessing, guessing_warning


def predicted(labels: np.ndarray, classes: int, accuracy: float, draws: np.random.Generator) -> np.ndarray:
    wrong = (labels + draws.integers(1, classes, len(labels))) % classes
    return np.where(draws.random(len(labels)) < accuracy, labels, wrong)


@pytest.mark.parametrize(("classes", "count"), [(2, 40), (6, 60), (10, 100), (100, 1000)])
def test_a_wrong_order_is_found(classes: int, count: int) -> None:
    draws = np.random.default_rng(classes)
    labels = np.arange(count) % classes
    order = np.roll(np.arange(classes), 1)  # output i means class order[i]
    predictions = np.argsort(order)[predicted(labels, classes, 0.9, draws)]
    warning = guessing(labels, predictions, classes)
    assert warning is not None
    assert warning.order == tuple(order)
    assert warning.fitted == pytest.approx(0.9, abs=0.1)
    words = guessing_warning("net", warning, [f"c{i}" for i in range(classes)])
    assert f"c{order[0]}, c{order[1]}" in words


@pytest.mark.parametrize(("classes", "count"), [(2, 4), (2, 60), (6, 6), (6, 60), (10, 100), (1000, 60)])
@pytest.mark.parametrize("accuracy", ["twice", 0.5, 0.9])
def test_models_that_know_something_are_hardly_ever_suspected(classes: int, count: int, accuracy: float | str) -> None:
    share = min(max(2 / classes, 0.1), (1 + 1 / classes) / 2) if accuracy == "twice" else accuracy
    if share <= 1 / classes:
        pytest.skip(f"a model that is right in {share:.0%} of {classes} classes knows nothing")
    draws = np.random.default_rng(0)
    labels = draws.integers(0, classes, count)
    fired = sum(guessing(labels, predicted(labels, classes, share, draws), classes) is not None for _ in range(1000))
    assert fired <= 20


@pytest.mark.parametrize(("classes", "count"), [(2, 60), (6, 60), (10, 100), (1000, 100)])
def test_guessing_has_no_better_order(classes: int, count: int) -> None:
    draws = np.random.default_rng(0)
    labels = np.arange(count) % classes
    checks = [guessing(labels, draws.integers(0, classes, count), classes) for _ in range(300)]
    noticed = [check for check in checks if check is not None]
    assert len(noticed) >= 75
    assert all(check.order is None for check in noticed)


def test_few_images_prove_nothing() -> None:
    six = np.arange(6)
    assert guessing(six, (six + 1) % 6, 6) is None  # any six different predictions are an order of the classes
    assert guessing(np.zeros(0, int), np.zeros(0, int), 6) is None
    constant = guessing(np.arange(60) % 6, np.zeros(60, int), 6)
    assert constant is not None
    assert constant.order is None
    assert "`classes`" in guessing_warning("net", constant, ["a"] * 6)
