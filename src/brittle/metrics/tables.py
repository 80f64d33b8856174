"""Published numbers, as printed, from the files in `published/`."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

import numpy as np

from brittle.metrics.fraction import Floats

FOLDER = Path(__file__).parent / "published"


@dataclass(frozen=True, eq=False)
class Table:
    """A small table: columns of numbers are arrays (an empty cell is NaN), the others lists of words.

    The first column names the rows. `what` says what the numbers are and in which unit, `source` where they were
    printed.
    """

    name: str
    what: str
    source: str
    columns: Mapping[str, Floats | list[str]]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def __getitem__(self, column: str) -> Floats | list[str]:
        if column not in self.columns:
            raise KeyError(f"{self.name} has no column {column!r}; it has: {', '.join(self.columns)}")
        return self.columns[column]

    def numbers(self, *columns: str) -> Floats:
        """One column of numbers as a vector, or several as rows × columns."""
        found = [self[column] for column in columns]
        for column, values in zip(columns, found, strict=True):
            if not isinstance(values, np.ndarray):
                raise ValueError(f"the column {column!r} of {self.name} holds words, not numbers")
        return np.asarray(found[0] if len(found) == 1 else np.column_stack(found), dtype=np.float64)

    def text(self, column: str) -> list[str]:
        """A column of words."""
        values = self[column]
        return values if isinstance(values, list) else [f"{value:g}" for value in values]

    def row(self, name: str) -> dict[str, float | str]:
        """The row whose first column says `name`."""
        names = self.text(next(iter(self.columns)))
        if name not in names:
            raise KeyError(f"{self.name} has no row {name!r}; it has: {', '.join(names)}")
        i = names.index(name)
        return {key: v[i] if isinstance(v, list) else float(v[i]) for key, v in self.columns.items()}


def published_names() -> list[str]:
    """The names of all published tables."""
    return sorted(path.stem for path in FOLDER.glob("*.csv"))


def published(name: str) -> Table:
    """A published table by its name."""
    names = published_names()
    if name not in names:
        close = get_close_matches(str(name), names, n=1, cutoff=0.6)
        hint = f"did you mean {close[0]!r}? All: " if close else "there are: "
        raise ValueError(f"there is no published table {name!r}; {hint}{', '.join(names)}")
    with (FOLDER / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        header, *rows = csv.reader(file)
    cells = zip(*rows, strict=True)
    what, source = _index()[name]
    return Table(name, what, source, {key: _column(values) for key, values in zip(header, cells, strict=True)})


def _column(cells: tuple[str, ...]) -> Floats | list[str]:
    try:
        return np.array([float(cell) if cell else np.nan for cell in cells])
    except ValueError:
        return list(cells)


def _index() -> dict[str, tuple[str, str]]:
    """What each table is and where it comes from: the rows of the README beside the files."""
    lines = (FOLDER / "README.md").read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| `")]
    return {name.strip("`"): (what, source) for name, what, source in rows}
