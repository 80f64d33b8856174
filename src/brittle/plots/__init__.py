"""Figures for papers and notebooks, and the colours that they share with the report.

Every figure is one function. Those with one panel take `ax=` and return the Axes; those with more take `figure=`, a
Figure or SubFigure of matplotlib, and return an array of Axes. Without either they make a figure in the style of
`figure_style`, which shows itself in a notebook; `save_figure` writes it as PDF, PNG or SVG.
"""

# ruff: noqa: F403, F405
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from brittle.plots.design import *
    from brittle.plots.distance import *
    from brittle.plots.evaluation import *
    from brittle.plots.shifts import *
    from brittle.plots.style import *

_MODULES = {"STRONG": "distance"}
_FIGURES = {
    "design": "agreement balance calibration categories correlation coverage overlap sweep",
    "distance": "convergence dissimilar distance leak mixing study",
    "evaluation": "accuracy by_corruption failure_points heat_map reliability risk_coverage stream",
    "shifts": "drop filter first_failures loss ooc_scores ranks rce roc shift_curves slopes",
}
"""Figures are loaded with the room whose numbers they show, when they are first asked for; all else is in `style`."""

_MODULES |= {f"plot_{name}": module for module, names in _FIGURES.items() for name in names.split()}

# fmt: off
__all__ = [
    "DARK", "FAMILY_COLOURS", "HEAT", "LIGHT", "MODEL_COLOURS", "SHIFT", "STEPS", "STRONG", "check_figure",
    "colour_scale", "contrast_ratio", "figure_style", "mix_colours", "on_dark", "on_light", "plot_accuracy",
    "plot_agreement", "plot_balance", "plot_by_corruption", "plot_calibration", "plot_categories", "plot_convergence",
    "plot_correlation", "plot_coverage", "plot_dissimilar", "plot_distance", "plot_drop", "plot_failure_points",
    "plot_filter", "plot_first_failures", "plot_heat_map", "plot_leak", "plot_loss", "plot_mixing", "plot_ooc_scores",
    "plot_overlap", "plot_ranks", "plot_rce", "plot_reliability", "plot_risk_coverage", "plot_roc", "plot_shift_curves",
    "plot_slopes", "plot_stream", "plot_study", "plot_sweep", "ramp_step", "readable_on", "save_figure", "short_names",
]
# fmt: on


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(import_module(f"brittle.plots.{_MODULES.get(name, 'style')}"), name)
    raise AttributeError(f"brittle.plots has no {name!r}; it has {', '.join(__all__)}", name=name)


def __dir__() -> list[str]:
    return sorted(__all__)
