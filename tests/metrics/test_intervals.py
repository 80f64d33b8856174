"""Bootstrap and paired comparisons against brute force, known variances and known coverage."""

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from scipy import stats

from brittle import BrittleError, metrics
from brittle.metrics import bootstrap, difference, intervals, means, resampled_means
from brittle.metrics.bounded_means import Fraction, gap_interval, linear_fraction
from tests.errors import naming


def test_resampled_means_are_means_of_rows_drawn_with_replacement(rng: np.random.Generator) -> None:
    rows = rng.normal(size=(50, 3))
    drawn = resampled_means(rows, resamples=70, seed=5)
    counts = resampled_means(np.eye(50, dtype=bool), resamples=70, seed=5) * 50  # the weights themselves
    assert counts == pytest.approx(np.round(counts))
    assert counts.sum(axis=1) == pytest.approx(50)
    assert drawn == pytest.approx(counts @ rows / 50)


def test_the_weights_are_multinomial() -> None:
    counts = resampled_means(np.eye(40, dtype=bool), resamples=4000) * 40
    assert counts.mean(axis=0) == pytest.approx(1, abs=0.08)
    assert counts.var() == pytest.approx(1 - 1 / 40, abs=0.02)


def test_the_same_seed_gives_the_same_numbers_and_another_seed_others(rng: np.random.Generator) -> None:
    rows = rng.random((200, 4)) < 0.6
    assert (resampled_means(rows, seed=1) == resampled_means(rows, seed=1)).all()
    assert (resampled_means(rows, seed=1, resamples=50) == resampled_means(rows, seed=1, resamples=100)[:50]).all()
    assert (resampled_means(rows, seed=1) != resampled_means(rows, seed=2)).any()
    drawn = resampled_means([[0.0], [1.0], [1.0], [0.0], [1.0]], seed=7, resamples=4)
    assert drawn.ravel().tolist() == [0.8, 0.2, 0.8, 0.4]  # the same on every machine and NumPy
    assert resampled_means(rows, seed=-1).shape == (1000, 4)


def test_the_interval_is_as_wide_as_theory_says(rng: np.random.Generator) -> None:
    """Cells that share images are not independent: the mean of two equal cells is no surer than one."""
    right = rng.random(4000) < 0.7
    one = bootstrap(right, name="accuracy")
    two = bootstrap(np.column_stack([right, right]), name="accuracy")
    width = 2 * 1.96 * np.sqrt(0.7 * 0.3 / 4000)
    assert one.high - one.low == pytest.approx(width, rel=0.1)
    assert (two.low, two.high) == pytest.approx((one.low, one.high))
    assert (one.value, one.n) == (pytest.approx(right.mean()), 4000)


def test_any_metric_can_be_resampled(rng: np.random.Generator) -> None:
    correct = rng.random((500, 75)) < np.linspace(0.8, 0.3, 75)
    alexnet = metrics.baseline()
    base = alexnet.of(list(alexnet.errors)[:15])

    def mce(accuracy: np.ndarray) -> np.ndarray:
        return metrics.mce(1 - accuracy.reshape(-1, 15, 5).mean(-1), base)

    estimate = bootstrap(correct, mce, name="mCE", resamples=200)
    assert estimate.value == pytest.approx(float(metrics.mce(1 - correct.mean(0).reshape(15, 5).mean(1), base)))
    assert estimate.low < estimate.value < estimate.high
    assert str(estimate).startswith("mCE ")


def test_what_was_not_measured_is_left_out() -> None:
    rows = np.array([[1, np.nan], [0, 1], [1, np.nan], [0, 0]])
    assert means(rows) == pytest.approx([0.5, 0.5])
    with pytest.raises(BrittleError, match=naming("column 0")):
        means([[np.nan], [np.nan]])
    with pytest.raises(BrittleError, match=naming("accuracy", "column 1")):
        bootstrap(rows, name="accuracy")  # some resample draws neither of the two measured samples
    many = np.tile(rows, (50, 1))
    full, holed = bootstrap(many[:, 0], name="x"), bootstrap(many[:, 1], name="x")
    assert holed.high - holed.low > full.high - full.low


def test_a_paired_difference_is_surer_than_two_intervals(rng: np.random.Generator) -> None:
    first = rng.random(2000) < 0.7
    second = first & (rng.random(2000) < 0.97)
    gained = difference(first, second, name="accuracy gained")
    assert gained.value == pytest.approx(first.mean() - second.mean())
    apart = bootstrap(first, name="x").high - bootstrap(first, name="x").low
    assert 0 < gained.low < gained.value < gained.high < gained.low + apart / 2
    same = difference(first, first)
    assert same.value == 0
    assert (
        -0.004 < same.low < 0 < same.high < 0.004
    )  # 2,000 samples without a difference do not prove that there is none
    test = metrics.mcnemar(first, second)
    assert (test.only_first, test.only_second) == ((first & ~second).sum(), 0)
    assert test.p == pytest.approx(2 * 0.5**test.only_first)


