"""Five levels for each corruption, whose mean error is the target."""

import numpy as np
import pytest

from brittle import BrittleError
from brittle.benchmarks import Benchmark, Entry
from brittle.datasets import arrays
from brittle.design import error_spread, error_target, match_error
from brittle.evaluation import evaluate
from tests.design.test_calibrate import DATA, IMAGES, MODEL
from tests.errors import naming

RECIPE = Benchmark("pair", (Entry("noc/brightness", ((1, 5),)), Entry("noc/shear", (1,))))


def errors_on(recipe: Benchmark, folder) -> np.ndarray:
    table = evaluate(MODEL, DATA, recipe, folder).accuracy()
    errors = {(c, x): 1 - a for c, x, a in table.select("corruption", "level", "accuracy").rows()}
    return np.array([[errors[entry.id, level] for level in entry.levels] for entry in recipe.entries])


def test_the_mean_error_of_every_corruption_is_the_target(tmp_path) -> None:
    progress = []
    recipe = match_error(
        RECIPE, MODEL, DATA, 0.4, spread=0.5, tolerance=0.04, progress=lambda *what: progress.append(what)
    )
    assert recipe.name == "pair-matched"
    errors = errors_on(recipe, tmp_path / "run")
    np.testing.assert_allclose(errors.mean(axis=1), 0.4, atol=0.03)
    np.testing.assert_allclose(errors, [np.array([0.2, 0.3, 0.4, 0.5, 0.6])] * 2, atol=0.06)
    assert {corruption for corruption, _, _ in progress} == {"noc/brightness", "noc/shear"}
    for entry in recipe.entries:
        assert np.diff(entry.levels).min() >= 0.09


def test_a_benchmark_is_matched_to_a_baseline(tmp_path) -> None:
    """C-bar's steps 2 and 3: target and spread are those of the baseline, and so are those of the new benchmark."""
    baseline = Benchmark("base", (Entry("noc/rotation", (1.5, 1.7, 2, 2.5, 3)), Entry("noc/shear", (2, 2.5, 3, 4, 5))))
    results = evaluate(MODEL, DATA, baseline, tmp_path / "base")
    target, spread = error_target(results, baseline, MODEL.name)
    errors = errors_on(baseline, tmp_path / "base")
    assert target == pytest.approx(errors.mean())
    assert spread == pytest.approx(np.mean([(abs(e[0] / e[2] - 1) + abs(e[4] / e[2] - 1)) / 2 for e in errors]))
    recipe = match_error(RECIPE, MODEL, DATA, target, spread=spread, tolerance=0.05, name="like-base")
    matched = errors_on(recipe, tmp_path / "matched")
    assert recipe.name == "like-base"
    assert matched.mean() == pytest.approx(target, abs=0.03)


def test_errors_that_cannot_be_had_are_made_up_for(tmp_path) -> None:
    """At a target near the end of the axis the highest levels are cut off there, and the others move up."""
    shear = Benchmark("one", (Entry("noc/shear", (1,)),))
    most = errors_on(Benchmark("end", (Entry("noc/shear", (5,)),)), tmp_path / "end")[0, 0]
    recipe = match_error(shear, MODEL, DATA, most - 0.08, spread=0.6, tolerance=0.05)
    levels = recipe.entries[0].levels
    assert levels[-1] == 5
    assert np.diff(levels).min() >= 0.09
    assert errors_on(recipe, tmp_path / "run").mean() == pytest.approx(most - 0.08, abs=0.03)


@pytest.mark.parametrize(
    ("how", "values"),
    [
        ({"target_error": 40}, ("target_error", 0, 1, 40, 100)),
        ({"target_error": 0.95}, ("noc/brightness", "severity 5", "0.950", "target_error")),
        ({"spread": 1.5}, ("spread", 0, 1, "1.5")),
        ({"gap": 0.001}, ("tolerance", "gap", "0.02", "0.001")),
        ({"gap": 1}, ("gap", 1, "severity 5")),
    ],
)
def test_bad_wishes_are_named(how: dict, values: tuple) -> None:
    wish = {"target_error": 0.4, "spread": 0.5} | how
    with pytest.raises(BrittleError, match=naming(*values)):
        match_error(RECIPE, MODEL, DATA, **wish)


def test_a_target_below_the_clean_error_is_named() -> None:
    labels = (DATA.labels + (np.arange(len(DATA)) % 4 == 0)) % 10
    wrong = arrays(IMAGES, labels, DATA.classes)
    with pytest.raises(BrittleError, match=naming("noc/brightness", "severity 0.1", "0.200", "target_error")):
        match_error(RECIPE, MODEL, wrong, 0.2, spread=0.5)


def test_a_spread_needs_five_levels(tmp_path) -> None:
    with pytest.raises(BrittleError, match=naming(2, 3)):
        error_spread(np.full((2, 3), 0.5))
    with pytest.raises(BrittleError, match=naming(0)):
        error_spread([[0, 0, 0, 0.5, 1]])
    with pytest.raises(BrittleError, match=naming("imagenet-c", "'pair'", 5, 1, "noc/brightness")):
        error_target(evaluate(MODEL, DATA, RECIPE, tmp_path / "run"), RECIPE, MODEL.name)
