"""Files of rows: Parquet, sealed with a digest of their bytes, so that no damaged row is ever read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from hashlib import sha256
from io import BytesIO
from pathlib import Path

import polars as pl

from brittle._io import (
    SEAL,
    UNSEALED,
    atomic_write,
    is_complete,
    make_folder,
    make_way,
    missing_or_damaged,
    sealed,
    warn_damaged,
)

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
    content = BytesIO()  # Polars makes another error of a full disk
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
