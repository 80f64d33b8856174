"""Scores of confidences: those of a loop over cells, in tables, rules and on the command line, and what is missing."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import brittle
from brittle import BrittleError
from brittle.benchmarks import Benchmark, Entry
from brittle.evaluation import CONFIDENCE_METRICS, Results, Rule, calibration_by_cell, check_rules, evaluate
from brittle.evaluation.confidence import COLUMNS, GROUPS, MeanConfidences, cell_confidences
from brittle.metrics import (
    accuracy_at_coverage,
    adaptive_calibration_error,
    area_under_risk_coverage,
    expected_calibration_error,
)

RECIPE = Benchmark("two", [Entry("fog", [1, 3]), Entry("contrast", [5])])
WEIGHTS = {("imagenet-c/fog", 1.0): 0.25, ("imagenet-c/fog", 3.0): 0.25, ("imagenet-c/contrast", 5.0): 0.5}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder = tmp_path_factory.mktemp("confidence") / "run"
    models = ["demo:standard", "demo:augmix"]
    return evaluate(models, brittle.load_dataset("demo").limited(60), RECIPE, folder, progress=None)


def by_hand(rows: pl.DataFrame) -> dict[str, float]:
    sure, right = rows["confidence"].to_numpy(), rows["correct"].to_numpy()
    of_label, squares = (rows[name].to_numpy().astype(float) for name in ("label_probability", "square_sum"))
    return {
        "ece": expected_calibration_error(sure, right),
        "adaptive_ece": adaptive_calibration_error(sure, right),
        "brier": float((1 - 2 * of_label + squares).mean()),
        "nll": float(-np.log(of_label).mean()),
        "aurc": area_under_risk_coverage(sure, right),
        "accuracy_at_90": accuracy_at_coverage(sure, right),
        "top5": rows["label_in_top5"].mean(),
    }


def test_scores_are_those_of_each_cell(results: Results) -> None:
    rows = results.rows.collect()
    table = calibration_by_cell(results, resamples=50).to_polars()
    for scored in results.calibration(resamples=50):
        of_model = rows.filter(pl.col("model") == scored.model)
        mean = dict.fromkeys(scored.mean, 0.0)
        for place, weight in WEIGHTS.items():
            cell = by_hand(of_model.filter((pl.col("corruption") == place[0]) & (pl.col("level") == place[1])))
            mean = {name: mean[name] + weight * cell[name] for name in mean}
            shown = table.row(by_predicate=_is(scored.model, *place), named=True)
            assert [shown[one.short] for one in CONFIDENCE_METRICS] == pytest.approx(list(cell.values()), abs=1e-6)
        clean = by_hand(of_model.filter(pl.col("corruption") == "clean"))
        for estimates, wanted in ((scored.clean, clean), (scored.mean, mean)):
            assert {name: one.value for name, one in estimates.items()} == pytest.approx(wanted, abs=1e-6)
            assert all(one.low <= one.value <= one.high for one in estimates.values())
        assert not scored.missing


@pytest.mark.parametrize("count", [200, GROUPS + 500])
def test_intervals_of_tied_confidences_are_those_of_real_resamples(count: int) -> None:
    rng = np.random.default_rng(count)
    sure = np.ceil(rng.beta(3, 1, count) * 5) / 5
    right = rng.random(count) < sure * 0.8
    columns = {"correct": right, "confidence": sure, **dict.fromkeys(COLUMNS[2:], np.full(count, np.nan))}
    mean = MeanConfidences(resamples=600)
    mean.add(cell_confidences(columns), 1.0)
    mean.resample()
    draws = rng.integers(count, size=(600, count))
    for field, measure in (("ece", expected_calibration_error), ("adaptive_ece", adaptive_calibration_error)):
        real = np.array([measure(sure[draw], right[draw]) for draw in draws])
        assert mean.values[field] == pytest.approx(measure(sure, right))
        assert mean.drawn[field].std() == pytest.approx(real.std(), rel=0.15)


@pytest.mark.parametrize("count", [30, 200])
def test_a_calibrated_model_is_not_known_to_be_anything_else(count: int) -> None:
    rng, missed = np.random.default_rng(count), {"ece": 0, "adaptive_ece": 0}
    for _ in range(60):
        sure = rng.beta(4, 1, count)
        columns = {"correct": rng.random(count) < sure, "confidence": sure}
        mean = MeanConfidences(resamples=200)
        mean.add(cell_confidences(columns | dict.fromkeys(COLUMNS[2:], np.full(count, np.nan))), 1.0)
        for name, estimate in mean.estimates(only=tuple(missed)).items():
            missed[name] += estimate.low > 0
    assert max(missed.values()) <= 8  # of 60, at 95 %


@pytest.mark.parametrize("right", [True, False])
def test_few_predictions_that_all_agree_have_wide_intervals(right: bool) -> None:
    columns = {
        "correct": np.full(20, right),
        "confidence": np.ones(20),
        "label_probability": np.full(20, float(right)),
        "label_in_top5": np.full(20, right),
        "square_sum": np.ones(20),
    }
    mean = MeanConfidences()
    mean.add(cell_confidences(columns), 1.0)
    for name, estimate in mean.estimates().items():
        if name != "nll":
            assert 0 <= estimate.low <= estimate.value <= estimate.high <= (2 if name == "brier" else 1)
            assert estimate.high - estimate.low > 0.1, name


def _is(model: str, corruption: str, level: float) -> pl.Expr:
    return (pl.col("model") == model) & (pl.col("corruption") == corruption) & (pl.col("level") == level)


@pytest.mark.parametrize("missing", ["confidence", "label_probability"])
def test_what_rows_lack_is_named(results: Results, missing: str) -> None:
    lacking = Results(results.rows.with_columns(pl.lit(None, pl.Float32).alias(missing)), results.runs)
    scored = lacking.calibration(resamples=50)[0]
    assert ("ece" in scored.mean) == (missing != "confidence")
    assert ("nll" in scored.mean) == (missing != "label_probability")
    assert "4 of 4 cells" in scored.missing
    assert scored.missing in repr(lacking.calibration(resamples=50)).replace("\n", " ")
    metric = "ece" if missing == "confidence" else "brier"
    with pytest.raises(BrittleError, match="3 of 3 cells"):
        check_rules(lacking, [Rule(metric, at_most=0.5)])
    bare = Results(results.rows.drop("label_probability", "label_in_top5", "square_sum"), results.runs)
    assert "ece" in bare.calibration(resamples=50)[0].clean


def test_rules_hold_confidences_to_bounds(results: Results) -> None:
    rules = [
        Rule("ece", at_most=0.9),
        Rule("clean ECE", at_most=0.9),
        Rule("brier", at_least=1.5, corruption="fog"),
        Rule("top5", at_least=0.01, corruption="contrast", severity=5),
        Rule("AURC", at_most=0.99, classes=("cat", "dog", "ship")),
    ]
    verdicts = [(outcome.rule.metric, outcome.verdict) for outcome in check_rules(results, rules)]
    wanted = [
        ("ECE", "holds"),
        ("clean ECE", "holds"),
        ("Brier score", "fails"),
        ("top-5 accuracy", "holds"),
        ("AURC", "holds"),
    ]
    assert verdicts == [pair for pair in wanted for _ in results.models]
    for outcome in check_rules(results, [Rule("ece", at_most=0.1), Rule("nll", at_most=0.1)], results):
        assert outcome.estimate.value == outcome.estimate.low == outcome.estimate.high == 0
    for given, named in (({"at_most": 3}, "3"), ({"at_most": 0.1, "corruption": "fog"}, "corruption")):
        with pytest.raises(BrittleError, match=named):
            check_rules(results, [Rule("clean ece", **given)])


def test_the_command_line_prints_and_writes_the_table(results: Results, tmp_path: Path) -> None:
    from typer.testing import CliRunner

    from brittle.cli import app

    folder = str(results.runs[0].folder)
    shown = CliRunner().invoke(app, ["compare", folder, "--calibration"])
    assert shown.exit_code == 0
    assert all(word in shown.output for one in CONFIDENCE_METRICS for word in one.short.split())
    written = CliRunner().invoke(app, ["compare", folder, "--calibration", "-o", str(tmp_path / "c.csv")])
    assert written.exit_code == 0
    assert len(list(tmp_path.glob("c-two-calibration*.csv"))) == 2
