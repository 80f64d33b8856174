"""What people look at."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from brittle.plots import FAMILY_COLOURS
from brittle.report.sheets import contact_sheet, slide_sheet

if TYPE_CHECKING:
    from brittle.report.data import same_images
    from brittle.report.examples import Pictures
    from brittle.report.nearest import nearest_rows, nearest_sheet
    from brittle.report.page import report_html, write_failure_report, write_report
    from brittle.report.strips import failure_sheet, flip_sheet, probe_sheet

LAZY = {
    "data": ("same_images",),
    "examples": ("Pictures",),
    "nearest": ("nearest_rows", "nearest_sheet"),
    "page": ("report_html", "write_failure_report", "write_report"),
    "strips": ("failure_sheet", "flip_sheet", "probe_sheet"),
}
"""What needs results and what reads them: loaded when it is first asked for."""

__all__ = [
    "FAMILY_COLOURS",
    "Pictures",
    "contact_sheet",
    "failure_sheet",
    "flip_sheet",
    "nearest_rows",
    "nearest_sheet",
    "probe_sheet",
    "report_html",
    "same_images",
    "slide_sheet",
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
