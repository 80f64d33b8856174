"""Rows of features, in memory or on disk, read a block at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brittle.distance.extractor import Features
from brittle.metrics.fraction import Floats

BLOCK = 200
"""Rows of a block."""


@runtime_checkable
class Rows(Protocol):
    """Anything that has so many rows and gives them in blocks, in order."""

    def __len__(self) -> int:
        """How many rows."""
        ...

    def blocks(self) -> Iterator[Features]:
        """All rows, block after block."""
        ...


def blocks(rows: Rows | ArrayLike) -> Iterator[NDArray[Any]]:
    """The rows of an array or of anything with blocks; never all in memory if they are on disk."""
    if isinstance(rows, Rows):
        yield from rows.blocks()
        return
    table = np.asanyarray(rows)
    if table.ndim != 2 or not table.size:
        raise ValueError(f"features are samples × dimensions with at least one of each, got shape {table.shape}")
    for start in range(0, len(table), BLOCK):
        block = table[start : start + BLOCK]
        if not np.isfinite(block).all():
            row = start + int(np.flatnonzero(~np.isfinite(block).all(1))[0])
            raise ValueError(f"features must be finite numbers, and those of sample {row} are not; leave it out")
        yield block


def mean_row(rows: Rows | ArrayLike) -> Floats:
    """The mean over all rows."""
    total, count = np.zeros(()), 0
    for block in blocks(rows):
        total = total + block.sum(0, dtype=np.float64)
        count += len(block)
    return np.asarray(total / count, np.float64)


def take(rows: Rows | ArrayLike, indices: NDArray[np.integer[Any]]) -> Floats:
    """The rows at these indices, which ascend."""
    found, start = [], 0
    for block in blocks(rows):
        mine = indices[(indices >= start) & (indices < start + len(block))]
        found.append(np.asarray(block[mine - start], np.float64))
        start += len(block)
    return np.concatenate(found)
