"""Scores by class against loops over rows, and intervals that keep their promise although the largest are picked."""

from statistics import NormalDist

import numpy as np
import polars as pl
import pytest

from brittle.evaluation import Results, evaluate, model_calibration, scores_by_class
from brittle.metrics import expected_calibration_error
from tests.report.report_cases import STEPS, dataset, models


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return evaluate(models("a"), dataset(60), STEPS, tmp_path_factory.mktemp("run") / "run")


def test_losses_are_clean_minus_corrupted_of_the_same_images(results: Results) -> None:
    rows = results.rows.collect().to_dicts()
    by_hand = {}
    for entry in STEPS.entries:
        for label in range(4):
            right = {
                c: [r["correct"] for r in rows if r["corruption"] == c and r["label"] == label]
                for c in ("clean", entry.id)
            }
            by_hand[entry.id, label] = np.mean(right["clean"]) - np.mean(right[entry.id])
    measured = scores_by_class(results, STEPS, "a", losses=100)
    assert measured.pairs == len(by_hand) == 12
    order = [loss.loss.value for loss in measured.losses]
    assert order == sorted(order, reverse=True)
    assert {(loss.corruption, loss.label): pytest.approx(loss.loss.value) for loss in measured.losses} == {
        key: value for key, value in by_hand.items() if value > 0
    }
    for loss in measured.losses:
        assert loss.loss.low < loss.loss.value < loss.loss.high
        images = {r["sample"] for r in rows if r["label"] == loss.label}
        assert loss.images == len(images)
        # as wide as an interval at 1 - 5 % / pairs: more than the plain one, roughly by the ratio of normal quantiles
        gaps = [
            np.mean([r["correct"] for r in rows if r["sample"] == s and r["corruption"] == "clean"])
            - np.mean([r["correct"] for r in rows if r["sample"] == s and r["corruption"] == loss.corruption])
            for s in sorted(images)
        ]
        z = NormalDist().inv_cdf(1 - 0.05 / measured.pairs / 2)
        assert loss.loss.high - loss.loss.low > 1.4 * z * np.std(gaps) / np.sqrt(len(gaps))


def test_classes_and_mistakes_are_counted(results: Results) -> None:
    rows = results.rows.collect()
    corrupted = rows.filter(pl.col("corruption") != "clean")
    measured = scores_by_class(results, STEPS, "a")
    assert measured.all_classes == len(measured.classes) == 4
    for one in measured.classes:
        class_rows = corrupted.filter(pl.col("label") == one.label)
        assert one.mean.value == pytest.approx(class_rows["correct"].mean())
        assert one.clean.value == pytest.approx(
            rows.filter(pl.col("level") == 0, pl.col("label") == one.label)["correct"].mean()
        )
        worst = class_rows.group_by("corruption").agg(pl.col("correct").mean()).sort("correct", "corruption")
        assert one.worst_accuracy == pytest.approx(worst["correct"][0])
    for one in measured.confusions:
        class_rows = corrupted.filter(pl.col("label") == one.label)
        assert one.corrupted == pytest.approx((class_rows["prediction"] == one.prediction).mean())
    shares = [one.corrupted for one in measured.confusions]
    assert shares == sorted(shares, reverse=True)
    assert len(scores_by_class(results, STEPS, "a", classes=2).classes) == 2


def test_results_without_clean_images_have_no_losses(results: Results) -> None:
    bare = Results(results.rows.filter(pl.col("corruption") != "clean"))
    measured = scores_by_class(bare, STEPS, "a")
    assert measured.losses == []
    assert measured.classes[0].clean is None
    assert list(model_calibration(bare, STEPS, "a").bins) == ["corrupted"]


def test_calibration_needs_confidences(results: Results) -> None:
    rows = results.rows.collect()
    measured = model_calibration(results, STEPS, "a")
    for name, chosen_rows in (
        ("clean", rows.filter(pl.col("level") == 0)),
        ("corrupted", rows.filter(pl.col("level") > 0)),
    ):
        wanted = expected_calibration_error(chosen_rows["confidence"], chosen_rows["correct"])
        assert measured.bins[name].ece == pytest.approx(wanted)
    for missing in (float("nan"), None, 1.5):
        assert (
            model_calibration(Results(results.rows.with_columns(confidence=pl.lit(missing, pl.Float32))), STEPS, "a")
            is None
        )


def test_simultaneous_intervals_cover_the_largest_loss() -> None:
    """No corruption takes anything, so every loss is noise; the interval of the largest still has 0 in it."""
    covered = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        labels = np.repeat(np.arange(4), 30)
        rows = [
            ("a", corruption, level, str(i), label, label if right else 9, 0.5, right)
            for corruption, level in [
                ("clean", 0.0),
                *((entry.id, float(s)) for entry in STEPS.entries for s in (1, 3, 5)),
            ]
            for i, (label, right) in enumerate(zip(labels.tolist(), (rng.random(120) < 0.7).tolist(), strict=True))
        ]
        names = ["model", "corruption", "level", "sample", "label", "prediction", "confidence", "correct"]
        first = scores_by_class(Results(pl.LazyFrame(rows, schema=names, orient="row")), STEPS, "a", losses=1).losses[0]
        covered += first.loss.low <= 0
    assert covered >= 37  # of 40, where 95 % are 38 and plain intervals of the largest reach far fewer
