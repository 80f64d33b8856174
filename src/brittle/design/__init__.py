"""Build a better test: which corruptions overlap, which set measures everything once, which set predicts the world."""

from brittle.design.agreement import Agreement, agreement
from brittle.design.balanced import balanced, possible_benchmarks
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
from brittle.design.non_overlapping import NonOverlapping, non_overlapping, sweep
from brittle.design.overlap_intervals import overlap_with_intervals
from brittle.design.overlap_matrix import OverlapMatrix
from brittle.design.overlap_score import VanishingGain, overlap_matrix
from brittle.design.relative_errors import overlap_from_relative_errors, published_overlap
from brittle.design.substitute import NoSubstitution, substitute, unbalanced

__all__ = [
    "Agreement",
    "BenchmarkCorrelations",
    "Categories",
    "Coverage",
    "Drops",
    "NoSubstitution",
    "NonOverlapping",
    "OverlapMatrix",
    "Step",
    "VanishingGain",
    "agreement",
    "balanced",
    "benchmark_drops",
    "by_imbalance",
    "categories",
    "correlate",
    "correlation_rows",
    "correlation_table",
    "coverage",
    "drops_of",
    "hierarchical",
    "imbalance",
    "least_overlapping",
    "non_overlapping",
    "overlap_from_relative_errors",
    "overlap_matrix",
    "overlap_with_intervals",
    "possible_benchmarks",
    "published_overlap",
    "read_drops",
    "representation",
    "same_category_overlaps",
    "shift_drops",
    "substitute",
    "sweep",
    "unbalanced",
]
