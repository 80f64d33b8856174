"""The page people share, its charts and templates, and sheets of pictures."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from brittle.report.page import report_html, write_failure_report, write_report
    from brittle.report.pictures import Pictures
    from brittle.report.sheets import (
        contact_sheet,
        corruption_sheet,
        failure_sheet,
        flip_sheet,
        nearest_sheet,
        sheet_rows,
        slide_sheet,
    )
    from brittle.report.theme import colours_css, page_templates, theme_css

LAZY = {
    "page": ("report_html", "write_failure_report", "write_report"),
    "pictures": ("Pictures",),
    "theme": ("colours_css", "page_templates", "theme_css"),
}
"""Each module is loaded when something in it is first asked for; what is in none of these is in `sheets`."""

__all__ = [
    "Pictures",
    "colours_css",
    "contact_sheet",
    "corruption_sheet",
    "failure_sheet",
    "flip_sheet",
    "nearest_sheet",
    "page_templates",
    "report_html",
    "sheet_rows",
    "slide_sheet",
    "theme_css",
    "write_failure_report",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        module = next((module for module, names in LAZY.items() if name in names), "sheets")
        return getattr(import_module(f"brittle.report.{module}"), name)
    raise AttributeError(f"brittle.report has no {name!r}; it has {', '.join(__all__)}")


def __dir__() -> list[str]:
    return sorted(__all__)
