"""Scores come from the rows: the plain formulas on the stored predictions, each with an interval around it."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import brittle
from brittle import BrittleError
from brittle.benchmarks import Benchmark, Cell, Entry
from brittle.datasets import load_dataset
from brittle.evaluation import as_baseline, compare, compare_all, evaluate, load_results, scores
from brittle.evaluation.results import Results
from brittle.metrics import baseline, bootstrap
from brittle.models import from_callable
from tests.errors import naming

DATA = load_dataset("demo").subset(range(0, 1000, 10))
RECIPE = brittle.load_benchmark("cifar10-c")


def made_up(accuracy: dict[str, float], *, seed: int = 0) -> Results:
    """Rows of models that are right so often, on all cells of CIFAR-10-C."""
    rng = np.random.default_rng(seed)
    cells = [("clean", 0.0), *(cell.place for cell in RECIPE.cells())]
    parts = []
    for model, share in accuracy.items():
        for corruption, level in cells:
            right = rng.random(200) < (share if level else 0.95)
            parts.append(
                pl.DataFrame({"sample": [str(i) for i in range(200)], "label": 1, "correct": right}).with_columns(
                    prediction=pl.when("correct").then(1).otherwise(0),
                    confidence=pl.lit(0.5),
                    model=pl.lit(model),
                    corruption=pl.lit(corruption),
                    level=pl.lit(level),
                )
            )
    return Results(pl.concat(parts).lazy())


def test_each_score_is_its_formula_on_the_rows() -> None:
    results = made_up({"good": 0.8, "poor": 0.5})
    best, worst = scores(results, RECIPE, reference=baseline("reference-cifar10-c"), resamples=200)
    assert (best.model, worst.model) == ("good", "poor")
    table = results.accuracy().filter(pl.col("model") == "good")
    clean = table.filter(pl.col("corruption") == "clean")["accuracy"][0]
    errors = 1 - np.array(
        [table.filter(pl.col("corruption") == entry.id)["accuracy"].mean() for entry in RECIPE.entries]
    )
    reference = baseline("reference-cifar10-c")
    below = reference.of([entry.id for entry in RECIPE.entries])
    expected = {
        "clean": clean,
        "mean_accuracy": 1 - errors.mean(),
        "error": errors.mean(),
        "drop": clean - (1 - errors.mean()),
        "robustness": (1 - errors.mean()) / clean,
        "mce": (errors / below).mean(),
        "relative_mce": ((errors - (1 - clean)) / (below - reference.clean_error)).mean(),
    }
    for field, value in expected.items():
        score = getattr(best, field)
        assert score.value == pytest.approx(value), field
        assert score.low < score.value < score.high, field
    assert len(best.all()) == 7
    assert best.reference is not None
    assert "reference-cifar10-c" in best.reference
    for corruption_scores, entry, error, reference_error in zip(
        best.corruptions, RECIPE.entries, errors, below, strict=True
    ):
        assert corruption_scores.corruption == entry.id
        assert corruption_scores.accuracy.value == pytest.approx(1 - error)
        assert corruption_scores.accuracy.low < corruption_scores.accuracy.value < corruption_scores.accuracy.high
        assert corruption_scores.corruption_error.value == pytest.approx(error / reference_error)
    assert [corruption_scores.accuracy.value for corruption_scores in best.worst_first()] == pytest.approx(
        sorted(1 - errors)
    )


def test_a_model_of_ones_own_may_be_the_reference() -> None:
    results = made_up({"good": 0.8, "poor": 0.5})
    poor = as_baseline(results, RECIPE, "poor")
    by_model = {row.model: row for row in scores(results, RECIPE, reference=poor, resamples=50)}
    assert by_model["poor"].mce.value == pytest.approx(1)
    assert by_model["good"].mce.value < 0.6


def test_differences_are_paired() -> None:
    results = made_up({"a": 0.7, "b": 0.6})
    gap = compare(results, RECIPE, "a", "b", resamples=300)
    assert gap.low < 0.1 < gap.high
    assert gap.low > 0.05
    same = compare(results, RECIPE, "a", "a", resamples=50)
    assert same.value == 0
    assert same.low == -same.high < 0  # equal on these images, which does not prove it for others


def test_a_model_that_lacks_cells_is_left_out_or_named() -> None:
    results = made_up({"whole": 0.7, "half": 0.6})
    cut = Results(results.rows.filter((pl.col("model") != "half") | (pl.col("level") < 4)))
    assert [row.model for row in scores(cut, RECIPE, resamples=20)] == ["whole"]
    with pytest.raises(BrittleError, match=naming("half", 4, 30, 76)):
        scores(cut, RECIPE, models=["half"])


def tones(images: np.ndarray) -> np.ndarray:
    return -np.abs(images.mean((1, 2, 3))[:, None] - np.linspace(60, 190, 10))


SMALL = Benchmark("small", (Entry("fog", (2,)),))


def test_weights_that_changed_are_another_model_in_the_same_folder(tmp_path: Path) -> None:
    for version in "12":
        evaluate(from_callable(tones, name="m", version=version), DATA, SMALL, tmp_path)
    results = load_results(tmp_path)
    assert len(results.models) == 2
    assert all(name.startswith("m ") for name in results.models)
    assert {row.model for row in scores(results, SMALL, resamples=10)} == set(results.models)


def test_two_draws_of_one_cell_are_not_mixed(tmp_path: Path) -> None:
    evaluate(from_callable(tones, name="m"), DATA, SMALL, tmp_path)
    with pytest.raises(BrittleError, match=naming(2, 0, 1)):
        evaluate(from_callable(tones, name="m"), DATA, replace(SMALL, seed=1, name="other"), tmp_path)


def test_runs_on_other_images_are_not_averaged_together(tmp_path: Path) -> None:
    evaluate(from_callable(tones, name="m"), DATA, SMALL, tmp_path / "a")
    evaluate(from_callable(tones, name="m"), DATA.subset(range(50)), SMALL, tmp_path / "b")
    with pytest.raises(BrittleError, match=naming("demo, demo")):
        scores(load_results(tmp_path / "a", tmp_path / "b"), SMALL)


def test_several_runs_hold_each_model_once_and_tell_weights_apart(tmp_path: Path) -> None:
    first = from_callable(tones, name="m")
    evaluate(first, DATA, SMALL, tmp_path / "a")
    evaluate([first, from_callable(tones, name="n")], DATA, SMALL, tmp_path / "b")
    both = load_results(tmp_path / "a", tmp_path / "b")
    assert both.models == ["m", "n"]
    assert set(both.accuracy()["samples"]) == {100}
    evaluate(from_callable(tones, name="m", version="2"), DATA, SMALL, tmp_path / "c")
    three = load_results(tmp_path / "a", tmp_path / "c")
    assert len(three.models) == 2
    assert set(three.accuracy()["samples"]) == {100}


def test_differences_to_the_best_of_several_hold_together() -> None:
    results = made_up({"a": 0.7, "b": 0.69, "c": 0.5})
    differences = compare_all(results, RECIPE, ["a", "b", "c"], resamples=300)
    for other, gap in differences.items():
        alone = compare(results, RECIPE, other, "a", resamples=300)
        assert gap.value == pytest.approx(alone.value)
        assert gap.high - gap.low > 1.05 * (alone.high - alone.low)
    assert compare_all(results, RECIPE, ["a", "b"], resamples=300)["b"] == compare(
        results, RECIPE, "b", "a", resamples=300
    )
    assert compare_all(results, RECIPE, ["a"]) == {}
    assert set(compare_all(results, None, ["a", "b", "c"], resamples=50)) == {"b", "c"}


def test_each_corruption_has_the_estimates_of_its_columns_alone() -> None:
    """Scored from the share of right levels, a corruption has what the bootstrap says of its clean and cell columns."""
    results, reference = made_up({"good": 0.8}), baseline("reference-cifar10-c")
    [score] = scores(results, RECIPE, reference=reference, resamples=300, seed=5)
    rows = results.matrix("good", [Cell(), *RECIPE.cells()]).values
    start = 1
    for entry, corruption_scores in zip(RECIPE.entries, score.corruptions, strict=True):
        columns = rows[:, [0, *range(start, start := start + len(entry.levels))]]
        below = float(reference.of([entry.id])[0])
        measures = {
            "accuracy": lambda right, _: right,
            "robustness": lambda right, clean: right / clean,
            "corruption_error": lambda right, _, below=below: (1 - right) / below,
            "relative_corruption_error": lambda right, clean, rise=below - reference.clean_error: (
                (clean - right) / rise
            ),
        }
        for field, measure in measures.items():
            estimate = getattr(corruption_scores, field)
            alone = bootstrap(
                columns,
                lambda a, measure=measure: measure(a[..., 1:].mean(-1), a[..., 0]),
                name=estimate.name,
                resamples=300,
                seed=5,
            )
            assert (estimate.value, estimate.low, estimate.high) == pytest.approx(
                (alone.value, alone.low, alone.high), abs=1.1e-12
            )
            assert (estimate.n, estimate.method) == (alone.n, alone.method)
