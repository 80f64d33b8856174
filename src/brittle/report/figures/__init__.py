"""Figures of benchmark design, as SVG files that need nothing else and read on light and on dark grounds."""

from brittle.report.figures.agreement_figure import agreement_figure
from brittle.report.figures.balance_figure import balance_figure
from brittle.report.figures.calibration_figure import calibration_figure
from brittle.report.figures.category_figure import category_figure
from brittle.report.figures.correlation_figure import correlation_figure
from brittle.report.figures.coverage_figure import coverage_figure
from brittle.report.figures.overlap_figure import overlap_figure
from brittle.report.figures.save_figure import check_figure, save_figure
from brittle.report.figures.sweep_figure import sweep_figure

__all__ = [
    "agreement_figure",
    "balance_figure",
    "calibration_figure",
    "category_figure",
    "check_figure",
    "correlation_figure",
    "coverage_figure",
    "overlap_figure",
    "save_figure",
    "sweep_figure",
]
