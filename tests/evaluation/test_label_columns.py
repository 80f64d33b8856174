"""What rows keep of the label: its probability, its place among the best five, and the sum of squares."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import brittle
from brittle.benchmarks import Benchmark, Entry
from brittle.evaluation import Classes, evaluate, load_results, probabilities
from brittle.evaluation.cell import best_classes, label_scores
from brittle.models import from_callable

ADDED = ["label_probability", "label_in_top5", "square_sum"]


def by_hand(scores: np.ndarray, label: int, classes: Classes) -> tuple[float, bool, float]:
    """One row of scores: outputs in the order of their scores, and a sum over those of each class."""
    shares = probabilities(scores[np.newaxis])[0]
    outputs = range(len(scores)) if classes.subset is None else classes.subset.tolist()
    means = {i: i if classes.map is None else int(classes.map[i]) for i in outputs}
    ranked = sorted(outputs, key=lambda i: (-scores[i], i))
    summed: dict[int, float] = {}
    for i in outputs:
        summed[means[i]] = summed.get(means[i], 0.0) + float(shares[i])
    top = label in [means[i] for i in ranked[:5]]
    return summed.get(label, 0.0), top, sum(share**2 for share in summed.values())


@pytest.mark.parametrize("given", ["logits", "probabilities", "equal"])
@pytest.mark.parametrize(
    "classes",
    [
        Classes(),
        Classes(subset=np.array([1, 2, 5, 7, 8, 10, 11])),
        Classes(map=np.array([0, 0, 1, 1, 2, -1, 3, 3, 4, -1, 5, 5])),
    ],
    ids=["all", "subset", "map"],
)
def test_what_is_kept_of_the_label_is_that_of_a_loop(given: str, classes: Classes) -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(0, 2, (60, 12)).astype(np.float32)
    if given == "probabilities":
        scores = probabilities(scores)
    elif given == "equal":
        scores = np.round(scores)
    allowed = np.unique(classes.map[classes.map >= 0]) if classes.map is not None else np.arange(12)
    labels = rng.choice(allowed if classes.subset is None else classes.subset, 60)
    kept = label_scores(scores, labels, best_classes(scores, classes)[0], classes)
    wanted = [by_hand(row, int(label), classes) for row, label in zip(scores, labels, strict=True)]
    assert kept[0] == pytest.approx([p for p, _, _ in wanted], abs=1e-6)
    assert kept[1].tolist() == [top for _, top, _ in wanted]
    assert kept[2] == pytest.approx([squares for _, _, squares in wanted], abs=1e-6)
    assert [part.dtype for part in kept] == [np.float32, bool, np.float32]


def fewer_columns(file: Path) -> None:
    """As an earlier version wrote it."""
    rows = pl.read_parquet(file, glob=False)
    about = pl.read_parquet_metadata(file)
    rows.drop(ADDED).write_parquet(file, metadata={k: v for k, v in about.items() if k == "brittle.samples"})


def test_an_old_run_resumes_and_reads_with_nulls(tmp_path: Path) -> None:
    """Cells of before are not computed again; they and new ones are read together."""
    data = brittle.load_dataset("demo").limited(12)
    shown: list[int] = []

    def scores(images: np.ndarray) -> np.ndarray:
        shown.append(len(images))
        return np.asarray(images[:, :10, 0, 0], np.float32) / 16

    model = from_callable(scores, name="m", version="1")
    less, more = (Benchmark("two", [Entry("fog", levels)]) for levels in ([1.0], [1.0, 2.0]))
    before = evaluate(model, data, less, tmp_path / "run", progress=None).rows.collect().sort("corruption", "sample")
    for file in (tmp_path / "run" / "cells").glob("*/*.parquet"):
        fewer_columns(file)
    old = load_results(tmp_path / "run").rows.collect().sort("corruption", "sample")
    assert old.columns == before.columns
    assert old.drop(ADDED).equals(before.drop(ADDED))
    assert old.select(pl.col(ADDED).is_null().all()).row(0) == (True, True, True)
    shown.clear()
    both = evaluate(model, data, more, tmp_path / "run", progress=None).rows.collect()
    assert sum(shown) <= 2 * 12  # the new cell, and what is shown to measure the model
    assert both.schema == before.schema
    known = both.group_by("corruption", "level").agg(pl.col(ADDED).is_not_null().mean()).sort("corruption", "level")
    assert known["label_probability"].to_list() == known["square_sum"].to_list() == [0.0, 0.0, 1.0]
    assert load_results(tmp_path / "run").accuracy().height == 3
