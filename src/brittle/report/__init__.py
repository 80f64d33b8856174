"""The page people share, its charts and templates, and sheets of pictures."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from brittle.plots import FAMILY_COLOURS

if TYPE_CHECKING:
    from brittle.evaluation import same_images
    from brittle.report.charts import Caption, HeatRow, Series, heat_map, reliability_diagram, severity_curve
    from brittle.report.page import report_html, write_failure_report, write_report
    from brittle.report.pictures import Pictures
    from brittle.report.sheets import (
        ProbedModel,
        contact_sheet,
        corruption_sheet,
        failure_sheet,
        flip_sheet,
        nearest_rows,
        nearest_sheet,
        probe_sheet,
        sheet_rows,
        slide_sheet,
    )
    from brittle.report.theme import ModelStyle, ModelStyles, colours_css, page_templates, theme_css

LAZY = {
    "charts": ("Caption", "HeatRow", "Series", "heat_map", "reliability_diagram", "severity_curve"),
    "data": ("same_images",),
    "page": ("report_html", "write_failure_report", "write_report"),
    "pictures": ("Pictures",),
    "sheets": (
        *("ProbedModel", "contact_sheet", "corruption_sheet", "failure_sheet", "flip_sheet"),
        *("nearest_rows", "nearest_sheet", "probe_sheet", "sheet_rows", "slide_sheet"),
    ),
    "theme": ("ModelStyle", "ModelStyles", "colours_css", "page_templates", "theme_css"),
}
"""Each module is loaded when something in it is first asked for."""

__all__ = [
    "FAMILY_COLOURS",
    "Caption",
    "HeatRow",
    "ModelStyle",
    "ModelStyles",
    "Pictures",
    "ProbedModel",
    "Series",
    "colours_css",
    "contact_sheet",
    "corruption_sheet",
    "failure_sheet",
    "flip_sheet",
    "heat_map",
    "nearest_rows",
    "nearest_sheet",
    "page_templates",
    "probe_sheet",
    "reliability_diagram",
    "report_html",
    "same_images",
    "severity_curve",
    "sheet_rows",
    "slide_sheet",
    "theme_css",
    "write_failure_report",
    "write_report",
]


def __getattr__(name: str) -> Any:
    for module, names in LAZY.items():
        if name in names:
            return getattr(import_module(f"brittle.report.{module}"), name)
    raise AttributeError(f"brittle.report has no {name!r}; it has {', '.join(__all__)}")


def __dir__() -> list[str]:
    return sorted(__all__)
