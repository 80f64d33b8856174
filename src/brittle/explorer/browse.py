"""What a run holds, to browse in: its heat map, its failures page by page, two models cell by cell."""

from __future__ import annotations

import base64
import binascii
import json
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np
import polars as pl
from numpy.typing import NDArray

from brittle._errors import BrittleError
from brittle.explorer.ladders import RIGHT, WRONG, Ladder, Ladders
from brittle.metrics import Estimate, gap_interval, wilson

MOST_ROWS = 200
"""A page holds at most so many rows."""


@dataclass(frozen=True)
class HeatRow:
    """One model under one corruption: its accuracy at each level, lowest first, and over all of them."""

    model: str
    corruption: str
    cells: dict[float, Estimate]
    mean: float


def heat_map(table: pl.DataFrame) -> list[HeatRow]:
    """Accuracies of cells with Wilson's intervals, by model and corruption; the clean images are one row."""
    right = (table["accuracy"] * table["samples"]).round().to_numpy()
    low, high = wilson(right, table["samples"].to_numpy())
    ends = table.with_columns(low=pl.Series(low), high=pl.Series(high))
    rows = []
    for (model, corruption), part in ends.group_by("model", "corruption", maintain_order=True):
        cells = {
            row["level"]: Estimate(
                "accuracy", row["accuracy"], row["low"], row["high"], n=row["samples"], method="wilson"
            )
            for row in part.iter_rows(named=True)
        }
        rows.append(
            HeatRow(str(model), str(corruption), cells, float(np.mean([cell.value for cell in cells.values()])))
        )
    return rows


Sort = Literal["surest", "unsure", "earliest", "latest"]
"""Failures by confidence, highest or lowest first, or by failure point, lowest or highest first."""


@dataclass(frozen=True)
class FailureQuery:
    """Which failures are asked for, and in which order.

    `label` and `predicted` are numbers of classes. `right_by` keeps what that model gets right, so that with
    `model` it is "A is right and B is wrong". `first_only` keeps each sample only at its failure point.
    """

    model: str | None = None
    corruption: str | None = None
    level: float | None = None
    label: int | None = None
    predicted: int | None = None
    right_by: str | None = None
    first_only: bool = False
    sort: Sort = "surest"

    def __post_init__(self) -> None:
        if self.sort not in get_args(Sort):
            raise BrittleError(f"failures are sorted by one of {', '.join(get_args(Sort))}, got {self.sort!r}")
        if self.level is not None and (self.corruption is None or not np.isfinite(self.level)):
            raise BrittleError(f"a level is a number and needs the corruption it is of, got {self.level!r}")


@dataclass(frozen=True)
class Failure:
    """A wrong prediction; `sample` is its id in the run, `key` what it is sorted by before its names.

    Of slides, whose samples have another id at every scale, `origin` is that at scale 0.
    """

    model: str
    corruption: str
    level: float
    sample: str
    label: int
    prediction: int
    confidence: float
    point: float
    origin: str = ""
    key: int = field(repr=False, default=0)
    place: str = field(repr=False, default="")

    @property
    def cursor(self) -> str:
        """A text that names the place of this row in its order, for the address of the page after it."""
        data = [self.key, self.model, self.corruption, self.level, self.place]
        return base64.urlsafe_b64encode(json.dumps(data, separators=(",", ":")).encode()).decode().rstrip("=")


@dataclass(frozen=True)
class FailurePage:
    """Some rows of all that match, in order: those from number `start` on, counted from 0."""

    rows: list[Failure]
    start: int
    total: int

    @property
    def is_last(self) -> bool:
        """Whether there is nothing after it."""
        return self.start + len(self.rows) >= self.total


def failures(
    ladders: Ladders,
    query: FailureQuery,
    *,
    size: int = 48,
    start: int = 0,
    after: str | None = None,
    before: str | None = None,
) -> FailurePage:
    """A page of failures: `size` of them from number `start` on, or those just after or before a row's cursor.

    The order is total: equal confidences or failure points stand by model, corruption, level and sample. Pages that
    follow each other by cursors have no row twice and lose none, also if cells are added to the run meanwhile.
    """
    if not 1 <= size <= MOST_ROWS:
        raise BrittleError(f"a page has 1 to {MOST_ROWS} rows, got {size!r}")
    parts, keys = _matches(ladders, query)
    if after is not None:
        start = _position(parts, keys, after, including=True)
    elif before is not None:
        end = _position(parts, keys, before, including=False)
        start = max(0, end - size)
        size = max(min(size, end), 1)
    start = max(0, min(start, len(keys) - 1)) if after is None else start
    places = _in_order(keys, start, min(start + size, len(keys)))
    return FailurePage(list(_rows(parts, keys, places)), start, len(keys))


