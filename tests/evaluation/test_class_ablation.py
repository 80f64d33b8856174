"""How many classes are enough, against numbers worked out by hand and by loops."""

from itertools import combinations

import numpy as np
import polars as pl
import pytest

from brittle import BrittleError
from brittle.evaluation import Results, class_count_ablation, class_count_tables, cns_scores, enough_classes
from tests.errors import naming

SCALES = (0.0, 1.0, 2.0)
MODELS = ("alexnet", "deit", "vit")


def slides(classes: int = 6, seeds: int = 4, *, alike: bool = False) -> Results:
    """Models that fail later one after the other, on some classes sooner than on others."""
    rng, rows = np.random.default_rng(0), []
    for number, model in enumerate(MODELS):
        for shift in ("fog", "snow"):
            for label in range(classes):
                for seed in range(seeds):
                    limit = 1 + number / 2 if alike else rng.uniform(0.4, 1.5) + number * (label + 1) / classes
                    for scale in SCALES:
                        sample = f"{shift}/{label:03}_name {label}/seed_{seed:04}_scale_{int(scale * 1000):04}.jpg"
                        right = scale < limit
                        rows.append((model, f"cns/{shift}", scale, sample, label, label, 0.5, right))
    names = ["model", "corruption", "level", "sample", "label", "prediction", "confidence", "correct"]
    return Results(pl.DataFrame(rows, schema=names, orient="row").lazy())


def drop_of(results: Results, model: str, labels: tuple[int, ...]) -> float:
    """The mean drop on some classes, by plain loops."""
    rows = results.rows.filter((pl.col("model") == model) & pl.col("label").is_in(labels)).collect()
    drops = []
    for shift in ("cns/fog", "cns/snow"):
        part = rows.filter(pl.col("corruption") == shift)
        accuracy = [float(part.filter(pl.col("level") == scale)["correct"].mean()) for scale in SCALES]
        drops.append(np.mean([accuracy[0] - accuracy[1], accuracy[0] - accuracy[2]]))
    return float(np.mean(drops))


def test_drops_on_subsets_are_those_of_all_pairs_of_classes() -> None:
    results = slides()
    table = class_count_ablation(results, [2], draws=600)
    assert table["classes"].unique(maintain_order=True).to_list() == [2, 6]
    for row in table.filter(pl.col("classes") == 2).iter_rows(named=True):
        pairs = [drop_of(results, row["model"], pair) for pair in combinations(range(6), 2)]
        assert row["drop"] == pytest.approx(np.mean(pairs), abs=4 * np.std(pairs) / np.sqrt(600))
        assert row["drop_std"] == pytest.approx(np.std(pairs), rel=0.15)
        assert min(pairs) - 1e-9 <= row["drop_low"] <= row["drop_high"] <= max(pairs) + 1e-9
        assert -1 <= row["kendall"] <= 1


def test_all_classes_have_the_scores_of_the_run_and_an_interval_over_classes() -> None:
    results = slides()
    scores = cns_scores(results, baseline="alexnet", resamples=50)
    known = dict(scores.rce.filter(pl.col("shift") == "mean").select("model", "rce").iter_rows())
    for row in class_count_ablation(results, [3, 50], baseline="alexnet").filter(pl.col("classes") == 6).to_dicts():
        assert row["drop"] == pytest.approx(drop_of(results, row["model"], tuple(range(6))))
        assert row["rce"] == pytest.approx(known[row["model"]])
        assert row["drop_low"] < row["drop"] < row["drop_high"]
        assert row["kendall"] == 1


def test_few_classes_are_enough_where_all_are_alike() -> None:
    same = class_count_ablation(slides(alike=True), [1, 3])
    assert enough_classes(same) == 1
    assert same["drop_std"].max() < 1e-12
    other = class_count_ablation(slides(), [1, 3])
    assert enough_classes(other) is None
    assert enough_classes(other, tolerance=0.5) == 1


def test_a_table_says_how_many_are_enough() -> None:
    drops, rce = class_count_tables(slides(), [2, 4], baseline="alexnet")
    assert [row[0] for row in drops.rows] == ["2 classes", "4 classes", "6 classes"]
    assert [column.name for column in drops.columns] == ["subset", *MODELS, "Kendall's τ"]
    assert rce.name != drops.name
    [alone] = class_count_tables(slides(alike=True), [2])
    assert "2 classes are enough" in alone.notes[0]


@pytest.mark.parametrize(
    ("options", "values"),
    [
        ({"class_counts": []}, ("class_counts", "[]")),
        ({"class_counts": [0, 5]}, ("class_counts", "[0, 5]")),
        ({"baseline": "resnet"}, ("'resnet'", "alexnet, deit, vit")),
        ({"draws": 1}, ("draws", 2, 1)),
        ({"models": ["resnet"]}, ("'resnet'",)),
    ],
)
def test_bad_input_is_one_sentence(options: dict, values: tuple) -> None:
    with pytest.raises(BrittleError, match=naming(*values)):
        class_count_ablation(slides(2, 1), **options)
