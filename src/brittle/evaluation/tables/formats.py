"""One table of scores, and how it is written: for a terminal, a notebook, CSV, Markdown and LaTeX."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf, isinf
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Any, Literal, get_args

import polars as pl

from brittle._errors import BrittleError, did_you_mean
from brittle._html import html_block, html_number, html_table
from brittle._optional import require
from brittle.evaluation.tables.latex import UNKNOWN, escape_latex
from brittle.metrics import Estimate

if TYPE_CHECKING:
    from rich.console import RenderableType

Value = Estimate | str | float | int | None
Better = Literal["lower", "higher"]
Format = Literal["table", "csv", "markdown", "latex"]
FORMATS: tuple[Format, ...] = get_args(Format)
SUFFIXES: dict[str, Format] = {".txt": "table", ".csv": "csv", ".md": "markdown", ".tex": "latex"}
PAGE = 84
"""Characters of \\footnotesize that fit beside each other on a page of LaTeX's article; wider tables are cut."""


NARROW = 9
"""Names of columns that are longer than this, and than what is below, are wrapped on a terminal."""
LONG = 24
"""Words longer than this are set in lines in LaTeX where a table is too wide."""


@dataclass(frozen=True)
class Column:
    """The name of a column, and whether its best value is the lowest or the highest, if it has one.

    A `signed` column prints a plus too, and numbers with so many `digits` after the point, if that is given. A
    `data_only` column is for programs: it is in CSV and in DataFrames, and is not printed.
    """

    name: str
    better: Better | None = None
    signed: bool = False
    digits: int | None = None
    data_only: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class ScoreTable:
    """A table of scores that a paper can print: numbers, estimates with intervals, names, and None where nothing is.

    `name` is for files and labels, `title` says what the numbers are, `intervals` what the intervals are, and `notes`
    what else a reader must know. The best value of each column is in bold, or of each row where `best_in` says so: then
    the columns that have a best are compared.
    """

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]
    intervals: str = ""
    notes: tuple[str, ...] = ()
    best_in: Literal["column", "row"] = "column"

    def __post_init__(self) -> None:
        names = [column.name for column in self.columns]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise BrittleError(f"the table {self.name!r} has two columns {twice[0]!r}; column names must be unique")
        for row in self.rows:
            if len(row) != len(names):
                raise BrittleError(f"the table {self.name!r} has {len(names)} columns, and a row of {len(row)}: {row}")

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, name: str) -> list[Value]:
        """A column by its name."""
        names = [column.name for column in self.columns]
        if name not in names:
            raise BrittleError(f"the table {self.name!r} has no column {name!r}; {did_you_mean(name, names)}")
        return [row[names.index(name)] for row in self.rows]

    def __repr__(self) -> str:
        return format_table(self, "table", width=get_terminal_size((80, 24)).columns).rstrip("\n")

    def _repr_html_(self) -> str:
        """The table in a notebook."""
        table = _printed(self)
        best = _best(table)
        rows = [
            [
                html_number(text, interval, bold=(i, j) in best)
                for j, (text, interval) in enumerate(map(_shown, row, table.columns))
            ]
            for i, row in enumerate(table.rows)
        ]
        body = html_table([column.name for column in table.columns], rows, left=_text_columns(table))
        note = _below(table, intervals=True, bold_best=True)
        return html_block(html_number(table.title, bold=True), body, note=note)

    def to_polars(self, *, intervals: bool = True) -> pl.DataFrame:
        """The values in full, fractions as fractions; the ends of intervals are columns `…_low` and `…_high`."""
        series: dict[str, pl.Series] = {}
        for place, column in enumerate(self.columns):
            values = [row[place] for row in self.rows]
            parts = {column.name: [_plain(value) for value in values]}
            if intervals and any(isinstance(value, Estimate) and value.low is not None for value in values):
                for end in ("low", "high"):
                    parts[f"{column.name}_{end}"] = [getattr(value, end, None) for value in values]
            for name, part in parts.items():
                if name in series:
                    raise BrittleError(f"the table {self.name!r} has two columns {name!r}; write it without intervals")
                series[name] = _series(name, part)
        return pl.DataFrame(series)

    def to_pandas(self, *, intervals: bool = True) -> Any:
        """The same as a DataFrame of pandas."""
        return to_pandas(self.to_polars(intervals=intervals))


def to_pandas(frame: pl.DataFrame) -> Any:
    """A DataFrame of pandas; pyarrow, which Polars would use for it, is not needed."""
    return require("pandas", "pandas").DataFrame(frame.to_dict(as_series=False))


