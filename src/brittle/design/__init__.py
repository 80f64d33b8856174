"""Build a better test: which corruptions overlap, which set measures everything once, which set predicts the world."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from brittle.design.calibration import Calibration, calibrate, calibrated, error_spread, error_target, match_error
from brittle.design.cliques import NonOverlapping, non_overlapping, sweep
from brittle.design.clustering import (
    Agreement,
    Categories,
    Step,
    agreement,
    categories,
    hierarchical,
    published_categories,
)
from brittle.design.correlation import (
    BenchmarkCorrelations,
    Drops,
    benchmark_drops,
    correlate,
    correlation_rows,
    correlation_table,
    drops_of,
    read_drops,
    shift_drops,
)
from brittle.design.covering import (
    Coverage,
    Reference,
    SingleScores,
    alexnet_reference,
    benchmark_of,
    coverage,
    fits_alexnet,
    members_in,
    published_single_scores,
    run_reference,
    single_scores,
)
from brittle.design.matrix import MatrixAgreement, OverlapMatrix, compare_overlaps
from brittle.design.overlap import (
    VanishingGain,
    overlap_from_relative_errors,
    overlap_matrix,
    overlap_with_intervals,
    published_overlap,
)
from brittle.design.sampling import (
    NoSubstitution,
    balanced,
    by_imbalance,
    imbalance,
    least_overlapping,
    possible_benchmarks,
    representation,
    same_category_overlaps,
    substitute,
    unbalanced,
)

if TYPE_CHECKING:
    from brittle.design.overlap_training import Plan, accuracy_table, correct_cube, measure_overlap

LAZY = ("Plan", "accuracy_table", "correct_cube", "measure_overlap")
"""What trains networks, and so needs torch: loaded when it is first asked for."""

__all__ = [
    "Agreement",
    "BenchmarkCorrelations",
    "Calibration",
    "Categories",
    "Coverage",
    "Drops",
    "MatrixAgreement",
    "NoSubstitution",
    "NonOverlapping",
    "OverlapMatrix",
    "Plan",
    "Reference",
    "SingleScores",
    "Step",
    "VanishingGain",
    "accuracy_table",
    "agreement",
    "alexnet_reference",
    "balanced",
    "benchmark_drops",
    "benchmark_of",
    "by_imbalance",
    "calibrate",
    "calibrated",
    "categories",
    "compare_overlaps",
    "correct_cube",
    "correlate",
    "correlation_rows",
    "correlation_table",
    "coverage",
    "drops_of",
    "error_spread",
    "error_target",
    "fits_alexnet",
    "hierarchical",
    "imbalance",
    "least_overlapping",
    "match_error",
    "measure_overlap",
    "members_in",
    "non_overlapping",
    "overlap_from_relative_errors",
    "overlap_matrix",
    "overlap_with_intervals",
    "possible_benchmarks",
    "published_categories",
    "published_overlap",
    "published_single_scores",
    "read_drops",
    "representation",
    "run_reference",
    "same_category_overlaps",
    "shift_drops",
    "single_scores",
    "substitute",
    "sweep",
    "unbalanced",
]


def __getattr__(name: str) -> Any:
    if name in LAZY:
        return getattr(import_module("brittle.design.overlap_training"), name)
    raise AttributeError(f"brittle.design has no {name!r}; see dir(brittle.design)")


def __dir__() -> list[str]:
    return sorted(__all__)
