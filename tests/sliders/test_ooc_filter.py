"""The out-of-class filter on scores made by hand."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from brittle import BrittleError
from brittle.sliders import (
    FILTER_SCORES,
    choose_thresholds,
    compare_filters,
    filter_quality,
    filter_roc,
    held_out_filters,
    kept_samples,
    ooc_filter,
    published_thresholds,
    read_thresholds,
    write_thresholds,
)
from tests.errors import naming

LIMITS = dict.fromkeys(FILTER_SCORES, 0.5)


def table(passes: list[list[int]], shift: str = "fog") -> pl.DataFrame:
    """One row of numbers of passed scores for each seed, one number for each scale."""
    rows = []
    for seed, scales in enumerate(passes):
        for scale, count in enumerate(scales):
            scores = [1.0] * count + [0.5] * (4 - count)  # the threshold itself is not passed
            rows.append((f"{shift}/{seed}/{scale}", shift, 0, seed, float(scale), *scores))
    return pl.DataFrame(rows, schema=["sample", "shift", "label", "seed", "scale", *FILTER_SCORES], orient="row")


def test_two_of_four_scores_and_whole_trajectories() -> None:
    filtered = ooc_filter(table([[4, 3, 2], [4, 1, 4], [2, 2, 2]]), LIMITS)
    assert filtered["passes"].to_list() == [4, 3, 2, 4, 1, 4, 2, 2, 2]
    assert filtered["passed"].to_list() == [True] * 4 + [False] + [True] * 4
    assert kept_samples(filtered) == [f"fog/{seed}/{scale}" for seed in (0, 2) for scale in range(3)]
    strict = ooc_filter(table([[4, 3, 2], [4, 1, 4], [2, 2, 2]]), LIMITS, least=3)
    with pytest.raises(BrittleError, match=naming(4, 9)):
        kept_samples(strict)
    assert kept_samples(ooc_filter(strict, LIMITS, least=3, scales=[0, 1])) == ["fog/0/0", "fog/0/1"]


def test_a_missing_image_and_a_missing_score_drop_the_trajectory() -> None:
    scores = table([[4, 4], [4, 4], [4, 4]])
    assert kept_samples(ooc_filter(scores[1:], LIMITS)) == ["fog/1/0", "fog/1/1", "fog/2/0", "fog/2/1"]
    lost = pl.col("sample") == "fog/1/1"
    nulls = [pl.when(lost).then(None).otherwise(pl.col(n)).alias(n) for n in FILTER_SCORES[1:]]
    assert "fog/1/0" not in kept_samples(ooc_filter(scores.with_columns(nulls), LIMITS))
    both = pl.concat([scores, table([[4, 4, 4], [4, 4, 0]], "snow")])  # a shift may have more scales than another
    assert len(kept_samples(ooc_filter(both, LIMITS))) == 6 + 3


def test_published_thresholds() -> None:
    assert published_thresholds() == {
        "CLIP_class": 28.7394449,
        "CLIP_class_shift": 35.2928484,
        "CLIP_ref": 0.805859378,
        "DINO_ref_no_head": 0.781161878,
    }


def test_thresholds_are_kept_in_a_file(tmp_path: Path) -> None:
    file = write_thresholds(published_thresholds(), tmp_path / "new" / "thresholds.json", least=3)
    assert read_thresholds(file) == (published_thresholds(), 3)
    with pytest.raises(FileNotFoundError, match=naming("nowhere.json", "`brittle slide filter`")):
        read_thresholds(tmp_path / "nowhere.json")
    for words in ("{", "[]", '{"least": 2}', '{"least": 2, "thresholds": {"CLIP_class": "high"}}'):
        file.write_text(words, encoding="utf-8")
        with pytest.raises(
            BrittleError,
            match=naming(
                "thresholds.json", '{"least": 2, "thresholds": {"CLIP_class": 28.7}}', "`brittle slide filter`"
            ),
        ):
            read_thresholds(file)
    file.write_text('{"least": 2, "thresholds": {"CLIP": 1}}', encoding="utf-8")
    with pytest.raises(BrittleError, match=naming("CLIP_class")):
        read_thresholds(file)


def random_scores(count: int = 200) -> tuple[pl.DataFrame, dict[str, str]]:
    numbers = np.random.default_rng(0)
    outside = numbers.random(count) < 0.4
    values = numbers.normal(size=(4, count)) + 1.5 * ~outside
    data = {"sample": [str(i) for i in range(count)], "shift": "fog", "label": 0, "seed": range(count), "scale": 1.0}
    columns = dict(zip(FILTER_SCORES, values, strict=True))
    labels = {str(i): "not class" if out else "class" for i, out in enumerate(outside)}
    return pl.DataFrame({**data, **columns}), labels


@pytest.mark.parametrize("tpr", [0.5, 0.9, 0.95])
def test_thresholds_remove_the_wanted_share_and_no_more(tpr: float) -> None:
    scores, labels = random_scores()
    outside = scores.filter(pl.Series([labels[s] == "not class" for s in scores["sample"]]))
    for name, limit in choose_thresholds(scores, labels, tpr=tpr).items():
        values = outside[name].to_numpy()
        assert (values <= limit).mean() >= tpr
        assert (values < limit).mean() < tpr  # a lower one would not do


def test_quality_is_counted() -> None:
    scores, labels = random_scores()
    limits = choose_thresholds(scores, labels)
    filters = compare_filters(scores, labels, limits)
    assert filters["filter"].to_list() == ["2 of 4", *FILTER_SCORES]
    outside = np.array([label == "not class" for label in labels.values()])
    passed = sum((scores[name].to_numpy() > limits[name]).astype(int) for name in FILTER_SCORES)
    for row, removed in ((0, passed < 2), (1, scores["CLIP_class"].to_numpy() <= limits["CLIP_class"])):
        filter_row = filters.row(row, named=True)
        assert filter_row["tpr"] == pytest.approx(removed[outside].mean())
        assert filter_row["fpr"] == pytest.approx(removed[~outside].mean())
        assert filter_row["accuracy"] == pytest.approx((removed == outside).mean())
        assert filter_row["tpr_low"] < filter_row["tpr"] < filter_row["tpr_high"]
    assert filters["accuracy"][0] > filters["accuracy"][1]  # four scores say more than one
    assert filters["fpr_gap"][0] is None
    for row in filters[1:].iter_rows(named=True):  # by how much more each score removes than the rule
        assert row["fpr_gap"] == pytest.approx(row["fpr"] - filters["fpr"][0])
        assert row["fpr_gap_low"] < row["fpr_gap"] < row["fpr_gap_high"]
    assert filters["fpr_gap_low"][1] > 0
    quality = filter_quality([1, 1, 0, 0], [1, 0, 1, 0])
    assert (quality.tpr.value, quality.fpr.value, quality.accuracy.value) == (0.5, 0.5, 0.5)


def test_what_starts_out_of_class_and_scale_0_do_not_choose_thresholds() -> None:
    scores, labels = random_scores()
    limits = choose_thresholds(scores, labels)
    starts = scores.with_columns(pl.format("start {}", "sample").alias("sample"), pl.lit(0.0).alias("scale"))
    perfect = starts.with_columns(pl.lit(9.0).alias(name) for name in FILTER_SCORES)
    shown = {f"start {s}": "class" for s in labels}
    assert choose_thresholds(pl.concat([scores, perfect]), labels | shown) == limits
    never = {"start 0": "not class"}
    without = choose_thresholds(scores[1:], {s: label for s, label in labels.items() if s != "0"})
    assert choose_thresholds(pl.concat([scores, perfect]), labels | shown | never) == without
    with pytest.raises(BrittleError, match=naming(1)):
        choose_thresholds(pl.concat([scores, perfect]), never)


def test_held_out_images_are_judged_by_the_thresholds_of_others() -> None:
    scores, labels = random_scores(2000)
    fitted = compare_filters(scores, labels, choose_thresholds(scores, labels))
    held_out = held_out_filters(scores, labels, folds=4)
    assert held_out.columns == fitted.columns
    assert held_out["filter"].to_list() == fitted["filter"].to_list()
    for row in held_out.iter_rows(named=True):
        if row["filter"] != "2 of 4":
            assert row["tpr_low"] < 0.9 < row["tpr_high"]
    assert held_out["tpr"][0] == pytest.approx(fitted["tpr"][0], abs=0.03)
    assert not held_out["tpr"].equals(fitted["tpr"])
    twins = pl.concat([scores, scores.with_columns(pl.lit("snow").alias("shift"), pl.col("sample") + " in snow")])
    both = labels | {f"{s} in snow": label for s, label in labels.items()}
    again = held_out_filters(twins, both, folds=4)  # both shifts of one start are judged by the same thresholds
    assert again["tpr"].to_list() == held_out["tpr"].to_list()
    with pytest.raises(BrittleError, match=naming(9, 8)):
        held_out_filters(scores[:8], labels, folds=9)
    with pytest.raises(BrittleError, match=naming(6, "CLIP_class", "0.9", 10)):
        held_out_filters(scores[:20], labels)


def test_an_interval_counts_trajectories_not_images() -> None:
    gone, wanted = [1, 0, 1, 0] * 10, [1, 1, 0, 0] * 10
    alone = filter_quality(gone, wanted)
    alike = filter_quality(gone, wanted, trajectory=[i // 10 for i in range(40)])
    assert alike.tpr.value == alone.tpr.value
    assert (alone.tpr.n, alike.tpr.n) == (20, 4)
    assert alike.tpr.low < alone.tpr.low
    with pytest.raises(BrittleError, match=naming(2, 3)):
        filter_quality([1, 0], [1, 0], trajectory=[0, 0, 0])


def test_partial_labels_count_as_the_user_says() -> None:
    scores, labels = random_scores(60)
    partly = {s: "partial" if i < 20 else label for i, (s, label) in enumerate(labels.items())}
    asked = {how: compare_filters(scores, partly, LIMITS, partial=how) for how in ("class", "not class", "skip")}
    assert [filters["images"][0] for filters in asked.values()] == [60, 60, 40]
    expected = compare_filters(scores, {s: "class" if p == "partial" else p for s, p in partly.items()}, LIMITS)
    assert asked["class"].equals(expected)


def test_roc_curves_by_hand() -> None:
    """Twenty images in class and twenty out of class: one score tells them apart, one is a coin, two are in between."""
    rng = np.random.default_rng(0)
    outside = np.arange(40) % 2 == 1
    columns = {
        "CLIP_class": np.where(outside, 0.0, 1.0) + rng.uniform(0, 0.5, 40),
        "CLIP_class_shift": rng.uniform(0, 1, 40),
        "CLIP_ref": np.where(outside, 0.0, 0.3) + rng.uniform(0, 1, 40),
        "DINO_ref_no_head": np.where(outside, 0.0, 0.6) + rng.uniform(0, 1, 40),
    }
    rows = {"sample": [f"fog/{i}/1" for i in range(40)], "shift": ["fog"] * 40, "label": [0] * 40}
    scores = pl.DataFrame({**rows, "seed": list(range(40)), "scale": [1.0] * 40, **columns})
    labels = {f"fog/{i}/1": "not class" if out else "class" for i, out in enumerate(outside)}
    roc = filter_roc(scores, labels)
    assert roc["filter"].unique(maintain_order=True).to_list() == ["2 of 4", *columns]
    areas = dict(roc.select("filter", "auc").unique().iter_rows())
    for name, column in columns.items():  # the area is how often an image out of class scores lower
        pairs = [(low < high) + (low == high) / 2 for low in column[outside] for high in column[~outside]]
        assert areas[name] == pytest.approx(np.mean(pairs), abs=1e-9)
    for part in roc.partition_by("filter"):
        ends = part.select("tpr", "fpr").rows()
        assert (ends[0], ends[-1]) == ((0.0, 0.0), (1.0, 1.0))
        assert (np.diff([tpr for tpr, _ in ends]) >= 0).all()
        assert (np.diff([fpr for _, fpr in ends]) >= 0).all()
    limits = choose_thresholds(scores, labels, tpr=0.9)
    chosen = compare_filters(scores, labels, limits)
    at = roc.filter((pl.col("target") - 0.9).abs() < 1e-9)
    for name in ("2 of 4", *columns):
        quality, point = (table.filter(pl.col("filter") == name) for table in (chosen, at))
        assert (quality["tpr"][0], quality["fpr"][0]) == (point["tpr"][0], point["fpr"][0])
    with pytest.raises(BrittleError, match=naming(0, 20)):
        filter_roc(scores, {sample: label for sample, label in labels.items() if label == "class"})