def _series(name: str, values: Sequence[Any]) -> pl.Series:
    """Numbers as numbers; words, and numbers among words, as words."""
    known = [value for value in values if value is not None]
    if any(isinstance(value, str) for value in known):
        texts = [value if value is None or isinstance(value, str) else repr(value) for value in values]
        return pl.Series(name, texts, dtype=pl.String)
    integers = bool(known) and all(isinstance(value, int) for value in known)
    return pl.Series(name, values, dtype=pl.Int64 if integers else pl.Float64, strict=False)


def format_table(
    table: ScoreTable,
    form: Format = "table",
    *,
    intervals: bool = True,
    bold_best: bool = True,
    width: int | None = None,
) -> str:
    """A table as text: "table" for a terminal, "csv", "markdown" or "latex" (with the package booktabs).

    CSV has every digit; the others round to what is usual, fractions to percents. `width` is that of the terminal, or
    how many characters fit on the page for LaTeX: what is wider is continued below.
    """
    if form == "csv":
        return table.to_polars(intervals=intervals).write_csv()
    if form == "markdown":
        return _markdown(_printed(table), intervals, bold_best)
    if form == "latex":
        return _latex(_printed(table), intervals, bold_best, width or PAGE)
    if form != "table":
        raise BrittleError(f"there is no format {form!r}; {did_you_mean(str(form), FORMATS)}")
    from rich.console import Console

    screen = Console(width=width or 80, highlight=False, emoji=False, color_system=None, force_jupyter=False)
    with screen.capture() as captured:
        for part in table_parts(table, width=width or 80, intervals=intervals, bold_best=bold_best):
            screen.print(part)
    return "\n".join(line.rstrip() for line in captured.get().splitlines()) + "\n"


def guess_format(path: str | Path) -> Format:
    """The format that the suffix of a file name stands for."""
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise BrittleError(
            f"{str(path)!r} does not say which format it is; name it {', '.join(SUFFIXES)}, or give `format` "
            f"({', '.join(FORMATS)})"
        )
    return SUFFIXES[suffix]


def _printed(table: ScoreTable) -> ScoreTable:
    """The table without the columns that are for programs only."""
    kept = [place for place, column in enumerate(table.columns) if not column.data_only]
    rows = tuple(tuple(row[place] for place in kept) for row in table.rows)
    return replace(table, columns=tuple(table.columns[place] for place in kept), rows=rows)


def _is_number(value: Value) -> bool:
    return isinstance(value, Estimate | int | float) or value is None


def _plain(value: Value) -> str | float | int | None:
    return value.value if isinstance(value, Estimate) else value


def _number(value: float, score: Estimate, column: Column) -> str:
    """A value of an estimate as it is printed."""
    plus = "+" if column.signed else ""
    if isinf(value):
        return "∞" if value > 0 else "-∞"
    digits = (1 if score.percent else 3) if column.digits is None else column.digits
    text = f"{100 * value if score.percent else value:{plus}.{digits}f}"
    return text.replace("-0.0", "0.0") if float(text) == 0 else text


def _shown(value: Value, column: Column) -> tuple[str, str]:
    """What is printed of a value, and of its interval."""
    if value is None:
        return "–", ""
    if isinstance(value, Estimate):
        interval = ""
        if value.low is not None and value.high is not None and value.low < inf:
            low, high = (_number(end, value, column) for end in (value.low, value.high))
            interval = f"[{low}, {high}]"
        return _number(value.value, value, column), interval
    if isinstance(value, float):
        return f"{value:g}" if column.digits is None else f"{value:.{column.digits}f}", ""
    return str(value), ""


def _best(table: ScoreTable) -> set[tuple[int, int]]:
    """Where the best values are, ties as they are printed counting as equal; there is none among fewer than two."""
    scored = [place for place, column in enumerate(table.columns) if column.better]
    if table.best_in == "column":
        lines = [[(i, j) for i in range(len(table.rows))] for j in scored]
    else:
        lines = [[(i, j) for j in scored] for i in range(len(table.rows))]
    best: set[tuple[int, int]] = set()
    for line in lines:
        known = {}
        for i, j in line:
            value = table.rows[i][j]
            if isinstance(value, Estimate | int | float):
                known[i, j] = float(value)
        if len(known) > 1:
            lower = table.columns[next(iter(known))[1]].better == "lower"
            i, j = (min if lower else max)(known, key=lambda place: known[place])
            winner = _shown(table.rows[i][j], table.columns[j])[0]
            best |= {(i, j) for i, j in known if _shown(table.rows[i][j], table.columns[j])[0] == winner}
    return best


