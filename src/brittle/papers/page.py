"""The page of a folder of experiments: what was found, ours beside the published numbers, as HTML and as Markdown."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brittle._io import atomic_write
from brittle.papers.experiments import PAPERS, Finding, Rows, list_experiments, read_findings

if TYPE_CHECKING:
    import jinja2

HERE = Path(__file__).parent
MARKDOWN_ROWS = 12
"""A longer table is cut in the Markdown, and complete in its CSV."""

PAGE_WIDTH, FULL_WIDTH = 900, 504
"""The width of a figure over both columns of a paper: in pixels on the page, and in points."""

LONG = 30
"""A table with more rows is folded on the page."""


def write_page(folder: str | Path) -> Path:
    """Write `index.html` and `findings.md` over all finished experiments of a folder, and return the first."""
    folder = Path(folder)
    found = read_findings(folder)
    for name, text in (("index.html", page_html(folder, found)), ("findings.md", findings_markdown(found))):
        with atomic_write(folder / name) as temporary:
            temporary.write_text(text, encoding="utf-8")
    return folder / "index.html"


def page_html(folder: Path, found: Sequence[Finding]) -> str:
    """The page as text; figures are inside it, so that it can be sent alone."""
    papers = []
    for paper, title in PAPERS.items():
        mine = [one for one in found if one.paper == paper]
        if mine:
            names = {one.name for one in mine}
            left = [one.name for one in list_experiments(paper) if one.name not in names]
            parts = [_part(folder, one) for one in mine]
            papers.append({"name": paper, "title": title, "findings": parts, "left": left})
    count = f"{len(found)} of {len(list_experiments())}"
    return _template().render(title="The papers, repeated", papers=papers, count=count, long=LONG) + "\n"


@cache
def _template() -> jinja2.Template:
    """Compiled once: an overlay of the report's templates would compile those that it extends for each page again."""
    from brittle.report import page_templates

    return page_templates().from_string((HERE / "templates" / "findings.html").read_text("utf-8"))


def findings_markdown(found: Iterable[Finding]) -> str:
    """What was found as Markdown, for a README, an issue or the documentation."""
    blocks = []
    paper = ""
    for one in found:
        if one.paper != paper:
            paper = one.paper
            blocks.append(f"## {paper}: {PAPERS[paper]}")
        blocks += [f"### {one.name}: {one.title}", f"*The paper:* {one.claim}", f"*Here:* {one.verdict}"]
        for name, rows in one.tables.items():
            shown = rows[:MARKDOWN_ROWS]
            cut = "" if len(rows) == len(shown) else f"\n\n{len(shown)} of {len(rows)} rows; all are in `{name}.csv`."
            blocks.append(_markdown_table(shown) + cut)
        if one.agreement:
            blocks.append("Agreement: " + "; ".join(_agreement(each) for each in one.agreement) + ".")
        if one.differs:
            blocks.append("What differs: " + "; ".join(one.differs) + ".")
        blocks.append(f"`brittle reproduce {one.paper} {one.name} --scale {one.scale}`, {_time(one.seconds)}.")
    return "\n\n".join(blocks) + "\n"


def _markdown_table(rows: Rows) -> str:
    columns = _columns(rows)
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    lines += [
        "| " + " | ".join(_text(row.get(column)).replace("|", "\\|") for column in columns) + " |" for row in rows
    ]
    return "\n".join(lines)


@dataclass(frozen=True)
class Cell:
    """A cell of a table: its text, the number it is sorted by, and whether it is the paper's."""

    text: str
    value: float | None
    published: bool


def _part(folder: Path, one: Finding) -> dict[str, Any]:
    place = folder / one.paper / one.name
    tables = []
    for name, rows in one.tables.items():
        columns = _columns(rows)
        heads = [
            (title, column.startswith("published"), _is_numeric(rows, column))
            for title, column in zip(_titles(columns), columns, strict=True)
        ]
        cells = [[_cell(row.get(column), column) for column in columns] for row in rows]
        tables.append({"name": name, "heads": heads, "rows": cells, "file": f"{one.paper}/{one.name}/{name}.csv"})
    return {
        "finding": one,
        "tables": tables,
        "figures": [(Path(name).stem, _data_uri(place / name), _page_width(place / name)) for name in one.figures],
        "agreement": [_agreement(each) for each in one.agreement],
        "time": _time(one.seconds),
    }


def _page_width(file: Path) -> int:
    """The width of a figure on the page in pixels, such that letters are equally large in all drawn ones."""
    drawn = re.search(rb'<svg[^>]*? width="([0-9.]+)pt"', file.read_bytes()[:2000])
    return PAGE_WIDTH if drawn is None else min(PAGE_WIDTH, round(PAGE_WIDTH * float(drawn[1]) / FULL_WIDTH))


def _cell(value: Any, column: str) -> Cell:
    number = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
    return Cell(_text(value), number, column.startswith("published"))


def _columns(rows: Rows) -> list[str]:
    return list(dict.fromkeys(column for row in rows for column in row))


def _titles(columns: Sequence[str]) -> list[str]:
    """The heads of columns; where all but the first are published, the table's name says so and they do not."""
    rest = columns[1:]
    alike = bool(rest) and all(column.startswith("published ") for column in rest)
    return [columns[0], *(column.removeprefix("published ") for column in rest)] if alike else list(columns)


def _is_numeric(rows: Rows, column: str) -> bool:
    return all(
        isinstance(row.get(column), int | float | None) and not isinstance(row.get(column), bool) for row in rows
    )


def _text(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, float):
        value = round(value, 12)
        whole = value == round(value)
        text = f"{value:.0f}" if whole or abs(value) >= 1000 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.3g}"
        return text.replace("-", "−")
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def _agreement(estimate: Mapping[str, Any]) -> str:
    name, value, low, high = (estimate[key] for key in ("name", "value", "low", "high"))
    scale, unit = (100, " %") if estimate["percent"] else (1, "")
    text = f"{name} {scale * value:.3g}{unit}"
    if low is not None and high is not None:
        text += f" [{scale * low:.3g}, {scale * high:.3g}]"
    return text + (f", n = {estimate['n']}" if estimate["n"] else "")


def _time(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 100 else f"{seconds / 60:.0f} min"


def _data_uri(path: Path) -> str:
    if not path.is_file():
        return ""
    kind = "image/png" if path.suffix == ".png" else "image/svg+xml"
    return f"data:{kind};base64,{b64encode(path.read_bytes()).decode()}"