@dataclass(frozen=True, eq=False)
class _Part:
    """The matching failures of one ladder: their flat places in it, ascending, and their keys."""

    ladder: Ladder
    flat: NDArray[np.int64]
    keys: NDArray[np.uint64]


def _matches(ladders: Ladders, query: FailureQuery) -> tuple[list[_Part], NDArray[np.uint64]]:
    """All matching failures and their keys; those of the latest query are kept, since pages follow each other."""
    with ladders.asked:  # whoever asks the same meanwhile waits for the answer
        latest = ladders.latest
        if latest is None or latest[0] != query:
            parts = list(_matching(ladders, query))
            keys = np.concatenate([np.empty(0, np.uint64), *(part.keys for part in parts)])
            if sum(part.ladder.nbytes for part in parts) > ladders.budget:
                return parts, keys
            latest = ladders.latest = query, (parts, keys)
        kept: tuple[list[_Part], NDArray[np.uint64]] = latest[1]
        return kept


def _matching(ladders: Ladders, query: FailureQuery) -> Iterator[_Part]:
    pairs = ladders.pairs(query.model, query.corruption)
    if query.right_by is not None:
        ladders.pairs(query.right_by)
        pairs = [pair for pair in pairs if pair[0] != query.right_by and (query.right_by, pair[1]) in ladders.levels]
    for ladder in ladders.each(pairs):
        wanted = ladder.states == WRONG
        if query.level is not None:
            if query.level not in ladder.levels and query.model is None:
                continue  # another model was run at this level
            wanted[np.arange(len(ladder.levels)) != ladder.at(query.level)] = False
        if query.label is not None:
            wanted &= ladder.labels == query.label
        if query.predicted is not None:
            wanted &= ladder.predictions == query.predicted
        if query.first_only:
            wanted &= ladder.points == np.array(ladder.levels)[:, np.newaxis]
        if query.right_by is not None:
            wanted &= _right(ladders.get(query.right_by, ladder.corruption), ladder.levels)
        yield _Part(ladder, np.flatnonzero(wanted), _keys(ladder, query.sort, wanted))


def _right(ladder: Ladder, levels: Sequence[float]) -> NDArray[np.bool_]:
    """Whether a model is right at each of these levels; not where it was not run."""
    right = np.zeros((len(levels), ladder.states.shape[1]), bool)
    for row, level in enumerate(levels):
        if level in ladder.levels:
            right[row] = ladder.states[ladder.levels.index(level)] == RIGHT
    return right


def _keys(ladder: Ladder, sort: Sort, wanted: NDArray[np.bool_]) -> NDArray[np.uint64]:
    """What rows of a ladder are sorted by, as whole numbers: 32 bits of one value, then 32 of the other."""
    sure = _ordinal(ladder.confidences[wanted], descending=sort != "unsure")
    early = _ordinal(ladder.points.astype(np.float32), descending=sort == "latest")
    early = np.broadcast_to(early, wanted.shape)[wanted]
    first, second = (sure, early) if sort in ("surest", "unsure") else (early, sure)
    return first << np.uint64(32) | second


def _ordinal(values: NDArray[np.float32], *, descending: bool) -> NDArray[np.uint64]:
    """Whole numbers of 32 bits in the order of the values; NaN, an unknown value, is always last."""
    bits = (values + np.float32(0)).view(np.uint32)  # −0 becomes 0
    ordered = np.where(bits >> 31 == 1, ~bits, bits | np.uint32(1 << 31))
    ordered = ~ordered if descending else ordered
    return np.where(np.isnan(values), np.uint32(0xFFFFFFFF), ordered).astype(np.uint64)


def _position(parts: Sequence[_Part], keys: NDArray[np.uint64], cursor: str, *, including: bool) -> int:
    """How many rows stand before a cursor, or before and at it."""
    key, model, corruption, level, sample = _read_cursor(cursor)
    count, start = int((keys < np.uint64(key)).sum()), 0
    for part in parts:
        ties = keys[start : start + len(part.keys)] == np.uint64(key)
        start += len(part.keys)
        pair = (part.ladder.model, part.ladder.corruption)
        if pair < (model, corruption):
            count += int(ties.sum())
        elif pair == (model, corruption):
            count += int((part.flat[ties] < _flat_place(part.ladder, level, sample, including)).sum())
    return count


