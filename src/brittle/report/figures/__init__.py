"""Figures of benchmark design, as SVG files that need nothing else and read on light and on dark grounds."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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

LAZY = {
    "design": (
        "agreement_figure",
        "balance_figure",
        "calibration_figure",
        "category_figure",
        "correlation_figure",
        "coverage_figure",
        "overlap_figure",
        "sweep_figure",
    ),
    "distance": (
        "convergence_figure",
        "dissimilar_figure",
        "distance_figure",
        "leak_figure",
        "mixing_figure",
        "study_figure",
    ),
    "drawing": (
        "check_figure",
        "save_figure",
    ),
    "evaluation": (
        "accuracy_figure",
        "drop_figure",
        "failure_figure",
        "ranking_figure",
        "rce_figure",
        "slope_figure",
    ),
    "shifts": (
        "filter_figure",
        "loss_figure",
        "ooc_score_figure",
        "shift_curve_figure",
    ),
}
"""Each figure is loaded with the room whose numbers it shows, when it is first asked for."""

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


def __getattr__(name: str) -> Any:
    for module, names in LAZY.items():
        if name in names:
            return getattr(import_module(f"brittle.report.figures.{module}"), name)
    raise AttributeError(f"brittle.report.figures has no {name!r}; it has {', '.join(__all__)}")


def __dir__() -> list[str]:
    return sorted(__all__)
