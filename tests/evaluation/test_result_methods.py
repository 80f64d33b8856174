"""What `Results` says by itself: against hand-made predictions whose scores are known, and against the functions."""

import gc
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import brittle
from brittle import BrittleError, Results
from brittle.benchmarks import Benchmark, Entry
from brittle.evaluation import compare, compare_all, evaluate, scores
from brittle.metrics import Baseline, corruption_errors, relative_corruption_errors
from tests.errors import naming

RECIPE = Benchmark("two", (Entry("contrast", (1, 3)), Entry("brightness", (1, 3))))
IMAGES = np.random.default_rng(0).integers(0, 256, (40, 8, 8, 3), np.uint8)
LABELS = np.arange(40) % 3
BASELINE = Baseline("ours", 0.2, {"contrast": 0.5, "brightness": 0.4})


class Guess:
    """Right for the images whose mean lies within a band around that of the clean ones: wrong by corruption."""

    def __init__(self, name: str, band: float) -> None:
        self.name, self.key, self.band = name, f"{band}", band

    def scores(self, images: np.ndarray) -> np.ndarray:
        deviation = np.abs(images.std((1, 2, 3)) - 74)
        right = deviation < self.band
        label = LABELS[: len(images)] if len(images) == len(LABELS) else np.zeros(len(images), int)
        return np.eye(3)[np.where(right, label, (label + 1) % 3)]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    folder = tmp_path_factory.mktemp("run")
    models = [Guess("a", 2.5), Guess("b", 12.0), Guess("c", 40.0)]
    return evaluate(models, (IMAGES, LABELS), RECIPE, folder, batch_size=40, threads=1)


def accuracy(results: Results, model: str, corruption: str, level: float | None = None) -> float:
    rows = results.rows.collect().filter((pl.col("model") == model) & (pl.col("corruption") == corruption))
    return float((rows if level is None else rows.filter(pl.col("level") == level))["correct"].mean())


def test_scores_are_those_of_the_function_and_show_themselves(results: Results) -> None:
    assert list(results.scores()) == scores(results, RECIPE) == list(results.scores("two"))
    text = repr(results.scores())
    assert all(word in text for word in ("two", "a", "b", "c", "accuracy", "["))
    assert results.scores().to_polars()["mean accuracy"].to_list() == [s.mean_accuracy.value for s in results.scores()]


def test_comparison_is_with_the_best_and_in_pairs(results: Results) -> None:
    comparison = results.compare()
    order = [row.model for row in comparison.scores]
    assert comparison.differences == compare_all(results, RECIPE, order)
    gap = compare(results, None, order[1], order[0])
    assert comparison.differences[order[1]].value == pytest.approx(gap.value)
    assert comparison.published == ()
    assert order[0] in repr(comparison)


def test_every_corruption_has_its_estimates(results: Results) -> None:
    table = results.by_corruption(reference=BASELINE).to_polars()
    assert table.height == 3 * 2
    for row in table.rows(named=True):
        name = row["corruption"].rpartition("/")[2]
        right, clean = accuracy(results, row["model"], row["corruption"]), accuracy(results, row["model"], "clean")
        reference = BASELINE.of([name])
        assert row["accuracy"] == pytest.approx(right)
        assert row["error"] == pytest.approx(1 - right)
        assert row["R"] == pytest.approx(right / clean)
        assert row["CE"] == pytest.approx(corruption_errors([1 - right], reference)[0])
        relative = relative_corruption_errors([1 - right], 1 - clean, reference, 0.2)[0]
        assert row["relative CE"] == pytest.approx(relative)
        for column in ("accuracy", "error", "R", "CE", "relative CE"):
            assert row[f"{column}_low"] <= row[column] <= row[f"{column}_high"]
    assert not {"CE", "relative CE"} & set(results.by_corruption().to_polars().columns), "nothing is comparable"


def test_the_corruptions_agree_with_the_scores(results: Results) -> None:
    table = results.by_corruption().to_polars()
    for score in results.scores():
        for one in score.corruptions:
            row = table.row(
                by_predicate=(pl.col("model") == score.model) & (pl.col("corruption") == one.corruption), named=True
            )
            assert row["accuracy"] == pytest.approx(one.accuracy.value)
            assert (row["accuracy_low"], row["accuracy_high"]) == pytest.approx((one.accuracy.low, one.accuracy.high))


def test_ranks_follow_the_mean_accuracy_at_each_severity(results: Results) -> None:
    table = results.ranks().to_polars()
    assert table["severity"].to_list() == ["severity 1", "severity 3"]
    for severity, row in zip((1.0, 3.0), table.rows(named=True), strict=True):
        means = {
            model: np.mean([accuracy(results, model, entry.id, severity) for entry in RECIPE.entries])
            for model in results.models
        }
        for model, mean in means.items():
            assert row[f"accuracy of {model}"] == pytest.approx(mean)
            assert row[f"accuracy of {model}_low"] <= mean <= row[f"accuracy of {model}_high"]
            assert row[model] == 1 + sum(other > mean + 1e-9 for other in means.values())
            assert 1 <= row[f"{model}_low"] <= row[model] <= row[f"{model}_high"] <= 3


