"""What the predictions mean: pure functions on arrays, and the published numbers to compare with.

Accuracies and errors are fractions between 0 and 1; an `Estimate` prints them as percents.
"""

from brittle.metrics.accuracy import accuracy, accuracy_estimate, error
from brittle.metrics.balance import Balance, balance
from brittle.metrics.baseline import BASELINES, Baseline, baseline
from brittle.metrics.bootstrap import bootstrap, means, resampled_means
from brittle.metrics.correlation import Correlation, kendall, pearson, spearman
from brittle.metrics.corruption_error import (
    corruption_errors,
    errors_from_relative,
    mce,
    relative_corruption_errors,
    relative_mce,
    unnormalised_error,
)
from brittle.metrics.estimate import Estimate
from brittle.metrics.failure_points import FailurePoints, failure_points
from brittle.metrics.flips import flip_probability, flips, mfr
from brittle.metrics.nuisance_shift import mean_accuracy_drop, rce, shift_rce
from brittle.metrics.paired import McNemar, difference, mcnemar
from brittle.metrics.proportion import clopper_pearson, wilson
from brittle.metrics.published_scores import PublishedScore, published_scores
from brittle.metrics.rank_distance import mt5d, top5_distance, top5_distances, zipf_distance, zipf_distances
from brittle.metrics.robustness import accuracy_drop, residual_robustness, robustness_score
from brittle.metrics.simultaneous import differences, holm
from brittle.metrics.slope import LinearFit, id_ood_slope, linear_fit
from brittle.metrics.tables import Table, published, published_names

__all__ = [
    "BASELINES",
    "Balance",
    "Baseline",
    "Correlation",
    "Estimate",
    "FailurePoints",
    "LinearFit",
    "McNemar",
    "PublishedScore",
    "Table",
    "accuracy",
    "accuracy_drop",
    "accuracy_estimate",
    "balance",
    "baseline",
    "bootstrap",
    "clopper_pearson",
    "corruption_errors",
    "difference",
    "differences",
    "error",
    "errors_from_relative",
    "failure_points",
    "flip_probability",
    "flips",
    "holm",
    "id_ood_slope",
    "kendall",
    "linear_fit",
    "mce",
    "mcnemar",
    "mean_accuracy_drop",
    "means",
    "mfr",
    "mt5d",
    "pearson",
    "published",
    "published_names",
    "published_scores",
    "rce",
    "relative_corruption_errors",
    "relative_mce",
    "resampled_means",
    "residual_robustness",
    "robustness_score",
    "shift_rce",
    "spearman",
    "top5_distance",
    "top5_distances",
    "unnormalised_error",
    "wilson",
    "zipf_distance",
    "zipf_distances",
]
