"""Figures to files."""

from __future__ import annotations

from pathlib import Path

from brittle._io import replacing
from brittle.report.page.markup import Html


def check_figure(path: Path) -> Path:
    """Raise unless a figure can be saved under this name."""
    if path.suffix.lower() != ".svg":
        raise ValueError(f"a figure is an .svg file, which every browser shows, got {str(path)!r}; end it in .svg")
    return path


def save_figure(figure: Html, path: str | Path) -> Path:
    """Write a figure whole or not at all, and make its folder if need be."""
    target = check_figure(Path(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    with replacing(target) as temporary:
        temporary.write_text(f"{figure}\n", encoding="utf-8")
    return target
