"""Build a better test: which corruptions overlap, which set measures everything once, which set predicts the world."""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from brittle.design.agreement import Agreement, agreement
from brittle.design.balanced import balanced, possible_benchmarks
from brittle.design.calibrate import Calibration, calibrate, calibrated
from brittle.design.categories import Categories, Step
from brittle.design.clustering import categories, hierarchical
from brittle.design.correlate import (
    BenchmarkCorrelations,
    benchmark_drops,
    correlate,
    correlation_rows,
    correlation_table,
)
from brittle.design.coverage import Coverage, coverage
from brittle.design.drops import Drops, drops_of, read_drops, shift_drops
from brittle.design.imbalance import by_imbalance, imbalance, representation
from brittle.design.least_overlapping import least_overlapping, same_category_overlaps
from brittle.design.match_error import error_spread, error_target, match_error
from brittle.design.matrix_agreement import MatrixAgreement, compare_overlaps
from brittle.design.non_overlapping import NonOverlapping, non_overlapping, sweep
from brittle.design.overlap_intervals import overlap_with_intervals
from brittle.design.overlap_matrix import OverlapMatrix
from brittle.design.overlap_score import VanishingGain, overlap_matrix
from brittle.design.published_categories import published_categories
from brittle.design.recipes import benchmark_of, members_in
from brittle.design.relative_errors import overlap_from_relative_errors, published_overlap
from brittle.design.single_scores import (
    Reference,
    SingleScores,
    alexnet_reference,
    fits_alexnet,
    published_single_scores,
    run_reference,
    single_scores,
)
from brittle.design.substitute import NoSubstitution, substitute, unbalanced

if TYPE_CHECKING:
    from brittle.design.measure_overlap import accuracy_table, correct_cube, measure_overlap
    from brittle.design.overlap_plan import Plan

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


class _Room(ModuleType):
    """Loading the module `measure_overlap` does not hide the function of the same name."""

    def __setattr__(self, name: str, value: Any) -> None:
        mine = name == "measure_overlap" and isinstance(value, ModuleType)
        super().__setattr__(name, value.measure_overlap if mine else value)


sys.modules[__name__].__class__ = _Room


def __getattr__(name: str) -> Any:
    if name in LAZY:
        room = "overlap_plan" if name == "Plan" else "measure_overlap"
        return getattr(import_module(f"brittle.design.{room}"), name)
    raise AttributeError(f"brittle.design has no {name!r}; see dir(brittle.design)")
