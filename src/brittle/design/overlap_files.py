"""Overlap matrices on disk: a CSV that people read, a Parquet file that keeps the intervals."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import polars as pl

from brittle._io import replacing
from brittle.metrics.fraction import Floats

Parts = tuple[tuple[str, ...], Floats, Floats | None, Floats | None, tuple[str, ...] | None]
"""Names, scores, the ends of the intervals and the corruptions that were hardly learned, if they are known."""


def write_overlap(
    path: Path,
    names: tuple[str, ...],
    scores: Floats,
    low: Floats | None,
    high: Floats | None,
    unlearned: tuple[str, ...] = (),
) -> Path:
    """Write a matrix; the ending says how. A masked entry is an empty cell, or null.

    In Parquet the column `unlearned` says whether the model of `name_a` hardly learned it.
    """
    kind = _kind(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary:
        if kind == ".csv":
            with temporary.open("w", encoding="utf-8", newline="") as file:
                out = csv.writer(file)
                out.writerow(["corruption", *names])
                for name, row in zip(names, scores, strict=True):
                    out.writerow([name, *("" if np.isnan(value) else repr(float(value)) for value in row)])
        else:
            hardly = [name in unlearned for name in names]
            long = _long(names, scores, low, high).with_columns(pl.Series("unlearned", np.repeat(hardly, len(names))))
            long.write_parquet(temporary)
    return path


def read_overlap(path: Path) -> Parts:
    """The parts of a matrix, not yet checked for sense."""
    if _kind(path) == ".parquet":
        try:
            return _from_long(pl.read_parquet(path, glob=False, hive_partitioning=False))
        except pl.exceptions.PolarsError as error:
            raise ValueError(f"it cannot be read ({error})") from error
    with path.open(encoding="utf-8-sig", newline="") as file:
        lines = [row for row in csv.reader(file) if row]
    header, rows = (lines[0], lines[1:]) if lines else ([], [])
    names = tuple(header[1:])
    if tuple(row[0] for row in rows) != names:
        raise ValueError("the first row and the first column must name the same corruptions in the same order")
    if any(len(row) != len(header) for row in rows):
        raise ValueError(f"every row must have {len(header)} cells, as the first")
    scores = np.array([[float(cell) if cell.strip() else np.nan for cell in row[1:]] for row in rows], ndmin=2)
    return names, scores, None, None, None


def _long(names: tuple[str, ...], scores: Floats, low: Floats | None, high: Floats | None) -> pl.DataFrame:
    count = len(names)
    unknown = np.full((count, count), np.nan)
    ends = [unknown if end is None else end for end in (low, high)]
    values = {"overlap": scores, "low": ends[0], "high": ends[1]}
    named = {"name_a": np.repeat(names, count), "name_b": np.tile(names, count)}
    return pl.DataFrame(named | {key: value.ravel() for key, value in values.items()}, nan_to_null=True)


def _from_long(table: pl.DataFrame) -> Parts:
    missing = [column for column in ("name_a", "name_b", "overlap") if column not in table.columns]
    if missing:
        raise ValueError(f"there is no column {', '.join(missing)}; the columns are {', '.join(table.columns)}")
    names = tuple(table["name_a"].unique(maintain_order=True))
    where = {name: i for i, name in enumerate(names)}
    strangers = sorted(set(table["name_b"]) - set(names))
    if strangers or len(table) != len(names) ** 2 or table.select("name_a", "name_b").is_duplicated().any():
        raise ValueError(
            f"{len(names)} corruptions need one row for each of {len(names) ** 2} ordered pairs, there are "
            f"{len(table)} rows" + (f" and {strangers[0]!r} is only in name_b" if strangers else "")
        )
    at = [where[a] for a in table["name_a"]], [where[b] for b in table["name_b"]]

    def square(column: str) -> Floats:
        out = np.empty((len(names), len(names)))
        out[at] = table[column].cast(pl.Float64).fill_null(np.nan).to_numpy()
        return out

    has_ends = {"low", "high"} <= set(table.columns) and table["low"].count() > 0
    ends = (square("low"), square("high")) if has_ends else (None, None)
    known = "unlearned" in table.columns
    unlearned = tuple(table.filter("unlearned")["name_a"].unique(maintain_order=True)) if known else None
    return names, square("overlap"), *ends, unlearned


def _kind(path: Path) -> str:
    if path.suffix not in (".csv", ".parquet"):
        raise ValueError(f"an overlap matrix is a .csv or a .parquet file, got {path.name!r}; choose one of the two")
    return path.suffix
