"""What people look at."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from brittle.report.sheets import contact_sheet

if TYPE_CHECKING:
    from brittle.report.page import report_html, write_failure_report, write_report

__all__ = ["contact_sheet", "report_html", "write_failure_report", "write_report"]


def __getattr__(name: str) -> Any:
    """The report is loaded when it is asked for: it needs the results and what reads them."""
    if name in ("report_html", "write_failure_report", "write_report"):
        return getattr(import_module("brittle.report.page"), name)
    raise AttributeError(f"brittle.report has no {name!r}; it has {', '.join(__all__)}")
