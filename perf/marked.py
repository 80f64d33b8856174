"""Sections of the docs that scripts write between two comments."""

from __future__ import annotations

import re
from pathlib import Path


def _marks(name: str) -> tuple[str, str]:
    return f"<!-- {name} -->", f"<!-- end of {name} -->"


def section(page: Path, name: str) -> str:
    """The section with its marks; empty if the page has none."""
    start, end = map(re.escape, _marks(name))
    found = re.search(f"{start}.*{end}", page.read_text(encoding="utf-8"), re.DOTALL) if page.is_file() else None
    return found.group() if found else ""


def write_section(page: Path, name: str, lines: list[str]) -> None:
    """Replace the section, or add it at the end of the page."""
    start, end = _marks(name)
    text, old, new = page.read_text(encoding="utf-8"), section(page, name), "\n".join([start, "", *lines, "", end])
    page.write_text(text.replace(old, new) if old else f"{text.rstrip()}\n\n{new}\n", encoding="utf-8")
