"""Slopes and correlations by hand: these run in a light install too."""

from collections.abc import Callable

import numpy as np
import pytest

from brittle import BrittleError, metrics
from tests.errors import naming


def test_a_perfect_line() -> None:
    fit = metrics.id_ood_slope([0.5, 0.6, 0.8], [0.3, 0.4, 0.6])
    assert (fit.slope, fit.intercept, fit.r_squared) == pytest.approx((1, -0.2, 1))
    assert str(fit).startswith("ID/OOD slope (linear) 1.000 [")


def test_rankings_that_agree_disagree_and_nearly_agree() -> None:
    best_first = np.arange(6.0)
    for correlation in (metrics.pearson, metrics.spearman, metrics.kendall):
        assert correlation(best_first, best_first).value == pytest.approx(1)
        assert correlation(best_first, -best_first).value == pytest.approx(-1)
    swapped = [0, 1, 2, 3, 5, 4]
    assert metrics.kendall(best_first, swapped).value == pytest.approx(13 / 15)
    assert metrics.spearman(best_first, swapped).value == pytest.approx(1 - 6 * 2 / (6 * 35))
    assert metrics.kendall(best_first, swapped).p == pytest.approx(2 * (1 + 5) / 720)
    assert metrics.spearman(best_first**3, swapped) == metrics.spearman(best_first, swapped)


def test_noc_reorders_the_models_of_imagenet_c() -> None:
    table = metrics.published_table("noc-table4")
    correlation = metrics.kendall(table.numbers("imagenet_noc_rank"), table.numbers("imagenet_c_rank"))
    assert correlation.value == pytest.approx(0.4)  # 7 of 10 pairs agree
    assert str(correlation) == "Kendall correlation 0.400 [-0.702, 0.938], p = 0.483, n = 5"


@pytest.mark.parametrize(
    ("wrong", "values"),
    [
        (lambda: metrics.pearson([1, 2], [1, 2]), ("(2,)",)),
        (lambda: metrics.spearman([1, 1, 1], [1, 2, 3]), (1,)),
        (lambda: metrics.kendall([1, 2, np.nan], [1, 2, 3]), ("pair 2", "nan", 3)),
        (lambda: metrics.id_ood_slope([0.5, 0.5, 0.5], [0.1, 0.2, 0.3]), ("x", "0.5")),
        (lambda: metrics.id_ood_slope([0.5, 0.6], [0.1, 0.2]), ("(2,)",)),
        (lambda: metrics.id_ood_slope([0.5, 0.6, 1], [0.1, 0.2, 0.3], axes="probit"), (0, 1, 'axes="linear"')),
        (
            lambda: metrics.id_ood_slope([0.5, 0.6, 1], [0.1, 0.2, 0.3], axes="log"),
            ("axes", "linear", "probit", "logit", "'log'"),
        ),
        (lambda: metrics.id_ood_slope([50, 60, 80], [10, 20, 30]), (0, 1, 50, 100)),
    ],
)
def test_what_has_no_answer_is_refused(wrong: Callable[[], object], values: tuple) -> None:
    with pytest.raises(BrittleError, match=naming(*values)):
        wrong()