def test_intervals_cover_as_often_as_they_say() -> None:
    """Over the binomial distribution: Clopper–Pearson at least 95 % for every p, Wilson about 95 % on average."""
    n, k = 40, np.arange(41)
    logs = np.cumsum(np.log(np.concatenate([[1], np.arange(1, n + 1)])))
    exact, near = metrics.clopper_pearson(k, n), metrics.wilson(k, n)
    covered = []
    for p in np.linspace(0.02, 0.98, 97):
        chance = np.exp(logs[n] - logs[k] - logs[n - k] + k * np.log(p) + (n - k) * np.log(1 - p))
        assert chance[(exact[0] <= p) & (p <= exact[1])].sum() >= 0.95
        covered.append(chance[(near[0] <= p) & (p <= near[1])].sum())
    assert np.mean(covered) == pytest.approx(0.95, abs=0.01)


def test_an_accuracy_carries_its_interval() -> None:
    correct = [True] * 76 + [False] * 24
    wilson = metrics.accuracy_estimate(correct)
    exact = metrics.accuracy_estimate(correct, method="clopper-pearson")
    assert str(wilson) == "accuracy 76.0 % [66.8, 83.3]"
    assert str(exact) == "accuracy 76.0 % [66.4, 84.0]"


@pytest.mark.parametrize(
    ("wrong", "values"),
    [
        (lambda: bootstrap([], name="x"), ("samples × columns", "(0,)")),
        (lambda: bootstrap([1, 0], name="x", resamples=0), ("resamples", 1, 0)),
        (lambda: bootstrap([1, 0], name="x", level=95), ("level", 0, 1, 95)),
        (lambda: bootstrap([[[1]]], name="x"), ("samples × columns", "(1, 1, 1)")),
        (lambda: bootstrap([1, 0], lambda means: means, name="x"), ("(1000, 1)",)),
        (lambda: difference([1, 0], [1, 0, 1]), ("(2, 1)", "(3, 1)")),
        (lambda: metrics.mcnemar([1, 0], [1, 0, 1]), ("(2,)", "(3,)")),
        (lambda: metrics.wilson(3, 2), ("k = 3", "n = 2")),
        (lambda: metrics.accuracy_estimate([1, 0], method="wald"), ("wilson", "clopper-pearson", "'wald'")),
        (lambda: metrics.accuracy_estimate([[1, 0]]), ("(1, 2)",)),
    ],
)
def test_nonsense_is_refused(wrong: Callable[[], object], values: tuple) -> None:
    with pytest.raises(BrittleError, match=naming(*values)):
        wrong()


@cache
def score_of(name: str) -> Callable[[np.ndarray], np.ndarray]:
    """The scores as functions of accuracies of (clean, 15 corruptions × 5 levels)."""
    alexnet = metrics.baseline()
    base = alexnet.of(list(alexnet.errors)[:15])

    def mean(a: np.ndarray) -> np.ndarray:
        return a[..., 1:].reshape(*a.shape[:-1], 15, 5).mean(-1)

    return {
        "mean accuracy": lambda a: mean(a).mean(-1),
        "error": lambda a: 1 - mean(a).mean(-1),
        "drop": lambda a: a[..., 0] - mean(a).mean(-1),
        "R": lambda a: metrics.robustness_score(mean(a).mean(-1), a[..., 0]),
        "mCE": lambda a: metrics.mce(1 - mean(a), base),
        "relative mCE": lambda a: metrics.relative_mce(1 - mean(a), 1 - a[..., 0], base, alexnet.clean_error),
        "curved": lambda a: (mean(a) ** 2).mean(-1),
    }[name]


SCORES = ("mean accuracy", "error", "drop", "R", "mCE", "relative mCE")


@pytest.mark.parametrize("right", [True, False])
@pytest.mark.parametrize("name", [*SCORES, "curved"])
def test_six_images_are_never_certain(name: str, right: bool) -> None:
    if name == "R" and not right:
        with pytest.raises(BrittleError, match=naming(0)):
            bootstrap(np.zeros((6, 76), dtype=bool), score_of(name), name=name)
        return
    estimate = bootstrap(np.full((6, 76), right), score_of(name), name=name, resamples=50)
    assert estimate.low <= estimate.value <= estimate.high
    assert estimate.high - estimate.low > 0.05
    if name in ("mean accuracy", "error"):
        assert 0 <= estimate.low < estimate.high <= 1
        assert estimate.high - estimate.low == pytest.approx(0.483, abs=0.001)  # Wilson's with continuity correction
    paired = difference(np.full((6, 3), right), np.full((6, 3), right), resamples=50)
    assert (paired.low, paired.high) == pytest.approx((-0.483, 0.483), abs=0.001)


