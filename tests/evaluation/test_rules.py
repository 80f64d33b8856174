"""Rules: how they are written, what they are about, and by what they are decided."""

import importlib.util
import math
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import polars as pl
import pytest
from scipy.stats import binomtest

import brittle
from brittle import BrittleError
from brittle.evaluation import (
    Outcome,
    Results,
    Rule,
    check_rules,
    compare_all,
    load_evidence,
    load_rules,
    scores,
    search_failure_points,
)
from brittle.metrics import FailurePoints, corruption_error, metric, quantile_difference
from tests.errors import naming
from tests.evaluation.rule_cases import RECIPE, accuracy, write_run

FOG = """
[[rule]]
name = "fog on the road"
benchmark = "cifar10-c-custom"
corruption = "fog"
severity = [1, 3]
metric = "accuracy"
at_least = 0.80
classes = ["automobile", "truck"]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("rules") / "run", {"good": 0.95, "poor": 0.7})


@pytest.fixture(scope="module")
def results(folder: Path) -> Results:
    return brittle.load_results(folder)


@pytest.fixture
def forget() -> Iterator[None]:
    """A metric that a test registers is known in that test only."""
    before = dict(corruption_error._metrics)
    yield
    corruption_error._metrics.clear()
    corruption_error._metrics.update(before)


def one(results: Results, rule: Rule, against: Results | None = None) -> Outcome:
    [outcome] = check_rules(results, [rule], against)
    return outcome


def read(tmp_path: Path, text: str) -> list[Rule]:
    (tmp_path / "rules.toml").write_text(text)
    return load_rules(tmp_path / "rules.toml")


def test_a_rule_is_read_from_its_file_and_written_back(tmp_path: Path) -> None:
    [rule] = read(tmp_path, FOG)
    assert (rule.corruption, rule.severity, rule.classes) == (("fog",), (1, 3), ("automobile", "truck"))
    assert Rule.from_dict(rule.to_dict()) == rule
    assert rule.to_dict()["corruption"] == "fog"
    assert rule.title == "fog on the road"
    assert rule.subject == "accuracy, fog 1–3, automobile, truck"
    assert Rule.from_dict({"metric": "error", "severity": 3, "at_most": 0.2}).to_dict()["severity"] == 3


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("accuracy", "mean accuracy"),
        ("Error", "unnormalised error"),
        ("accuracy drop", "mean accuracy drop"),
        ("R", "robustness R"),
        ("robustness", "robustness R"),
        ("mce", "mCE"),
        ("relative_mce", "relative mCE"),
        ("clean accuracy", "clean accuracy"),
        ("failure_point", "failure point"),
    ],
)
def test_metrics_are_known_by_short_names_fields_and_names(given: str, name: str) -> None:
    assert Rule(given, at_least=0.5).metric == name


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("", ["rules.toml"]),
        ("rule = 3", ["rules.toml"]),
        ("[[rules]]\nmetric = 'accuracy'", ["rules.toml", "rules"]),
        ("[[rule]", ["rules.toml"]),
        ("[[rule]]\nmetric = 'accuracy'\nat_lest = 0.5", ["at_lest", "at_least", "rule 1"]),
        ("[[rule]]\nmetric = 'accuracy'\nlevel = 3\nat_least = 0.5", ["level", "severity"]),
        ("[[rule]]\nmetric = 'accuracy'\nclass = 'cat'\nat_least = 0.5", ["class", "classes"]),
        ("[[rule]]\nat_least = 0.5", ["metric", "mCE"]),
        ("[[rule]]\nmetric = 'acuracy'\nat_least = 0.5", ["acuracy", "accuracy"]),
        ("[[rule]]\nmetric = 'accuracy'", ["at_least", "at_most"]),
        ("[[rule]]\nmetric = 'accuracy'\nat_least = 0.8\nat_most = 0.5", ["0.8", "0.5"]),
        ("[[rule]]\nmetric = 'accuracy'\nat_least = '0.8'", ["at_least", "'0.8'"]),
        ("[[rule]]\nmetric = 'accuracy'\nat_least = nan", ["at_least", "nan"]),
        ("[[rule]]\nmetric = 'accuracy'\nat_least = true", ["at_least", "True"]),
        ("[[rule]]\nmetric = 'accuracy'\nat_least = 0.8\nseverity = [1, 2, 3]", ["severity", "3"]),
        ("[[rule]]\nmetric = 'accuracy'\nat_least = 0.8\nseverity = [3, 1]", ["severity", "[3.0, 1.0]"]),
        ("[[rule]]\nmetric = 'accuracy'\nat_least = 0.8\nseverity = 0", ["severity", "0"]),
        ("[[rule]]\nmetric = 'accuracy'\nat_least = 0.8\ncorruption = 3", ["corruption", "3"]),
        ("[[rule]]\nmetric = 'accuracy'\nat_least = 0.8\nclasses = []", ["classes"]),
        ("[[rule]]\nmetric = 'error'\nat_most = 0.8\ncorruption = 'fog'\nfamily = 'noise'", ["corruption", "family"]),
        ("[[rule]]\nmetric = 'accuracy'\nat_least = 0.8\nquantile = 0.1", ["quantile", "failure point"]),
        ("[[rule]]\nmetric = 'failure point'\nat_least = 1\nquantile = 5", ["quantile", "5"]),
        ("[[rule]]\nmetric = 'failure point'\nat_least = 1\nseverity = 3", ["severity"]),
        ("[[rule]]\nmetric = 'clean accuracy'\nat_least = 0.5\ncorruption = 'fog'", ["clean", "corruption"]),
        ("[[rule]]\nmetric = 'mCE'\nat_most = 0.5\nclasses = ['cat']", ["classes", "error"]),
        ("[[rule]]\nmetric = 'error'\nat_most = 0.5\nreference = 'good'", ["reference", "mCE"]),
        ("[[rule]]\nmetric = 'accuracy'\nat_least = 0.8\nmodel = 3", ["model", "3"]),
    ],
)  # fmt: skip
def test_a_rule_that_says_nothing_or_too_much_is_refused(tmp_path: Path, text: str, values: list[str]) -> None:
    with pytest.raises(BrittleError, match=naming(*values)):
        read(tmp_path, text)


def test_there_must_be_a_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=naming("nothing.toml")):
        load_rules(tmp_path / "nothing.toml")


@pytest.mark.parametrize(
    ("rule", "values"),
    [
        ({"corruption": "frost"}, ["frost", "fog"]),
        ({"corruption": "snwo"}, ["snwo", "snow"]),
        ({"family": "blur"}, ["blur", "noise", "weather"]),
        ({"severity": 2}, ["2", "1, 3, 5"]),
        ({"severity": [3.5, 4.5]}, ["3.5", "4.5", "1, 3, 5"]),
        ({"benchmark": "imagenet-c"}, ["imagenet-c", "cifar10-c-custom"]),
        ({"model": "god"}, ["god", "good"]),
        ({"classes": ["autmobile"]}, ["autmobile", "'automobile'"]),
        ({"at_least": 80}, ["80", "between 0 and 1", "100"]),
        ({"at_least": -0.1}, ["-0.1", "between 0 and 1"]),
        ({"metric": "R", "at_least": -0.1}, ["-0.1", "at least 0"]),
        ({"metric": "failure point", "at_least": -1}, ["-1"]),
        ({"metric": "mCE"}, ["mCE", "good", "poor"]),
        ({"metric": "mCE", "reference": "alexnet"}, ["alexnet", "good"]),
    ],
)
def test_a_rule_on_what_was_not_run_is_refused(results: Results, rule: dict[str, object], values: list[str]) -> None:
    with pytest.raises(BrittleError, match=naming(*values)):
        check_rules(results, [Rule.from_dict({"metric": "accuracy", "at_least": 0.5, **rule})])


def test_no_rules_are_no_check(results: Results) -> None:
    with pytest.raises(BrittleError, match=naming("rule")):
        check_rules(results, [])


def test_the_values_are_those_of_the_scores(results: Results) -> None:
    """Each metric against the code that makes the tables, which is another one."""
    [good, _] = scores(results, RECIPE, reference="poor")
    names = {
        "accuracy": good.mean_accuracy,
        "error": good.error,
        "accuracy drop": good.drop,
        "R": good.robustness,
        "clean accuracy": good.clean,
        "mCE": good.mce,
        "relative mCE": good.relative_mce,
    }
    for name, score in names.items():
        reference = "poor" if "mCE" in name else None
        outcome = one(results, Rule(name, at_least=0.5, model="good", reference=reference))
        assert score is not None
        assert outcome.estimate.value == pytest.approx(score.value), name
        if name != "clean accuracy":  # which is Wilson's there and exact here
            assert (outcome.estimate.low, outcome.estimate.high) == pytest.approx((score.low, score.high), abs=1e-9)
    for corruption_scores in good.corruptions:
        outcome = one(results, Rule("accuracy", corruption=(corruption_scores.corruption,), at_least=0.5, model="good"))
        assert outcome.estimate.value == pytest.approx(corruption_scores.accuracy.value)
        assert outcome.estimate.low == pytest.approx(corruption_scores.accuracy.low)


def test_one_cell_has_the_exact_interval_of_a_share(results: Results) -> None:
    rule = Rule("accuracy", corruption=("snow",), severity=(3, 3), at_least=0.5, model="good")
    estimate = one(results, rule).estimate
    right = round(400 * accuracy(0.95, "snow", 3))
    expected = binomtest(right, 400).proportion_ci(0.95, method="exact")
    assert (estimate.low, estimate.high) == pytest.approx((expected.low, expected.high))
    error = one(results, replace(rule, metric="error", at_least=None, at_most=0.5)).estimate
    assert (error.value, error.low, error.high) == pytest.approx((1 - right / 400, 1 - expected.high, 1 - expected.low))


def test_the_bound_of_the_interval_decides_and_not_the_point(results: Results) -> None:
    estimate = one(results, Rule("clean accuracy", at_least=0.5, model="good")).estimate
    assert estimate.low is not None
    assert estimate.high is not None
    for bound, least, most in (
        (estimate.low - 0.001, "holds", "fails"),
        (estimate.low + 0.001, "undecided", "undecided"),
        (estimate.value, "undecided", "undecided"),
        (estimate.high - 0.001, "undecided", "undecided"),
        (estimate.high + 0.001, "fails", "holds"),
    ):
        assert one(results, Rule("clean accuracy", at_least=bound, model="good")).verdict == least
        assert one(results, Rule("clean accuracy", at_most=bound, model="good")).verdict == most
    inside = Rule("clean accuracy", at_least=0.5, at_most=estimate.value, model="good")
    assert one(results, inside).verdict == "undecided"
    assert one(results, replace(inside, at_most=1.0)).verdict == "holds"
    assert one(results, Rule("clean accuracy", at_least=0.2, at_most=0.3, model="good")).verdict == "fails"


def test_more_rules_make_wider_intervals(results: Results) -> None:
    rule = Rule("clean accuracy", at_least=0.5)
    both = check_rules(results, [rule])
    assert [outcome.model for outcome in both] == ["good", "poor"]
    assert [outcome.estimate.level for outcome in both] == pytest.approx([0.975, 0.975])
    many = check_rules(results, [rule] * 10)
    assert many[0].estimate.level == pytest.approx(1 - 0.05 / 20)
    right = round(400 * 0.95)
    assert many[0].estimate.low == pytest.approx(binomtest(right, 400).proportion_ci(1 - 0.05 / 20).low)


def test_the_images_needed_decide_it(tmp_path: Path) -> None:
    """Given about so many images with the same shares, the rule is decided; with half of them it is not."""
    rule = Rule("accuracy", corruption=("snow",), at_least=0.85)

    def check(images: int) -> Outcome:
        return one(brittle.load_results(write_run(tmp_path / f"{images}", {"m": 0.95}, images=images)), rule)

    few = check(100)
    assert few.verdict == "undecided"
    assert few.images_needed is not None
    assert "images" in few.sentence
    assert f"{few.images_needed:,}" in few.sentence
    assert check(few.images_needed // 2).verdict == "undecided"
    assert check(round(1.2 * few.images_needed)).verdict == "holds"


def test_at_the_bound_no_number_of_images_is_named(results: Results) -> None:
    value = one(results, Rule("clean accuracy", at_least=0.5, model="good")).estimate.value
    outcome = one(results, Rule("clean accuracy", at_least=value, model="good"))
    assert (outcome.verdict, outcome.images_needed) == ("undecided", None)


def test_classes_and_families_choose_images_and_corruptions(results: Results) -> None:
    trucks = one(results, Rule("accuracy", corruption=("fog",), classes=("truck",), at_least=0.5, model="good"))
    assert (trucks.verdict, trucks.estimate.value, trucks.estimate.n) == ("fails", 0.0, 40)
    rest = one(results, Rule("accuracy", corruption=("fog",), classes=("cat", "dog"), at_least=0.5, model="good"))
    assert (rest.verdict, rest.estimate.n) == ("holds", 80)
    weather = one(results, Rule("accuracy", family=("weather",), at_least=0.5, model="good")).estimate.value
    each = [
        one(results, Rule("accuracy", corruption=(name,), at_least=0.5, model="good")).estimate.value
        for name in ("fog", "imagenet-c/snow")
    ]
    assert weather == pytest.approx(np.mean(each))
    level = one(results, Rule("accuracy", corruption=("snow",), severity=(1, 3), at_least=0.5, model="poor"))
    assert level.estimate.value == pytest.approx(np.mean([round(400 * accuracy(0.7, "snow", s)) / 400 for s in (1, 3)]))


@pytest.mark.usefixtures("forget")
def test_a_metric_of_ones_own_can_be_asked_for(results: Results) -> None:
    @metric("worst corruption")
    def worst(accuracy: np.ndarray) -> np.ndarray:
        return np.asarray(accuracy.min(axis=-1))

    outcome = one(results, Rule("worst corruption", at_least=0.5, model="good"))
    noise = one(results, Rule("accuracy", corruption=("gaussian_noise",), at_least=0.5, model="good"))
    assert outcome.estimate.value == pytest.approx(noise.estimate.value)
    assert Rule("worst", at_least=0.5).metric == "worst corruption"


def test_against_another_run_the_paired_difference_decides(results: Results, tmp_path: Path) -> None:
    other = brittle.load_results(write_run(tmp_path / "other", {"good": 0.94}))
    rule = Rule("accuracy", at_least=-0.05, model="good")
    outcome = one(results, rule, other)
    ours, theirs = (one(some, replace(rule, at_least=0.5, model="good")).estimate.value for some in (results, other))
    assert outcome.estimate.value == pytest.approx(ours - theirs)
    assert outcome.against == "good"
    assert outcome.verdict == "holds"
    alone = one(results, replace(rule, at_least=0.5)).estimate
    assert alone.low is not None
    assert outcome.estimate.low is not None
    assert outcome.estimate.value - outcome.estimate.low < alone.value - alone.low  # what both share is no noise
    assert one(results, replace(rule, at_least=0.2), other).verdict == "fails"
    poor = one(results, replace(rule, model="poor"), other)  # the other run has one model only
    assert (poor.verdict, poor.against) == ("fails", "good")
    for name in ("R", "accuracy drop", "clean accuracy", "error"):
        difference = one(results, Rule(name, at_least=-0.5, model="good"), other)
        values = [one(some, Rule(name, at_least=0, model="good")).estimate.value for some in (results, other)]
        assert difference.estimate.value == pytest.approx(values[0] - values[1])


def test_the_difference_is_that_of_compare(results: Results) -> None:
    """Two models side by side, against the same difference between two runs."""
    first = replace(results, rows=results.rows.filter(model="good"))
    second = replace(results, rows=results.rows.filter(model="poor"))
    outcome = one(first, Rule("accuracy", at_least=0), second)
    expected = compare_all(results, RECIPE, ["poor", "good"])["good"]
    assert (outcome.estimate.value, outcome.estimate.low, outcome.estimate.high) == pytest.approx(
        (expected.value, expected.low, expected.high)
    )


def test_against_a_run_that_cannot_be_paired(results: Results, tmp_path: Path) -> None:
    rule = Rule("accuracy", at_least=-0.01)
    fewer = brittle.load_results(write_run(tmp_path / "fewer", {"good": 0.9}, images=200))
    with pytest.raises(BrittleError, match=naming("200", "400")):
        check_rules(results, [rule], fewer)
    strangers = brittle.load_results(write_run(tmp_path / "strangers", {"a": 0.9, "b": 0.9}))
    with pytest.raises(BrittleError, match=naming("good", "a", "b")):
        check_rules(results, [rule], strangers)
    other_seed = write_run(tmp_path / "seed", {"good": 0.9}, recipe=replace(RECIPE, seed=5))
    for asked in (replace(rule, model="good"), Rule("failure point", at_least=-1, model="good")):
        with pytest.raises(BrittleError, match=naming("fog 1")):
            check_rules(results, [asked], brittle.load_results(other_seed))
    with pytest.raises(BrittleError, match=naming("-2", "between -1 and 1")):
        check_rules(results, [replace(rule, at_least=-2)], results)


def test_a_model_that_lacks_a_cell_is_not_passed_over(results: Results) -> None:
    fewer = results.rows.filter((pl.col("model") == "good") | (pl.col("corruption") != "imagenet-c/snow"))
    with pytest.raises(BrittleError, match=naming("poor", "good")):
        check_rules(replace(results, rows=fewer), [Rule("accuracy", at_least=0.1)])


def test_which_benchmark_is_meant_must_be_clear(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", {"m": 0.9}, recipe=replace(RECIPE, name="first"))
    noise = replace(brittle.load_benchmark("cifar10-c").cut(["gaussian_noise"], severities=[2]), name="second")
    results = brittle.load_results(write_run(folder, {"m": 0.9}, recipe=noise))
    rule = Rule("accuracy", at_least=0.1)
    with pytest.raises(BrittleError, match=naming("first", "second", "benchmark")):
        one(results, rule)
    assert one(results, replace(rule, benchmark="second")).benchmark == "second"
    assert one(results, replace(rule, corruption=("fog",))).benchmark == "first"  # only one has it


def test_failure_points_of_a_run_are_those_of_its_levels(results: Results) -> None:
    rule = Rule("failure point", corruption=("gaussian_noise",), quantile=0.1, at_least=1, model="good")
    estimate = one(results, rule).estimate
    right, severities, _ = results.correct("good", "imagenet-c/gaussian_noise")
    failed = np.where(right.all(1), np.inf, severities[np.argmin(right, axis=1)])
    expected = FailurePoints(failed[failed > 0], severities).quantile(0.1)
    assert (estimate.value, estimate.low, estimate.high) == (expected.value, expected.low, expected.high)
    assert estimate.n == 400
    assert one(results, rule).verdict == "holds"
    assert one(results, replace(rule, at_least=expected.high + 0.5)).verdict == "fails"
    first = one(results, replace(rule, corruption=("gaussian_noise", "snow", "fog"))).estimate.value
    assert first <= estimate.value
    never = one(results, replace(rule, quantile=0.9))
    assert (never.estimate.value, never.verdict) == (math.inf, "holds")
    assert never.to_dict()["estimate"]["value"] is None
    assert "never" in never.sentence


def test_failure_points_against_themselves_differ_by_nothing(results: Results) -> None:
    rule = Rule("failure point", corruption=("gaussian_noise",), quantile=0.1, at_least=0, model="good")
    outcome = one(results, rule, results)
    assert outcome.estimate.value == 0
    assert outcome.verdict == "undecided"
    assert one(results, replace(rule, at_least=-4), results).verdict == "holds"
    fewer = results.rows.filter((pl.col("model") == "good") | (pl.col("corruption") == "clean"))
    with pytest.raises(BrittleError, match=naming("gaussian_noise", "poor", "brittle failure-points")):
        one(replace(results, rows=fewer), replace(rule, model="poor"))


def test_searched_failure_points_are_preferred_and_enough(tmp_path: Path) -> None:
    tones = np.linspace(60, 190, 10)
    model = brittle.models.from_callable(lambda x: -abs(x.mean((1, 2, 3))[:, None] - tones), name="by tone")
    images = np.stack([np.full((8, 8, 3), round(tones[i % 10] + i // 10), np.uint8) for i in range(60)])
    recipe = brittle.load_benchmark("imagenet-c").cut(["brightness"])
    data = brittle.datasets.arrays(images, np.arange(60) % 10)
    searched = search_failure_points(model, data, recipe, tmp_path / "run", tolerance=0.25)
    rule = Rule("failure point", corruption=("brightness",), quantile=0.5, at_least=0.1)
    outcome = one(load_evidence(tmp_path / "run"), rule)
    points = np.sort(searched.filter(searched["failed"] > 0)["failed"].to_numpy())
    assert outcome.estimate.value == points[math.ceil(len(points) / 2) - 1]
    assert outcome.estimate.value % 1 != 0  # no level of the recipe
    with pytest.raises(BrittleError, match=naming("contrast", "brightness")):
        one(load_evidence(tmp_path / "run"), replace(rule, corruption=("contrast",)))
    with pytest.raises(BrittleError, match=naming("'accuracy'", "`brittle run -b …`")):
        one(load_evidence(tmp_path / "run"), Rule("accuracy", at_least=0.5))


@pytest.mark.parametrize("shared", [0.0, 0.8])
def test_the_difference_of_quantiles_holds_the_truth(shared: float) -> None:
    rng, missed, axis = np.random.default_rng(7), 0, np.arange(0, 5.01, 0.25)
    for _ in range(200):
        common = rng.standard_normal(150)
        covered = []
        for factor in (2.0, 1.5):
            strengths = shared**0.5 * common + (1 - shared) ** 0.5 * rng.standard_normal(150)
            points = np.ceil(factor * np.exp(0.5 * strengths) / 0.25) * 0.25
            covered.append(FailurePoints(np.where(points > 5, np.inf, points), axis))
        estimate = quantile_difference(*covered, 0.5)
        assert estimate.low is not None
        assert estimate.high is not None
        missed += not estimate.low <= 0.5 <= estimate.high
    assert missed <= 16  # of 200, P < 0.04 at a rate of 5 %
    with pytest.raises(BrittleError, match=naming(3, 150)):
        quantile_difference(FailurePoints(np.ones(3), axis), covered[0], 0.5)


def simulation() -> ModuleType:
    path = Path(__file__).parents[2] / "perf" / "check_rates.py"
    spec = importlib.util.spec_from_file_location("check_rates", path)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)  # type: ignore[union-attr]
    return module


@pytest.mark.parametrize("against", [False, True])
def test_a_model_at_every_bound_hardly_ever_fails(against: bool) -> None:
    """A smaller perf/check_rates.py: with 5 % false failures, five or more of 30 would be seen in 1 of 50 tests."""
    failures = simulation().failures(100, 0.5, against=against, repetitions=30, seed=1)
    assert failures["brittle check"] <= 4
    assert failures["by the point"] >= 25  # what the point alone would do
