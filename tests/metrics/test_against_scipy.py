"""Statistics beside other functions of SciPy than those they are made of."""

import numpy as np
import pytest
from scipy import special, stats

from brittle import metrics


@pytest.mark.parametrize("n", [1, 10, 333, 50_000])
@pytest.mark.parametrize("level", [0.9, 0.95, 0.999])
@pytest.mark.parametrize(("method", "name"), [("exact", "clopper_pearson"), ("wilson", "wilson")])
def test_intervals_of_a_proportion(n: int, level: float, method: str, name: str) -> None:
    k = np.unique([0, 1 % (n + 1), n // 3, n - 1, n])
    low, high = getattr(metrics, name)(k, n, level=level)
    expected = [stats.binomtest(int(one), n).proportion_ci(level, method) for one in k]
    assert low == pytest.approx([e.low for e in expected], rel=1e-8, abs=1e-12)
    assert high == pytest.approx([e.high for e in expected], rel=1e-8, abs=1e-12)


@pytest.mark.parametrize(("only_first", "only_second"), [(0, 0), (3, 0), (5, 5), (12, 30), (900, 1100), (1, 60)])
def test_mcnemar(only_first: int, only_second: int) -> None:
    first = np.repeat([True, False, True, False], [only_first, only_second, 40, 7])
    second = np.repeat([False, True, True, False], [only_first, only_second, 40, 7])
    test = metrics.mcnemar(first, second)
    assert (test.only_first, test.only_second) == (only_first, only_second)
    if only_first + only_second:
        expected = stats.binomtest(only_first, only_first + only_second).pvalue
        assert test.p == pytest.approx(expected, rel=1e-9)
    else:
        assert test.p == 1


@pytest.mark.parametrize("n", [4, 16, 21, 40, 150])
@pytest.mark.parametrize("tied", [False, True])
def test_correlations(n: int, tied: bool, rng: np.random.Generator) -> None:
    x = rng.normal(size=n)
    y = 0.5 * x + rng.normal(size=n)
    if tied:
        x, y = np.round(x), np.round(y)
    pearson, expected = metrics.pearson(x, y, level=0.9), stats.pearsonr(x, y)
    ends = expected.confidence_interval(0.9)
    assert (pearson.value, pearson.p) == pytest.approx((expected.statistic, expected.pvalue))
    assert (pearson.low, pearson.high) == pytest.approx((ends.low, ends.high))
    spearman, rank = metrics.spearman(x, y), stats.spearmanr(x, y)
    assert (spearman.value, spearman.p) == pytest.approx((rank.statistic, rank.pvalue))
    kendall = metrics.kendall(x, y)
    tau = stats.kendalltau(x, y, method="exact" if not tied and n <= 100 else "asymptotic")
    assert (kendall.value, kendall.p) == pytest.approx((tau.statistic, tau.pvalue))


@pytest.mark.parametrize("axes", ["linear", "probit", "logit"])
def test_the_slope_and_its_errors(axes: str, rng: np.random.Generator) -> None:
    x = rng.uniform(0.6, 0.85, 16)
    y = np.clip(0.9 * x - 0.1 + rng.normal(0, 0.03, 16), 0.05, 0.95)
    change = {"linear": np.asarray, "probit": stats.norm.ppf, "logit": special.logit}[axes]
    expected = stats.linregress(change(x), change(y))
    line = metrics.id_ood_slope(x, y, axes=axes)
    assert (line.slope, line.intercept) == pytest.approx((expected.slope, expected.intercept))
    assert (line.slope_error, line.intercept_error) == pytest.approx((expected.stderr, expected.intercept_stderr))
    assert (line.r_squared, line.p) == pytest.approx((expected.rvalue**2, expected.pvalue))
    half = stats.t.ppf(0.975, 14) * expected.stderr
    assert line.estimate().high == pytest.approx(expected.slope + half)
