from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from brittle import BrittleError
from brittle.metrics import FailurePoints, failure_points, wilson
from tests.errors import naming

SCALES = [0, 0.5, 1.0, 1.5, 2.0, 2.5]
TRAJECTORIES = np.array(
    [
        [1, 1, 1, 1, 1, 1],  # never fails
        [1, 1, 1, 0, 0, 0],  # fails at 1.5
        [1, 0, 1, 1, 1, 1],  # fails at 0.5; what it gets right again does not count
        [0, 1, 1, 1, 1, 1],  # wrong before anything is done to it
        [1, 1, 1, 0, 1, 0],  # fails at 1.5
    ]
)
POINTS = [np.inf, 1.5, 0.5, 0, 1.5]


def test_the_conventions_of_cns_bench() -> None:
    points = failure_points(TRAJECTORIES, SCALES)
    assert points.points.tolist() == POINTS
    assert (len(points), points.never, points.at_zero) == (5, 1, 1)
    assert points.histogram() == pytest.approx([0.2, 0.2, 0, 0.4, 0, 0])
    assert points.mean_margin() == pytest.approx(np.mean([3 - 3, 3 - 1.5, 3 - 0.5, 3 - 0, 3 - 1.5]))
    assert points.mean_of_failed() == pytest.approx((1.5 + 0.5 + 0 + 1.5) / 4)


def test_survival_is_the_share_that_has_not_failed_yet() -> None:
    points = failure_points(TRAJECTORIES, SCALES)
    assert points.survival() == pytest.approx([0.8, 0.6, 0.6, 0.2, 0.2, 0.2])
    assert points.survival([1.4, 1.5]) == pytest.approx([0.6, 0.2])
    low, high = points.survival_interval([1.5])
    assert (low, high) == (wilson([1], 5)[0], wilson([1], 5)[1])
    assert str(points.still_right(1.5)).startswith("still right at severity 1.5 20.0 % [")


def test_the_mean_is_the_area_under_the_survival_curve() -> None:
    points = failure_points(TRAJECTORIES, SCALES)
    assert points.mean() == pytest.approx((points.survival()[:-1] * np.diff(SCALES)).sum())
    assert points.mean(limit=3) == pytest.approx(3 - points.mean_margin())
    assert points.median() == 1.5
    assert failure_points([[1, 1], [1, 1], [1, 0]], [0, 1]).median() == np.inf


def test_samples_wrong_at_zero_can_be_left_out() -> None:
    kept = failure_points(TRAJECTORIES, SCALES).right_at_zero()
    assert (len(kept), kept.at_zero) == (4, 0)
    assert kept.survival()[0] == 1
    assert kept.histogram().sum() == pytest.approx(0.75)


@pytest.mark.parametrize("n", [1, 20, 71, 72, 74, 200])
@pytest.mark.parametrize("share", [0.05, 0.5, 0.9])
def test_quantiles_are_order_statistics(n: int, share: float) -> None:
    """The interval against a search over all ranks with SciPy's binomial."""
    points = np.random.default_rng(n).permutation(np.arange(1.0, n + 1))
    quantile = FailurePoints(points, np.arange(0.0, n + 1)).quantile(share)
    assert quantile.value == min(x for x in points if (points <= x).mean() >= share - 1e-12)
    low = [rank for rank in range(1, n + 1) if stats.binom.cdf(rank - 1, n, share) <= 0.025]
    high = [rank for rank in range(1, n + 1) if stats.binom.cdf(rank - 1, n, share) >= 0.975]
    assert (quantile.low, quantile.high) == (max(low, default=0), min(high, default=np.inf))
    assert (quantile.name, quantile.percent) == (f"{100 * share:g} % quantile of the failure points", False)
    assert (quantile.low == 0) == (n < 72 if share == 0.05 else not low)


def test_quantiles_beyond_the_range_are_infinite() -> None:
    points = failure_points(TRAJECTORIES, SCALES)
    assert points.quantile(0.5).value == points.median() == 1.5
    assert points.quantile(0.9).value == points.quantile(0.9).high == points.quantile(0.5).high == np.inf
    never = failure_points(np.ones((400, 3)), [0, 1, 2]).quantile(0.05)
    assert (never.value, never.low, never.high) == (np.inf, np.inf, np.inf)
    for share in (0, 1, 5):
        with pytest.raises(BrittleError, match=naming(0, 1, f"got {share}")):
            points.quantile(share)


@pytest.mark.parametrize("share", [0.05, 0.5])
@pytest.mark.parametrize("n", [30, 150])
def test_intervals_of_quantiles_hold_as_often_as_they_say(n: int, share: float) -> None:
    """Severities on a grid of halves, where several samples share a failure point."""
    rng, grid = np.random.default_rng(3), np.arange(0, 5.5, 0.5)
    truth, held = 0.5 * np.ceil(stats.gamma.ppf(share, 4) / 0.5 - 1e-12), 0
    for _ in range(400):
        points = 0.5 * np.ceil(rng.gamma(4, size=n) / 0.5)
        quantile = FailurePoints(np.where(points > 5, np.inf, points), grid).quantile(share)
        held += quantile.low <= truth <= quantile.high
    assert held >= stats.binom.ppf(0.001, 400, 0.95)


def test_severities_may_come_in_any_order() -> None:
    order = [3, 0, 5, 1, 4, 2]
    points = failure_points(TRAJECTORIES[:, order], np.array(SCALES)[order])
    assert points.points.tolist() == POINTS


@pytest.mark.parametrize(
    ("wrong", "values"),
    [
        (lambda: failure_points([[1, 0]], [0, 1, 2]), ("3 severities", "(1, 2)")),
        (lambda: failure_points([[1, 0]], [1, 1]), ("[1.0, 1.0]",)),
        (lambda: failure_points([[1, 0]], [-1, 1]), (0, "[-1.0, 1.0]")),
        (lambda: failure_points([[1, 0]], [0, 1]).survival([2]), ("severity 1", 2)),
        (lambda: failure_points([[1, 0]], [0, 5]).mean_margin(), ("severity 5", 3)),
        (lambda: failure_points([[0, 0]], [0, 5]).right_at_zero(), ("severity 0",)),
        (lambda: failure_points([[1, 1]], [0, 5]).mean_of_failed(), (1,)),
    ],
)
def test_what_cannot_be_known_is_said(wrong: Callable[[], object], values: tuple) -> None:
    with pytest.raises(BrittleError, match=naming(*values)):
        wrong()
