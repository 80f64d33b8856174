"""What people look at."""

from brittle.report.contact_sheet import contact_sheet

__all__ = ["contact_sheet"]
