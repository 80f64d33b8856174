"""Files of rows: Parquet, sealed with a digest of their bytes, so that no damaged row is ever read.

And the rows of several runs, read as one table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from brittle._errors import BrittleError
from brittle._io import (
    SEAL,
    UNSEALED,
    atomic_write,
    file_name,
    is_complete,
    make_folder,
    make_way,
    missing_or_damaged,
    sealed,
    warn_damaged,
)
from brittle.corruptions import list_corruptions
from brittle.evaluation.records import MODELS, read_toml

if TYPE_CHECKING:
    from brittle.evaluation.store import Store

CELLS, FAILURE_POINTS, SEQUENCES, STREAMS = "cells", "failure-points", "sequences", "streams"
ROW_FOLDERS = (CELLS, FAILURE_POINTS, SEQUENCES, STREAMS)
"""The folders of a run with files of rows, in one folder for each model."""

OF_LABEL: Mapping[str, Any] = {"label_probability": pl.Float32, "label_in_top5": pl.Boolean, "square_sum": pl.Float32}
"""Columns that rows have since calibration is scored, and their types: null in cells of before."""

DATA, SAMPLES = "brittle.data", "brittle.samples"
"""The keys under which a file of rows names its data, and a digest of its samples in their order."""

PLACE = "brittle.place"
"""The key under which it names its folder and itself: rows of another cell, copied over it, are not its rows."""

NAMES = {"model", "corruption", "sample"}
"""Columns of all files of rows: cells, sequences and failure points."""


def write_row_file(path: Path, rows: pl.DataFrame, about: Mapping[str, str]) -> None:
    """Write rows with what is known about them, whole or not at all."""
    make_folder(path.parent)
    make_way(path)
    content = BytesIO()
    rows.write_parquet(content, compression="zstd", metadata={**about, PLACE: _place(path), SEAL: UNSEALED})
    with atomic_write(path) as part:
        part.write_bytes(sealed(content.getvalue()))


def row_metadata(path: Path) -> dict[str, str]:
    """What a file of rows says about itself; the path is no pattern."""
    with path.open("rb") as file:
        return pl.read_parquet_metadata(file)


def row_columns(path: Path) -> set[str]:
    """The names of the columns of a file of rows."""
    status = path.stat()
    return _columns(str(path), status.st_size, status.st_mtime_ns, status.st_ino)


@lru_cache(maxsize=1 << 16)
def _columns(path: str, _size: int, _modified: int, _inode: int) -> set[str]:
    with Path(path).open("rb") as file:
        return set(pl.read_parquet_schema(file))


def samples_digest(samples: Iterable[str]) -> str:
    """A digest of sample ids in their order."""
    return sha256("\0".join(samples).encode("utf-8", "surrogatepass")).hexdigest()


def missing_rows(path: Path, then: str) -> bool:
    """Whether a file of rows is missing, damaged or of another program; a warning states what happens `then`."""
    if missing_or_damaged(path, then):
        return True
    if holds_rows(path):
        return False
    warn_damaged(path, then, "holds no rows of a run")
    return True


def holds_rows(path: Path) -> bool:
    """Whether a file is whole, has the columns that all rows have, and is where it was written."""
    if not is_complete(path):
        return False
    status = path.stat()
    return _has_columns(str(path), status.st_size, status.st_mtime_ns, status.st_ino)


@lru_cache(maxsize=1 << 16)
def _has_columns(path: str, _size: int, _modified: int, _inode: int) -> bool:
    try:
        about = row_metadata(Path(path))
        if about.get(PLACE, _place(Path(path))) != _place(Path(path)):
            return False
        if SEAL in about:
            with Path(path).open("rb") as file:
                return set(pl.read_parquet_schema(file)) >= NAMES
        if PLACE in about:  # all that name their place were sealed: the key of the seal is damaged
            return False
        return set(pl.read_parquet(path, glob=False, hive_partitioning=False).columns) >= NAMES
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        return False


def _place(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


def scan(stores: Sequence[Store], among: Sequence[Store] | None = None, kind: str = CELLS) -> pl.LazyFrame:
    """The rows of runs, read lazily.

    A cell that two runs on the same data have of the same model is read once. Models of one name and different weights
    or code are distinguished by where their code lies, by when they were first run, or else by the beginning of their
    keys, also if only some runs `among` more are read.
    """
    parts = []
    for ending, files in model_files(stores, among, kind):
        for rows in _scan(files, OF_LABEL if kind == CELLS else {}):
            parts.append(rows.with_columns(pl.col("model") + ending) if ending else rows)
    return pl.concat(parts, how="diagonal")


def _scan(files: Sequence[Path], added: Mapping[str, Any]) -> Iterator[pl.LazyFrame]:
    """The rows of files, those written before columns were added with nulls in their place."""
    have: dict[bool, list[Path]] = {}
    for file in files:
        have.setdefault(not added or row_columns(file) >= set(added), []).append(file)
    for complete, some in have.items():
        rows = pl.scan_parquet(some, glob=False, hive_partitioning=False)
        yield rows if complete else rows.with_columns(pl.lit(None, kind).alias(name) for name, kind in added.items())


def model_files(
    stores: Sequence[Store], among: Sequence[Store] | None = None, kind: str = CELLS
) -> Iterator[tuple[str, list[Path]]]:
    """What follows the name of each model of runs, and its files; a cell that two runs have is there once."""
    files: dict[tuple[Any, str, str], dict[str, Path]] = {}
    for store in stores:
        data = store.identity().get("data_key", str(store.folder))
        for path in sorted((store.folder / kind).glob("*/*.parquet")):
            name, _, key = path.parent.name.rpartition("-")
            if not missing_rows(path, "its rows are missing; give the same command again to compute them"):
                files.setdefault((data, name, key), {}).setdefault(path.name, path)
    if not files:
        place = str(stores[0].folder)
        raise BrittleError(f"{place!r} holds no results yet; `brittle run` or `brittle.evaluate` writes them")
    for cells in files.values():
        _check_one_code(list(cells.values()))
    endings = _endings(among or stores)
    for (_, name, key), cells in files.items():
        yield endings[name, key], list(cells.values())


def holds_results(folder: str | Path) -> bool:
    """Whether a folder holds predictions on a benchmark or on clean images."""
    cells = Path(folder) / CELLS
    return cells.is_dir() and any(cells.glob("*/*.parquet"))


def _endings(stores: Sequence[Store]) -> dict[tuple[str, str], str]:
    """What follows the name of each model, by (name, key): nothing, unless models of one name differ."""
    models: dict[str, dict[str, dict[str, Any]]] = {}
    for store in stores:
        for folder in (found for kind in (CELLS, SEQUENCES, STREAMS) for found in (store.folder / kind).glob("*-*/")):
            name, _, key = folder.name.rpartition("-")
            path = store.folder / MODELS / f"{folder.name}.toml"
            models.setdefault(name, {}).setdefault(key, read_toml(path) or {})
    endings = {}
    for name, known in models.items():
        by_origin = {key: str(about.get("origin", "")) for key, about in known.items()}
        by_time = {key: f"{by_origin[key]} of {about.get('since', '')}".strip() for key, about in known.items()}
        by_key = {key: key[:6] for key in known}
        choices = [by_origin] * all(by_origin.values()) + [by_time] * all("since" in about for about in known.values())
        chosen = next(texts for texts in [*choices, by_key] if len(set(texts.values())) == len(known))
        for key in known:
            endings[name, key] = f" ({chosen[key]})" if len(known) > 1 else ""
    return endings


def _check_one_code(files: Sequence[Path]) -> None:
    """Raise if a cell of a user's corruption was drawn as two versions of its code, or two recipes, drew it."""
    first: dict[str, Path] = {}
    for file in files:
        place = cell_place(file.name)
        other = first.setdefault(place, file)
        if other != file and not _is_bundled(place.rpartition("@")[0]):
            raise BrittleError(
                f"{str(other.parents[2])!r} and {str(file.parents[2])!r} hold {place.replace('@', ' ')} drawn in "
                "different ways (another version of its code, another seed or options); load them apart"
            )


def _is_bundled(corruption: str) -> bool:
    return any(one.bundled and file_name(one.id) == corruption for one in list_corruptions())


def cell_place(name: str) -> str:
    """The corruption and level that a cell's file is of, without its key: imagenet-c.fog@3.5."""
    return name.rpartition("-")[0] or name