def _flat_place(ladder: Ladder, level: float, sample: str, including: bool) -> int:
    """Where a sample at a level is in a ladder, or would be; `including` gives the place after it."""
    row = bisect_left(ladder.levels, level)
    if row == len(ladder.levels) or ladder.levels[row] != level:
        return row * len(ladder.samples)
    column = int(np.searchsorted(ladder.samples, sample))
    is_there = column < len(ladder.samples) and ladder.samples[column] == sample
    return row * len(ladder.samples) + column + (including and is_there)


def _read_cursor(cursor: str) -> tuple[int, str, str, float, str]:
    try:
        data = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (binascii.Error, ValueError):
        data = None
    kinds = (int, str, str, int | float, str)
    if not isinstance(data, list) or len(data) != len(kinds) or not all(map(isinstance, data, kinds)):
        raise BrittleError("the address names no place in these failures; begin at the first page")
    if not 0 <= data[0] < 1 << 64:
        raise BrittleError("the address names no place in these failures; begin at the first page")
    return data[0], data[1], data[2], float(data[3]), data[4]


def _in_order(keys: NDArray[np.uint64], start: int, end: int) -> NDArray[np.int64]:
    """The places of the rows from `start` to `end` of the order; rows of equal keys stay in theirs."""
    if start >= end:
        return np.empty(0, np.int64)
    first, last = np.partition(keys, [start, end - 1])[[start, end - 1]]
    near = np.flatnonzero((keys >= first) & (keys <= last))
    skipped = start - int((keys < first).sum())
    return near[np.argsort(keys[near], kind="stable")][skipped : skipped + end - start]


def _rows(parts: Sequence[_Part], keys: NDArray[np.uint64], places: NDArray[np.int64]) -> Iterator[Failure]:
    starts = np.concatenate([[0], np.cumsum([len(part.keys) for part in parts])])
    for place in places:
        number = int(np.searchsorted(starts, place, side="right")) - 1
        ladder, flat = parts[number].ladder, int(parts[number].flat[place - starts[number]])
        row, column = divmod(flat, len(ladder.samples))
        yield Failure(
            ladder.model,
            ladder.corruption,
            ladder.levels[row],
            ladder.sample_id(row, column),
            int(ladder.labels[column]),
            int(ladder.predictions[row, column]),
            float(ladder.confidences[row, column]),
            float(ladder.points[column]),
            "" if ladder.files is None else str(ladder.files[0, column]),
            int(keys[place]),
            str(ladder.samples[column]),
        )


@dataclass(frozen=True)
class PairedCell:
    """Two models on one cell: the accuracy of each, their paired difference, and whom alone samples are right for."""

    first: float
    second: float
    gap: Estimate
    only_first: int
    only_second: int


def paired_cells(ladders: Ladders, first: str, second: str) -> dict[str, dict[float, PairedCell]]:
    """The accuracy of one model minus another's on every cell that both have, by corruption and level.

    Each interval is of one cell, over the samples that both models were shown.
    """
    if first == second:
        raise BrittleError(f"{first!r} is compared with another model, not with itself")
    ladders.pairs(first)
    shared = [corruption for _, corruption in ladders.pairs(second) if (first, corruption) in ladders.levels]
    compared: dict[str, dict[float, PairedCell]] = {}
    for corruption in shared:
        a, b = ladders.get(first, corruption), ladders.get(second, corruption)
        levels = [level for level in a.levels if level in b.levels]
        cells = {
            level: _paired(a.states[a.at(level)], b.states[b.at(level)], f"{first} − {second}") for level in levels
        }
        compared[corruption] = {level: cell for level, cell in cells.items() if cell is not None}
    return {corruption: cells for corruption, cells in compared.items() if cells}


def _paired(first: NDArray[np.int8], second: NDArray[np.int8], name: str) -> PairedCell | None:
    shown = (first >= WRONG) & (second >= WRONG)
    if not shown.any():
        return None
    a, b = first[shown] == RIGHT, second[shown] == RIGHT
    low, high = (float(end) for end in gap_interval(a, b, 1, 1))
    gap = Estimate(name, float(a.mean() - b.mean()), low, high, n=len(a), method="paired, bounded means")
    return PairedCell(float(a.mean()), float(b.mean()), gap, int((a & ~b).sum()), int((b & ~a).sum()))
