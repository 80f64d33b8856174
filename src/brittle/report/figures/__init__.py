"""Figures of benchmark design, as SVG files that need nothing else and read on light and on dark grounds."""

from brittle.report.figures.design import (
    agreement_figure,
    balance_figure,
    calibration_figure,
    category_figure,
    correlation_figure,
    coverage_figure,
    overlap_figure,
    sweep_figure,
)
from brittle.report.figures.distance import (
    convergence_figure,
    dissimilar_figure,
    distance_figure,
    leak_figure,
    mixing_figure,
    study_figure,
)
from brittle.report.figures.drawing import check_figure, save_figure
from brittle.report.figures.evaluation import (
    accuracy_figure,
    drop_figure,
    failure_figure,
    ranking_figure,
    rce_figure,
    slope_figure,
)
from brittle.report.figures.shifts import filter_figure, loss_figure, ooc_score_figure, shift_curve_figure

__all__ = [
    "accuracy_figure",
    "agreement_figure",
    "balance_figure",
    "calibration_figure",
    "category_figure",
    "check_figure",
    "convergence_figure",
    "correlation_figure",
    "coverage_figure",
    "dissimilar_figure",
    "distance_figure",
    "drop_figure",
    "failure_figure",
    "filter_figure",
    "leak_figure",
    "loss_figure",
    "mixing_figure",
    "ooc_score_figure",
    "overlap_figure",
    "ranking_figure",
    "rce_figure",
    "save_figure",
    "shift_curve_figure",
    "slope_figure",
    "study_figure",
    "sweep_figure",
]