def test_the_interval_of_a_rank_has_the_ranks_on_other_images() -> None:
    """Two models that differ on a few images may change places, and one that is far behind may not."""
    rng = np.random.default_rng(1)
    right = {"a": rng.random(200) < 0.8, "b": rng.random(200) < 0.78, "far": rng.random(200) < 0.2}
    rows = [
        pl.DataFrame({"sample": list(map(str, range(200))), "label": 0, "correct": correct}).with_columns(
            model=pl.lit(model), corruption=pl.lit(cell.corruption), level=pl.lit(cell.level)
        )
        for model, correct in right.items()
        for cell in RECIPE.cells()
    ]
    [first, _] = Results(pl.concat(rows).lazy()).ranks(RECIPE, seed=3).to_polars().rows(named=True)
    assert {(first[f"{model}_low"], first[f"{model}_high"]) for model in "ab"} == {(1, 2)}
    assert (first["far_low"], first["far"], first["far_high"]) == (3, 3, 3)


def test_failure_points_are_the_first_wrong_level(results: Results) -> None:
    by_corruption = results.failure_points("contrast")
    assert set(by_corruption) == {(model, "imagenet-c/contrast") for model in "abc"}
    for (model, corruption), points in by_corruption.items():
        rows = results.rows.collect().filter(
            (pl.col("model") == model) & pl.col("corruption").is_in(["clean", corruption]) & ~pl.col("correct")
        )
        first = dict(rows.group_by("sample").agg(pl.col("level").min()).rows())
        samples = sorted(map(str, range(40)))
        np.testing.assert_array_equal(points.points, [first.get(sample, np.inf) for sample in samples])
    assert len(results.failure_points()) == 6
    assert "half fail" in repr(by_corruption)


@pytest.mark.parametrize("name", ["fgo", "imagenet-c/fog"])
def test_a_corruption_that_was_not_run_is_named(results: Results, name: str) -> None:
    with pytest.raises(BrittleError, match=naming(name, "imagenet-c/contrast", "imagenet-c/brightness")):
        results.failure_points(name)


def test_the_benchmark_is_found_or_asked_for(tmp_path: Path) -> None:
    other = Benchmark("other", (Entry("contrast", (2,)),))
    evaluate(Guess("a", 9.0), (IMAGES, LABELS), RECIPE, tmp_path, batch_size=40, threads=1)
    both = evaluate(Guess("a", 9.0), (IMAGES, LABELS), other, tmp_path, batch_size=40, threads=1)
    for method in (both.scores, both.compare, both.by_corruption, both.ranks, both.failure_points):
        with pytest.raises(BrittleError, match=naming("two", "other")):
            method()
    assert both.scores("other")[0].benchmark == both.scores(other)[0].benchmark == "other"
    for missing in ("tow", "imagenet-c"):
        with pytest.raises(BrittleError, match=naming(missing, "two", "other")):
            both.scores(missing)
    clean = evaluate(Guess("a", 9.0), (IMAGES, LABELS), batch_size=40, threads=1)
    with pytest.raises(BrittleError, match=naming("benchmark", "results.accuracy()")):
        clean.scores()


def test_a_report_without_a_folder_has_its_pictures(tmp_path: Path) -> None:
    results = evaluate(Guess("a", 9.0), (IMAGES, LABELS), RECIPE, batch_size=40, threads=1)
    path = results.report(tmp_path / "report.html", title="Ours")
    page = path.read_text(encoding="utf-8")
    assert "Ours" in page
    assert "data:image" in page


def test_results_without_a_folder_live_as_long_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    results = evaluate(Guess("a", 9.0), (IMAGES, LABELS), RECIPE, batch_size=40, threads=1)
    rows, accuracies = results.rows.filter(pl.col("level") == 3), results.accuracy()
    gc.collect()
    assert results.scores()
    assert len(list(tmp_path.iterdir())) == 1
    del results
    gc.collect()
    assert not list(tmp_path.iterdir())
    assert len(rows.collect()) == 80, "frames made from the rows do not need the folder"
    assert accuracies.height == 5


def test_the_end_of_a_process_removes_its_temporary_runs(tmp_path: Path) -> None:
    code = (
        "import brittle, os, tempfile\n"
        f"tempfile.tempdir = {str(tmp_path)!r}\n"
        "def f(images): return images.mean((1, 2))\n"
        "kept = brittle.evaluate(f, (__import__('numpy').zeros((4, 8, 8, 3), 'uint8'), [0, 1, 2, 0]))\n"
        "child = os.fork()\n"
        "if child == 0: raise SystemExit\n"  # a fork ends in the usual way, and leaves the folder alone
        "os.waitpid(child, 0)\n"
        "print(len(os.listdir(tempfile.tempdir)), kept.models)"
    )
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["1", "['f']"]
    assert not list(tmp_path.iterdir())


def test_pandas_gets_every_row(results: Results) -> None:
    pandas = pytest.importorskip("pandas")
    frame = results.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame.columns) == results.rows.collect_schema().names()
    assert len(frame) == len(results.rows.collect())
    assert len(results.by_corruption().to_pandas()) == 6


def test_without_pandas_the_error_says_how_to_get_it(results: Results, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ModuleNotFoundError, match=naming("pip install pandas")):
        results.to_pandas()


def test_the_bundled_models_have_no_mce_on_few_images_and_one_on_request() -> None:
    images = brittle.load_dataset("demo").limited(20)
    results = evaluate(["demo:standard", "demo:augmix"], images, RECIPE, threads=1)
    assert all(score.mce is None for score in results.scores())
    assert results.scores(reference="demo-standard")[0].mce is not None
    assert {"CE", "relative CE"} <= set(results.by_corruption(reference="demo-standard").to_polars().columns)
