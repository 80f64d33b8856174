"""Benchmark design: overlaps of corruptions, non-overlapping and balanced sets, correlation with natural shifts."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from brittle.design.calibration import (
    Calibration,
    calibrate,
    calibrate_all,
    calibrated,
    error_spread,
    error_target,
    match_error,
)
from brittle.design.choices import (
    benchmark_groups,
    benchmark_title,
    built_benchmark,
    folder_balance,
    named_members,
    paired_drops,
    read_benchmarks,
    without_masked,
)
from brittle.design.cliques import NonOverlapping, non_overlapping, sweep
from brittle.design.clustering import (
    Agreement,
    Categories,
    Step,
    agreement,
    categories,
    cluster_corruptions,
    hierarchical,
    load_categories,
    published_categories,
)
from brittle.design.correlation import (
    BenchmarkCorrelations,
    Drops,
    GroupMeans,
    benchmark_drops,
    correlate,
    correlation_rows,
    correlation_table,
    drops_of,
    flip_rates,
    group_means,
    load_drops,
    load_shift_drops,
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
from brittle.design.matrix import MatrixAgreement, OverlapMatrix, compare_overlaps, shared_overlaps
from brittle.design.overlap import (
    VanishingGain,
    is_overlap,
    load_candidates,
    load_overlap,
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
    from brittle.design.dissimilarity import Dissimilar, check_search, dissimilar, dissimilar_benchmark
    from brittle.design.overlap_training import accuracy_table, correct_cube, correct_cubes, measure_overlap
    from brittle.design.plans import Plan, training_plan
    from brittle.design.scanning import repeated_images, scan_runs
    from brittle.design.studies import (
        DistanceStudy,
        distance_study,
        evaluate_schemes,
        mixing_points,
        mixing_study,
        mixture_of,
        scheme_correlations,
        scheme_features,
        scheme_models,
        scheme_points,
    )

LAZY = {
    "dissimilarity": ("Dissimilar", "check_search", "dissimilar", "dissimilar_benchmark"),
    "overlap_training": ("accuracy_table", "correct_cube", "correct_cubes", "measure_overlap"),
    "plans": ("Plan", "training_plan"),
    "scanning": ("repeated_images", "scan_runs"),
    "studies": (
        "DistanceStudy",
        "distance_study",
        "mixing_points",
        "mixing_study",
        "mixture_of",
        "evaluate_schemes",
        "scheme_correlations",
        "scheme_features",
        "scheme_models",
        "scheme_points",
    ),
}
"""Names that need torch, by module: imported on first use."""

__all__ = [
    "Agreement",
    "BenchmarkCorrelations",
    "Calibration",
    "Categories",
    "Coverage",
    "Dissimilar",
    "DistanceStudy",
    "Drops",
    "GroupMeans",
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
    "benchmark_groups",
    "benchmark_of",
    "benchmark_title",
    "built_benchmark",
    "by_imbalance",
    "calibrate",
    "calibrate_all",
    "calibrated",
    "categories",
    "check_search",
    "cluster_corruptions",
    "compare_overlaps",
    "correct_cube",
    "correct_cubes",
    "correlate",
    "correlation_rows",
    "correlation_table",
    "coverage",
    "dissimilar",
    "dissimilar_benchmark",
    "distance_study",
    "drops_of",
    "error_spread",
    "error_target",
    "evaluate_schemes",
    "fits_alexnet",
    "flip_rates",
    "folder_balance",
    "group_means",
    "hierarchical",
    "imbalance",
    "is_overlap",
    "least_overlapping",
    "load_candidates",
    "load_categories",
    "load_drops",
    "load_overlap",
    "load_shift_drops",
    "match_error",
    "measure_overlap",
    "members_in",
    "mixing_points",
    "mixing_study",
    "mixture_of",
    "named_members",
    "non_overlapping",
    "overlap_from_relative_errors",
    "overlap_matrix",
    "overlap_with_intervals",
    "paired_drops",
    "possible_benchmarks",
    "published_categories",
    "published_overlap",
    "published_single_scores",
    "read_benchmarks",
    "read_drops",
    "repeated_images",
    "representation",
    "run_reference",
    "same_category_overlaps",
    "scan_runs",
    "scheme_correlations",
    "scheme_features",
    "scheme_models",
    "scheme_points",
    "shared_overlaps",
    "shift_drops",
    "single_scores",
    "substitute",
    "sweep",
    "training_plan",
    "unbalanced",
    "without_masked",
]


def __getattr__(name: str) -> Any:
    for module, names in LAZY.items():
        if name in names:
            return getattr(import_module(f"brittle.design.{module}"), name)
    raise AttributeError(f"brittle.design has no {name!r}; it has {', '.join(__all__)}")


def __dir__() -> list[str]:
    return sorted(__all__)
