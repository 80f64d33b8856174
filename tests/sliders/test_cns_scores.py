"""The scores of CNS-Bench against numbers worked out by hand."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from brittle import BrittleError
from brittle.evaluation import (
    clean_accuracies,
    cns_scores,
    grouped_drops,
    read_model_axes,
    slide_tables,
    trajectories,
)
from brittle.evaluation.cns.ranks import ranking_table
from brittle.evaluation.cns.scores import Trajectories, accuracy_table, margin_table, rce_table
from brittle.evaluation.results import Results
from brittle.metrics import failure_points, id_ood_slope, rce, shift_rce
from tests.errors import naming

SCALES = (0.0, 0.5, 1.0)
#             model, shift: right or wrong of each trajectory at each scale
CORRECT = {
    ("alexnet", "fog"): [[1, 0, 0], [1, 1, 0], [0, 0, 0], [1, 0, 1]],
    ("alexnet", "snow"): [[1, 0, 0], [1, 0, 0]],
    ("deit", "fog"): [[1, 1, 1], [1, 1, 0], [1, 0, 1], [1, 1, 1]],
    ("deit", "snow"): [[1, 1, 0], [1, 1, 1]],
    ("vit", "fog"): [[1, 1, 0], [1, 1, 0], [0, 1, 0], [1, 1, 1]],
    ("vit", "snow"): [[1, 1, 1], [0, 1, 1]],
}


def results(*, clean: bool = False, leave_out: tuple[str, ...] = (), scales=SCALES) -> Results:
    rows = []
    for (model, shift), matrix in CORRECT.items():
        for seed, row in enumerate(matrix):
            for scale, right in zip(scales, row, strict=False):
                sample = f"{shift}/001_goldfish/seed_{seed:04}_scale_{int(scale * 1000):04}.jpg"
                if sample not in leave_out:
                    rows.append((model, f"cns/{shift}", scale, sample, 1, right, 0.5, bool(right)))
    if clean:
        for model, hits in (("alexnet", 5), ("deit", 8), ("vit", 7)):
            rows += [(model, "clean", 0.0, str(i), 1, 1, 0.5, i < hits) for i in range(10)]
    names = ["model", "corruption", "level", "sample", "label", "prediction", "confidence", "correct"]
    return Results(pl.DataFrame(rows, schema=names, orient="row").lazy())


def matrix(model: str, shift: str) -> np.ndarray:
    return np.array(CORRECT[model, shift], bool)


@pytest.fixture(scope="module")
def cns():
    return cns_scores(results(), baseline="alexnet", resamples=100)


def pick(table: pl.DataFrame, **where) -> pl.DataFrame:
    return table.filter([pl.col(key) == value for key, value in where.items()])


def test_accuracy_and_its_drop(cns) -> None:
    for (model, shift), values in CORRECT.items():
        model_rows = pick(cns.accuracy, model=model, shift=shift)
        expected = np.mean(values, axis=0)
        np.testing.assert_allclose(model_rows["accuracy"], expected)
        np.testing.assert_allclose(model_rows["drop"], expected[0] - expected)
        assert model_rows["trajectories"].to_list() == [len(values)] * 3
        assert ((model_rows["low"] <= model_rows["accuracy"]) & (model_rows["accuracy"] <= model_rows["high"])).all()
        assert ((model_rows["drop_low"] <= model_rows["drop"]) & (model_rows["drop"] <= model_rows["drop_high"])).all()
    images = np.concatenate([matrix("deit", "fog"), matrix("deit", "snow")]).mean(0)
    np.testing.assert_allclose(pick(cns.accuracy, model="deit", shift="all")["accuracy"], images)
    shifts = np.mean([matrix("deit", shift).mean(0) for shift in ("fog", "snow")], axis=0)
    mean = pick(cns.accuracy, model="deit", shift="mean")
    np.testing.assert_allclose(mean["accuracy"], shifts)
    np.testing.assert_allclose(mean["drop"], shifts[0] - shifts)


def test_failure_points_are_shares_of_all_trajectories(cns) -> None:
    assert pick(cns.failure_points, model="alexnet", shift="fog")["share"].to_list() == [0.25, 0.5, 0.25]
    assert pick(cns.failure_points, model="deit", shift="fog")["share"].to_list() == [0, 0.25, 0.25]
    margins = pick(cns.margins, model="deit", shift="fog").row(0, named=True)
    assert (margins["wrong_at_zero"], margins["never_failed"]) == (0, 2)
    assert margins["mean_margin"] == pytest.approx(np.mean([3 - 3, 3 - 1, 3 - 0.5, 3 - 3]))
    expected = failure_points(np.concatenate([matrix("vit", s) for s in ("fog", "snow")]), SCALES).mean_margin()
    assert pick(cns.margins, model="vit", shift="all")["mean_margin"].item() == pytest.approx(expected)


def test_rce_is_hendrycks_relative_form(cns) -> None:
    errors = {m: 1 - np.array([matrix(m, s).mean(0) for s in ("fog", "snow")]) for m in ("alexnet", "deit", "vit")}
    for model, error in errors.items():
        model_rows = pick(cns.rce, model=model)
        assert model_rows["shift"].to_list() == ["fog", "snow", "mean"]
        np.testing.assert_allclose(model_rows["rce"][:2], shift_rce(error, errors["alexnet"]))
        assert model_rows["rce"][2] == pytest.approx(float(rce(error, errors["alexnet"])))
    assert pick(cns.rce, model="alexnet", shift="snow").row(0)[2:] == (1, 1, 1)
    assert pick(cns.rce, model="deit", shift="fog")["low"].item() is None  # four images: some resamples do not rise
    assert cns_scores(results(), resamples=10).rce.is_empty()


def test_rankings_and_how_they_change(cns) -> None:
    last = pick(cns.rankings, shift="snow", scale=1.0)
    assert last.select("model", "rank", "fallen").rows() == [("vit", 1, -2), ("deit", 2, 1), ("alexnet", 3, 2)]
    agreement = pick(cns.agreement, shift="fog")
    assert agreement["kendall"][0] == pytest.approx(1)
    assert agreement["models"].to_list() == [3, 3, 3]


def test_rankings_by_drop_are_the_papers() -> None:
    """A falls from 80 to 60 %, B from 70 to 55 %: A is better, and B has lost less."""
    correct = {"A": (8, 6, 6), "B": (7, 6, 5.5)}
    rows = []
    for model, right in correct.items():
        for scale, share in zip(SCALES, right, strict=True):
            for i in range(20):
                sample = f"fog/001_goldfish/seed_{i:04}_scale_{int(scale * 1000):04}.jpg"
                rows.append((model, "cns/fog", scale, sample, i < 2 * share))
    columns = ["model", "corruption", "level", "sample", "correct"]
    data = Results(pl.DataFrame(rows, schema=columns, orient="row").lazy())
    by_accuracy = pick(cns_scores(data, resamples=50).rankings, scale=1.0)
    assert by_accuracy.select("model", "rank").rows() == [("A", 1), ("B", 2)]
    scores = cns_scores(data, resamples=50, rank_by="drop")
    assert scores.rank_by == "drop"
    assert set(scores.rankings["scale"]) == {0.5, 1.0}  # at 0 nothing has dropped
    last = pick(scores.rankings, scale=1.0)
    assert last.select("model", "rank", "fallen").rows() == [("B", 1, 0), ("A", 2, 0)]
    assert last["drop"].to_list() == pytest.approx([0.15, 0.2])
    for row in scores.rankings.iter_rows(named=True):
        assert 1 <= row["rank_low"] <= row["rank"] <= row["rank_high"] <= 2
        assert row["fallen_low"] <= row["fallen"] <= row["fallen_high"]
    first = pick(scores.rankings, scale=0.5)
    assert set(first["fallen_low"]) == set(first["fallen_high"]) == {0}
    with pytest.raises(BrittleError, match=naming("accuracy", "drop", "rank")):
        cns_scores(data, rank_by="rank")
    names = [table.name for table in slide_tables(data)]
    assert {"slides-ranks", "slides-ranks-by-drop"} <= set(names)


def test_the_interval_of_a_rank_holds_what_resamples_have() -> None:
    """Models that are equally good on different images change ranks; one that is far better never does."""
    numbers = np.random.default_rng(1)
    correct = np.stack([numbers.random((60, 3)) < 0.5, numbers.random((60, 3)) < 0.5, np.ones((60, 3), bool)])
    table = ranking_table([Trajectories("fog", ["a", "b", "best"], np.array(SCALES), correct, [""] * 60, 0)])
    for row in table.iter_rows(named=True):
        expected = (1, 1) if row["model"] == "best" else (2, 3)
        assert (row["rank_low"], row["rank_high"]) == expected


def test_the_id_axis_is_named() -> None:
    known = {"alexnet": 0.5, "deit": 0.8, "vit": 0.7}
    assert cns_scores(results(), resamples=10).id_axis == "scale 0"
    assert cns_scores(results(clean=True), resamples=10).id_axis == "clean images"
    assert cns_scores(results(), id_accuracy=known, resamples=10).id_axis == "given"
    assert clean_accuracies(results(clean=True)) == pytest.approx(known)
    titles = [table.title for table in slide_tables(results(), id_accuracy=known) if table.name == "slides-slopes"]
    assert "on other images" in titles[0]
    with pytest.raises(BrittleError, match=naming("imagenet:val")):
        clean_accuracies(results())


def test_models_are_grouped_by_what_they_have_in_common(tmp_path: Path) -> None:
    file = tmp_path / "models.csv"
    file.write_text("model,architecture,size\nalexnet,CNN,small\ndeit,transformer,\nvit,transformer,large\n")
    axes = read_model_axes(file)
    assert axes["size"] == {"alexnet": "small", "vit": "large"}
    scores = cns_scores(results(), resamples=10)
    table = grouped_drops(scores, axes["architecture"])
    for shift in ("fog", "snow"):
        mine = pick(table, group="transformer", shift=shift, scale=1.0).row(0, named=True)
        drops = [matrix(model, shift)[:, 0].mean() - matrix(model, shift)[:, 2].mean() for model in ("deit", "vit")]
        assert (mine["models"], mine["drop"]) == (2, pytest.approx(np.mean(drops)))
        assert (mine["least"], mine["most"]) == pytest.approx((min(drops), max(drops)))
    with pytest.raises(BrittleError, match=naming("resnet", "vit")):
        grouped_drops(scores, {"resnet": "CNN"})
    for text, values in (("name\nvit\n", ("name", "model")), ("model,size\na,1\na,2\n", ("a", 2))):
        file.write_text(text)
        with pytest.raises(BrittleError, match=naming(*values)):
            read_model_axes(file)


def test_slopes_of_ood_on_id_accuracy(cns) -> None:
    names = ("alexnet", "deit", "vit")
    clean = cns_scores(results(clean=True), resamples=10).slopes
    expected = id_ood_slope([0.5, 0.8, 0.7], [matrix(m, "fog")[:, 2].mean() for m in names])
    assert pick(clean, shift="fog", scale=1.0)["slope"].item() == pytest.approx(expected.slope)
    given = cns_scores(results(), id_accuracy={"alexnet": 0.5, "deit": 0.8, "vit": 0.7}, resamples=10).slopes
    assert given.equals(clean)
    slope = id_ood_slope(*([matrix(m, "snow")[:, i].mean() for m in names] for i in (0, 2)))
    assert pick(cns.slopes, shift="snow", scale=1.0)["slope"].item() == pytest.approx(slope.slope)
    assert 0.0 not in cns.slopes["scale"]  # nothing but itself
    assert cns_scores(results(), models=["deit", "vit"], resamples=10).slopes.is_empty()


def test_slopes_are_on_clean_accuracy_only_if_every_model_has_it(cns) -> None:
    rows = results(clean=True).rows.filter(~((pl.col("model") == "vit") & (pl.col("corruption") == "clean")))
    assert cns_scores(Results(rows), resamples=10).slopes.equals(cns.slopes)
    with pytest.raises(BrittleError, match=naming(0, 1, 50, 100)):
        cns_scores(results(), resamples=10, id_accuracy={"alexnet": 50, "deit": 80, "vit": 70})


def test_margins_are_null_beyond_scale_3() -> None:
    """The first shift goes to 4, where the paper's margin has no meaning, and the second does not."""
    rows = [
        (f"net {model}", f"cns/{shift}", scale, f"{shift}/001_x/seed_0001_scale_{round(1000 * scale):04}.jpg", True)
        for model in range(120)
        for shift, scales in (("a", (0.0, 4.0)), ("b", (0.0, 1.0)))
        for scale in scales
    ]
    names = ["model", "corruption", "level", "sample", "correct"]
    tracks = trajectories(Results(pl.LazyFrame(rows, schema=names, orient="row")))
    margins = margin_table(tracks)
    assert margins.filter(pl.col("shift") == "a")["mean_margin"].null_count() == 120
    assert margins.filter(pl.col("shift") == "b")["mean_margin"].to_list() == [0.0] * 120


