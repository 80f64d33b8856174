"""Calibration finds where a model keeps so much of its accuracy."""

import numpy as np
import pytest

from brittle import BrittleError
from brittle.benchmarks import Benchmark, Entry
from brittle.corruptions import get_corruption
from brittle.datasets import load_dataset
from brittle.design.calibration import calibrate, calibrated
from brittle.evaluation import evaluate
from brittle.models import from_callable
from tests.errors import naming

DATA = load_dataset("demo").subset(range(0, 1000, 5))
IMAGES = np.stack(list(DATA.images()))


def nearest(images: np.ndarray) -> np.ndarray:
    """Knows every image by heart, and takes a corrupted one for the nearest of them."""
    flat, known = (x.reshape(len(x), -1)[:, ::7].astype(np.float32) for x in (images, IMAGES))
    distance = (flat**2).sum(1)[:, None] - 2 * flat @ known.T + (known**2).sum(1)
    scores = np.full((len(images), 10), -1e12, np.float32)
    for label in range(10):
        scores[:, label] = -distance[:, DATA.labels == label].min(1)
    return scores


MODEL = from_callable(nearest, name="nearest")
RECIPE = Benchmark("candidates", (Entry("noc/brightness", ((1, 5),)), Entry("noc/rotation", ((1, 5),))))


def test_the_severities_are_those_of_an_evaluation(tmp_path) -> None:
    calibration = calibrate("noc/rotation", MODEL, DATA, (0.95, 0.6), benchmark=RECIPE, tolerance=0.01)
    assert calibration.reached == (True, True)
    low, high = calibration.severities
    assert low < high
    levels = (round(low - 0.02, 4), low, high, min(5.0, high + 0.02))
    recipe = Benchmark("check", (Entry("noc/rotation", levels),))
    table = evaluate(MODEL, DATA, recipe, tmp_path / "run").accuracy()
    accuracy = dict(zip(table["level"], table["accuracy"], strict=True))
    assert accuracy[0.0] == 1
    assert calibration.robustness == pytest.approx((accuracy[low], accuracy[high]))
    assert accuracy[levels[0]] >= 0.95 > accuracy[low]
    assert accuracy[high] < 0.6


def test_a_value_that_is_never_reached_gives_the_end_of_the_axis() -> None:
    steady = from_callable(lambda x: np.tile(np.eye(10)[0], (len(x), 1)), name="steady")
    zeros = DATA.subset(np.flatnonzero(DATA.labels == 0))
    calibration = calibrate("noc/brightness", steady, zeros, (0.5,), benchmark=RECIPE)
    assert (calibration.severities, calibration.reached, calibration.robustness) == ((5.0,), (False,), (1.0,))


def test_a_range_leaves_the_published_one_if_asked() -> None:
    recipe = Benchmark("candidates", (Entry("noc/salt_pepper", ((1, 5),)),))
    options = {"benchmark": recipe, "tolerance": 0.5}
    within = calibrate("noc/salt_pepper", MODEL, DATA, (0.95, 0.5), **options)
    further = calibrate("noc/salt_pepper", MODEL, DATA, (0.95, 0.5), beyond=True, **options)
    assert (within.severities, within.reached, within.beyond) == ((5, 5), (False, False), False)
    assert (further.reached, further.beyond) == ((True, True), True)
    assert 5 < further.severities[0] < further.severities[1] < get_corruption("noc/salt_pepper").highest_severity
    level = calibrated(recipe, [further], name="ours").entries[0].levels[0]
    assert level == pytest.approx(further.severities, abs=0.005)
    assert recipe.apply(IMAGES[0], "noc/salt_pepper", level, "a").shape == IMAGES[0].shape


def test_a_calibrated_recipe_draws_from_the_ranges() -> None:
    both = [calibrate(entry.id, MODEL, DATA, (0.95, 0.6), benchmark=RECIPE) for entry in RECIPE.entries]
    recipe = calibrated(RECIPE, both, name="ours")
    assert recipe.name == "ours"
    for entry, calibration in zip(recipe.entries, both, strict=True):
        np.testing.assert_allclose(entry.levels[0], calibration.severities, atol=0.005)


@pytest.mark.parametrize(
    ("how", "values"),
    [
        ({"robustness": (1.2,)}, ("robustness", 0, 1)),
        ({"robustness": ()}, ("robustness", 0, 1)),
        ({"tolerance": 0}, ("tolerance", 0)),
    ],
)
def test_bad_wishes_are_named(how: dict, values: tuple) -> None:
    with pytest.raises(BrittleError, match=naming(*values)):
        calibrate("noc/brightness", MODEL, DATA, **how)


def test_a_model_that_knows_nothing_cannot_be_calibrated_with() -> None:
    blind = from_callable(lambda x: np.tile(np.eye(10)[0], (len(x), 1)), name="blind")
    with pytest.raises(BrittleError, match=naming("blind", "6.0")):
        calibrate("noc/brightness", blind, DATA)