@pytest.mark.parametrize(
    ("n", "accuracy", "shared"), [(50, 0.99, 0.9), (30, 0.999, 0.5), (10, 0.98, 1.0), (6, 0.7, 0.0)]
)
def test_scores_hold_the_truth_with_few_images_and_near_the_edges(n: int, accuracy: float, shared: float) -> None:
    """A latent difficulty of the image explains a share of the variance; a percentile bootstrap holds 5 to 85 %."""
    rng = np.random.default_rng(5)
    columns = np.r_[(1 + accuracy) / 2, np.full(75, accuracy)]
    limit, repetitions = stats.norm.ppf(columns), 120
    missed = dict.fromkeys(SCORES, 0)
    for _ in range(repetitions):
        common, cell_noise = rng.normal(size=(n, 1)), rng.normal(size=(n, 76))
        right = shared**0.5 * common + (1 - shared) ** 0.5 * cell_noise < limit
        drawn = resampled_means(right, resamples=100)
        for name in SCORES if right[:, 0].any() else SCORES[:2]:
            estimate = bootstrap(right, score_of(name), name=name, resamples=100, resampled=drawn)
            truth = float(np.asarray(score_of(name)(columns[np.newaxis]))[0])
            missed[name] += not estimate.low - 1e-9 <= truth <= estimate.high + 1e-9
    most = stats.binom.ppf(0.999, repetitions, 0.05)
    assert max(missed.values()) <= most, missed


def test_a_ratio_that_some_resample_leaves_undefined_has_fiellers_interval() -> None:
    right = np.zeros((8, 2), dtype=bool)
    right[:2, 0] = right[0, 1] = True
    estimate = bootstrap(right, lambda a: metrics.robustness_score(a[..., 1], a[..., 0]), name="R")
    assert estimate.value == 0.5
    assert 0 <= estimate.low < 0.1
    assert 1 < estimate.high < np.inf
    assert "Fieller" in estimate.method


def test_ratios_and_linear_scores_are_recognised() -> None:
    for name in SCORES:
        form = linear_fraction(score_of(name), 76)
        assert form is not None
        assert (form.below_weights is not None) == (name == "R")
    assert linear_fraction(score_of("curved"), 76) is None
    drop = linear_fraction(score_of("drop"), 76)
    assert drop is not None
    assert drop.weights == pytest.approx(np.r_[1, np.full(75, -1 / 75)])


@pytest.mark.parametrize(("images", "levels"), [(60, 5), (3000, 5), (3000, 40)])
def test_fiellers_ends_are_those_of_a_plain_bisection(rng: np.random.Generator, images: int, levels: int) -> None:
    """Whatever is counted and tried at once: the ends are where the test on all images just rejects."""
    skill = rng.random((images, 1))
    rows = (skill + rng.normal(0, 0.4, (images, levels + 1)) < 0.7).astype(float)
    weights = np.r_[0, rng.random(levels) if levels > 5 else np.full(levels, 1 / levels)]
    ends = Fraction(0.0, weights, 0.0, np.eye(levels + 1)[0]).interval(rows)
    value = rows.mean(0) @ weights / rows[:, 0].mean()

    def outside(ratio: float) -> bool:
        low, high = gap_interval(rows @ weights, ratio * rows[:, 0], weights.sum(), ratio)
        return bool(low > 0 if ratio < value else high < 0)

    for end, far in zip(ends, (0.0, 10 * value), strict=True):
        inner, outer = value, far
        while abs(outer - inner) > 1e-9:
            middle = (inner + outer) / 2
            inner, outer = (inner, middle) if outside(middle) else (middle, outer)
        assert end == pytest.approx(outer, rel=3e-5)


def test_many_images_are_not_widened(rng: np.random.Generator) -> None:
    right = rng.random((4000, 76)) < 0.7
    for name in SCORES:
        drawn = score_of(name)(resampled_means(right))
        estimate = bootstrap(right, score_of(name), name=name)
        assert 1 <= (estimate.high - estimate.low) / np.ptp(np.quantile(drawn, [0.025, 0.975])) < 1.15


def test_very_many_samples_are_resampled_in_groups_with_the_same_spread(
    rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    ease = np.sort(rng.normal(size=6000))  # in the order of the classes, say: groups must not follow it
    rows = np.stack([rng.normal(size=6000) + ease > hard for hard in (-1, 1)], axis=1)
    alone = intervals.resampled_means(rows, resamples=4000)
    monkeypatch.setattr(intervals, "MANY", 5999)
    monkeypatch.setattr(intervals, "GROUPS", 1001)
    grouped = intervals.resampled_means(rows, resamples=4000)
    np.testing.assert_allclose(grouped.std(axis=0), alone.std(axis=0), rtol=0.12)
    np.testing.assert_allclose(grouped.mean(axis=0), rows.mean(axis=0), atol=4e-4)
    paired = intervals.resampled_means(rows[:, :1], resamples=4000)
    np.testing.assert_array_equal(paired, grouped[:, :1])
    missing = np.where(rng.random(rows.shape) < 0.1, np.nan, rows)
    found = intervals.resampled_means(missing, resamples=4000).mean(axis=0)
    np.testing.assert_allclose(found, np.nanmean(missing, axis=0), atol=6e-4)
