"""Write the report of some results as one HTML file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from brittle._io import replacing
from brittle.evaluation.results import Results
from brittle.report.page.page import failure_page, page


def write_report(results: Results, path: str | Path, *, title: str | None = None, reference: str | None = None) -> Path:
    """Write one HTML file about how the models of these results break, and give its path.

    The file needs nothing else: no network, no scripts or fonts from elsewhere. The same results give the same bytes.
    Example pictures are drawn again from the clean images in the run's folder. `reference` divides the errors of mCE: a
    model's name, or what else `find_reference` takes; by default the published one where it is comparable.
    """
    return _write(path, lambda: report_html(results, title=title, reference=reference))


def write_failure_report(folders: Sequence[str | Path], path: str | Path, *, title: str | None = None) -> Path:
    """Write one HTML file about the failure points that `search_failure_points` kept in some folders."""
    return _write(path, lambda: str(failure_page(folders, title)))


def _write(path: str | Path, html_of: Callable[[], str]) -> Path:
    path = Path(path)
    if path.is_dir():
        raise IsADirectoryError(f"{str(path)!r} is a folder; name the HTML file to write, such as report.html in it")
    if not path.parent.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {str(path.parent.parent)!r} for {str(path)!r}; make it first")
    html = html_of()
    path.parent.mkdir(exist_ok=True)
    with replacing(path) as part:
        part.write_text(html, encoding="utf-8", newline="\n")
    return path


def report_html(results: Results, *, title: str | None = None, reference: str | None = None) -> str:
    """The same page as text."""
    return str(page(results, title, reference))
