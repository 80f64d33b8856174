"""Figures of benchmark design, as SVG files that need nothing else and read on light and on dark grounds."""

from brittle.report.figures.accuracy_figure import accuracy_figure
from brittle.report.figures.agreement_figure import agreement_figure
from brittle.report.figures.balance_figure import balance_figure
from brittle.report.figures.calibration_figure import calibration_figure
from brittle.report.figures.category_figure import category_figure
from brittle.report.figures.convergence_figure import convergence_figure
from brittle.report.figures.correlation_figure import correlation_figure
from brittle.report.figures.coverage_figure import coverage_figure
from brittle.report.figures.dissimilar_figure import dissimilar_figure
from brittle.report.figures.distance_figure import distance_figure
from brittle.report.figures.drop_figure import drop_figure
from brittle.report.figures.failure_figure import failure_figure
from brittle.report.figures.filter_figure import filter_figure
from brittle.report.figures.leak_figure import leak_figure
from brittle.report.figures.loss_figure import loss_figure
from brittle.report.figures.mixing_figure import mixing_figure
from brittle.report.figures.ooc_score_figure import ooc_score_figure
from brittle.report.figures.overlap_figure import overlap_figure
from brittle.report.figures.ranking_figure import ranking_figure
from brittle.report.figures.rce_figure import rce_figure
from brittle.report.figures.save_figure import check_figure, save_figure
from brittle.report.figures.shift_curve_figure import shift_curve_figure
from brittle.report.figures.slope_figure import slope_figure
from brittle.report.figures.study_figure import study_figure
from brittle.report.figures.sweep_figure import sweep_figure

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