def test_an_incomplete_trajectory_counts_nowhere() -> None:
    lost = "fog/001_goldfish/seed_0001_scale_0500.jpg"
    cns = cns_scores(results(leave_out=(lost,)), resamples=10)
    assert cns.dropped == {"fog": 1, "snow": 0}
    rest = np.delete(matrix("deit", "fog"), 1, axis=0)
    np.testing.assert_allclose(pick(cns.accuracy, model="deit", shift="fog")["accuracy"], rest.mean(0))
    [fog, _] = trajectories(results(leave_out=(lost,)))
    assert fog.names == [f"fog/001_goldfish/seed_{seed:04}" for seed in (0, 2, 3)]


@pytest.mark.parametrize(
    ("options", "values"),
    [
        ({"baseline": "vgg"}, ("baseline", "'vgg'", "alexnet, deit, vit")),
        ({"models": ["vgg"]}, ("'vgg'", "6 cells", "alexnet, deit, vit")),
        ({"slope_models": ["vgg"]}, ("slope", "'vgg'", "alexnet, deit, vit")),
        ({"id_accuracy": {"vit": 0.5}}, ("'alexnet'", "id_accuracy", "vit")),
        ({"axes": "log"}, ("axes", "linear", "probit", "logit", "'log'")),
    ],
)
def test_what_cannot_be_scored_is_said(options: dict, values: tuple) -> None:
    with pytest.raises(BrittleError, match=naming(*values)):
        cns_scores(results(), resamples=10, **options)