def _caption(table: ScoreTable, *, intervals: bool, bold_best: bool) -> str:
    """What a reader of a paper must know of a table, in full sentences."""
    return f"{table.title.rstrip('.')}. {_below(table, intervals=intervals, bold_best=bold_best)}".rstrip()


def _below(table: ScoreTable, *, intervals: bool, bold_best: bool) -> str:
    """The same without the title."""
    has = any(isinstance(value, Estimate) and value.low is not None for row in table.rows for value in row)
    parts = []
    if intervals and has and table.intervals:
        parts.append(f"In brackets: {table.intervals}")
    if bold_best and _best(table):
        parts.append(f"The best of each {table.best_in} is in bold")
    return " ".join(f"{part.rstrip('.')}." for part in (*parts, *table.notes))


def _blocks(widths: Sequence[int], labels: int, room: int) -> list[list[int]]:
    """Columns that fit beside each other, the first ones, which name the rows, in each block."""
    first = list(range(labels))
    blocks, current, used = [], first.copy(), sum(widths[:labels])
    for place in range(labels, len(widths)):
        if len(current) > labels and used + widths[place] > room:
            blocks.append(current)
            current, used = first.copy(), sum(widths[:labels])
        current.append(place)
        used += widths[place]
    return [*blocks, current]


def _text_columns(table: ScoreTable) -> list[int]:
    """The columns of words, which are set flush left."""
    columns = ([row[place] for row in table.rows if row[place] is not None] for place in range(len(table.columns)))
    return [place for place, values in enumerate(columns) if values and all(isinstance(value, str) for value in values)]


def _labels(table: ScoreTable) -> int:
    """How many of the first columns name the rows: those of words, and one at least."""
    left_aligned, count = _text_columns(table), 0
    while count in left_aligned:
        count += 1
    return max(1, min(count, len(table.columns) - 1))


def _wrapped(name: str, most: int) -> str:
    """The name of a column in lines, wrapped after spaces, hyphens and underscores where it is long."""
    lines = [""]
    for part in re.findall(r"[^ _-]*[ _-]?", name):
        if lines[-1] and len(lines[-1] + part) > most:
            lines.append("")
        lines[-1] += part
    return "\n".join(line.rstrip(" ") for line in lines)


def table_parts(
    table: ScoreTable, *, width: int = 80, intervals: bool = True, bold_best: bool = True
) -> list[RenderableType]:
    """A table as rich prints it: title, blocks of columns that fit the width, notes."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    table = _printed(table)
    best = _best(table) if bold_best else set()
    shown = [[_shown(v, c) for v, c in zip(row, table.columns, strict=True)] for row in table.rows]
    if not intervals:
        shown = [[(text, "") for text, _ in row] for row in shown]
    labels = _labels(table)
    narrow = max(12, (width - 24) // labels) if labels < len(table.columns) else width

    def widths(one_line: bool) -> list[int]:
        """Of each column with its padding: names of rows share the width, and those of columns are wrapped."""
        sized = []
        for place, column in enumerate(table.columns):
            texts = [row[place] for row in shown]
            cells = [len(t) + len(i) + bool(i) if one_line else max(len(t), len(i)) for t, i in texts]
            if place < labels:
                sized.append(2 + min(max([len(column.name), *cells]), narrow))
            else:
                widest = max([NARROW, *cells])
                sized.append(2 + max([*map(len, _wrapped(column.name, widest).split("\n")), *cells]))
        return sized

    one_line = sum(widths(one_line=True)) <= width
    sizes, left_aligned = widths(one_line), _text_columns(table)
    parts: list[RenderableType] = [Text(table.title, "bold")]
    for block in _blocks(sizes, labels, width):
        drawn = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
        for place in block:
            name = table.columns[place].name
            drawn.add_column(
                Text(name if place < labels else _wrapped(name, sizes[place] - 2)),
                justify="left" if place in left_aligned else "right",
                overflow="fold",
                max_width=sizes[place] - 2,
            )
        for i, row in enumerate(shown):
            cells = []
            for place in block:
                text, interval = row[place]
                style = "bold" if (i, place) in best else ""
                gap = " " if one_line else "\n"
                cells.append(Text.assemble((text, style), (f"{gap}{interval}", "dim") if interval else ""))
            drawn.add_row(*cells)
        parts.append(drawn)
    notes = [table.intervals] if intervals and table.intervals and any(i for row in shown for _, i in row) else []
    parts += [Text(note, "dim") for note in (*notes, *table.notes)]
    return parts


def _escape_markdown(text: str) -> str:
    text = re.sub(r"([\\`*|<>$~\[\]])", r"\\\1", " ".join(text.split()))
    return re.sub(r"(?<![^\W_])_|_(?![^\W_])", r"\\_", text)


def _markdown(table: ScoreTable, intervals: bool, bold_best: bool) -> str:
    """A table of GitHub's Markdown, under its title and above its notes."""
    best = _best(table) if bold_best else set()
    left_aligned = _text_columns(table)
    lines = [
        "| " + " | ".join(_escape_markdown(column.name) for column in table.columns) + " |",
        "|" + "|".join(":--" if place in left_aligned else "--:" for place in range(len(table.columns))) + "|",
    ]
    for i, row in enumerate(table.rows):
        cells = []
        for j, (column, value) in enumerate(zip(table.columns, row, strict=True)):
            text, interval = map(_escape_markdown, _shown(value, column))
            text = f"**{text}**" if (i, j) in best else text
            cells.append(f"{text} {interval}" if interval and intervals else text)
        lines.append("| " + " | ".join(cells) + " |")
    caption = _escape_markdown(_caption(table, intervals=intervals, bold_best=bold_best))
    return "\n".join([*lines, "", caption, ""])