def test_results_of_something_else_are_refused() -> None:
    with pytest.raises(BrittleError, match=naming("0.5", "1.0", "1.5", 0)):
        cns_scores(results(scales=(0.5, 1.0, 1.5)))
    only_clean = results(clean=True).rows.filter(pl.col("corruption") == "clean")
    with pytest.raises(BrittleError, match=naming("cns/<shift>", "evaluate_stored", "trajectory_dataset(folder)")):
        cns_scores(Results(only_clean))


def test_six_right_trajectories_are_not_certain() -> None:
    right = np.ones((2, 6, 3), dtype=bool)
    right[1, :, 2] = False  # the baseline fails at the last scale
    scales = np.array([0.0, 1.0, 2.0])
    shifts = [Trajectories(shift, ["good", "base"], scales, right, list("abcdef"), 0) for shift in ("fog", "snow")]
    table = accuracy_table(shifts, shifts, level=0.95, resamples=50, seed=0)
    means = table.filter((pl.col("model") == "good") & (pl.col("shift") == "mean"))
    assert means["high"].to_list() == [1, 1, 1]
    assert means["low"].to_list() == pytest.approx([1 - 0.4832 / 2**0.5] * 3, abs=0.001)
    assert means["drop_low"].to_list() == pytest.approx([0, -0.342, -0.342], abs=0.001)  # 0 at scale 0 by definition
    ratio = rce_table(shifts, "base", level=0.95, resamples=50, seed=0)
    for row in ratio.filter(pl.col("model") == "good").iter_rows(named=True):
        assert row["low"] < row["rce"] == 0 < row["high"]
    assert ratio.filter(pl.col("model") == "base")["low"].to_list() == [1, 1, 1]