def _latex(table: ScoreTable, intervals: bool, bold_best: bool, width: int) -> str:
    """A floating table with a caption and a label; split into tabulars where it is too wide."""
    best = _best(table) if bold_best else set()
    labels, left_aligned = _labels(table), _text_columns(table)
    cells = [
        [
            _latex_cell(value, column, (i, j) in best, intervals)
            for j, (column, value) in enumerate(zip(table.columns, row, strict=True))
        ]
        for i, row in enumerate(table.rows)
    ]
    shown = [[_shown(v, c) for v, c in zip(row, table.columns, strict=True)] for row in table.rows]
    sizes = []
    for place, column in enumerate(table.columns):
        lengths = [len(row[place][0]) + (0.7 * len(row[place][1]) + 1 if intervals else 0) for row in shown]
        sizes.append(round(max([len(column.name), *lengths])) + 2)
    lines = ["% needs \\usepackage{booktabs}", "\\begin{table}", "\\centering", "\\footnotesize"]
    caption = escape_latex(_caption(table, intervals=intervals, bold_best=bold_best))
    label = re.sub(r"[^a-z0-9]+", "-", table.name.lower()).strip("-")
    lines += [f"\\caption{{{caption}}}", f"\\label{{tab:{label}}}", "\\smallskip"]
    for part, block in enumerate(_blocks(sizes, labels, width)):
        if part:
            lines.append("\\par\\medskip")
        kinds = {place: "l" if place in left_aligned else "r" for place in block}
        long = [place for place in block if place in left_aligned and sizes[place] > LONG]
        room = width - sum(sizes[place] for place in block if place not in long)
        if long and sum(sizes[place] for place in long) > room:
            each = 0.9 * max(room, 10 * len(long)) / width / sum(sizes[place] for place in long)
            kinds |= {place: f"p{{{each * sizes[place]:.2f}\\linewidth}}" for place in long}
        lines.append("\\begin{tabular}{" + "".join(kinds.values()) + "}")
        lines.append("\\toprule")
        for number, row in enumerate([[escape_latex(column.name) for column in table.columns], *cells]):
            line = [row[p] if kinds[p] in "lr" else re.sub(r"\\_|[./]", r"\g<0>\\allowbreak{}", row[p]) for p in block]
            lines.append(" & ".join(line) + r" \\" + ("" if number else "\n\\midrule"))
        lines += ["\\bottomrule", "\\end{tabular}"]
    lines += ["\\end{table}", ""]
    text = "\n".join(lines)
    strange = sorted(set(UNKNOWN.findall(text.replace("\n", ""))))
    return f"% needs XeLaTeX or LuaLaTeX and a font with {' '.join(strange)}\n{text}" if strange else text


def _latex_cell(value: Value, column: Column, best: bool, intervals: bool) -> str:
    text, interval = _shown(value, column)
    if _is_number(value):
        text = text.replace("-", "−")
        interval = interval.replace("-", "−")
    text = f"\\textbf{{{escape_latex(text)}}}" if best else escape_latex(text)
    return f"{text} {{\\scriptsize {escape_latex(interval)}}}" if interval and intervals else text
