"""Predictions of one model under one corruption, levels × samples, read from a run when they are needed."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path
from threading import Lock, RLock
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from brittle._errors import BrittleError, did_you_mean
from brittle._types import FloatArray
from brittle.benchmarks import CLEAN
from brittle.evaluation import SCALE, SHIFT, Results, aligned_files
from brittle.metrics import failure_points

MISSING, WRONG, RIGHT = -1, 0, 1
"""What is known of a sample at a level."""

VALUES = ("label", "prediction", "confidence", "correct")

BUDGET = 1 << 30
"""So many bytes of predictions are kept in memory: 9 for a row, 16 more for a failure, so that 60 million rows fit."""

AT_ONCE = 1_000_000
"""So many rows are read in one go; others wait for their turn meanwhile."""


@dataclass(frozen=True, eq=False)
class Ladder:
    """One model under one corruption: what it predicted at each level, lowest first, for each sample.

    Samples are in the order of their ids. Under shifts of slides a sample is a trajectory, and `files` has the id of
    its picture at each level. `points` are the failure points as `metrics.failure_points` has them, from the clean
    images on: infinite if the sample never fails, NaN if it is unknown because some level lacks the sample.
    """

    model: str
    corruption: str
    levels: tuple[float, ...]
    samples: NDArray[np.str_]
    labels: NDArray[np.int32]
    predictions: NDArray[np.int32]
    confidences: NDArray[np.float32]
    states: NDArray[np.int8]
    points: FloatArray
    files: NDArray[np.object_] | None = None

    @property
    def nbytes(self) -> int:
        """The bytes that it holds, with place and key of each failure; samples are shared by all ladders of a run."""
        arrays = (self.labels, self.predictions, self.confidences, self.states, self.points)
        return sum(array.nbytes for array in arrays) + 16 * int((self.states == WRONG).sum())

    def at(self, level: float) -> int:
        """The row of a level."""
        if level not in self.levels:
            levels = ", ".join(f"{one:g}" for one in self.levels)
            raise BrittleError(f"{self.corruption} was not run at level {level:g}; there are levels {levels}")
        return self.levels.index(level)

    def sample_id(self, row: int, column: int) -> str:
        """The id that the rows of the run have for a sample at a level."""
        return str(self.samples[column] if self.files is None else self.files[row, column])


class Ladders:
    """The ladders of results on the same images; the latest ones stay in memory, up to a number of bytes.

    `latest` is the latest question about them with its answer, if that fits too; `asked` while one is answered.
    """

    def __init__(self, results: Results, *, budget: int = BUDGET) -> None:
        self.results = results
        self.budget = budget
        self.latest: tuple[object, Any] | None = None
        self._kept: OrderedDict[tuple[str, str], Ladder] = OrderedDict()
        self._axes: dict[str, tuple[NDArray[np.str_], pl.Enum]] = {}
        self.asked = Lock()
        self._lock = RLock()

    @cached_property
    def levels(self) -> dict[tuple[str, str], tuple[float, ...]]:
        """The levels of each (model, corruption), sorted."""
        cells: Iterable[tuple[str, str, float]] = self._files
        if not cells:
            rows = self.results.rows.select("model", "corruption", "level").unique()
            cells = rows.collect(engine="streaming").rows()
        return {key: tuple(row[2] for row in group) for key, group in groupby(sorted(cells), key=lambda row: row[:2])}

    @cached_property
    def _files(self) -> dict[tuple[str, str, float], Path]:
        """The file of each cell if all have the same samples in the same order, so that these are read once."""
        files = aligned_files(self.results)
        return {} if any(name.startswith(SHIFT) for _, name, _ in files) else files

    @cached_property
    def _sorted(self) -> tuple[NDArray[np.str_], NDArray[np.int64]]:
        """The samples that all files have, in the order of their ids, and where in a file each is."""
        names = pl.read_parquet(next(iter(self._files.values())), columns=["sample"], glob=False)["sample"]
        if names.is_duplicated().any():
            raise BrittleError("some samples of these runs have the same id; give each image a name of its own")
        order = names.arg_sort()
        return names.gather(order).to_numpy().astype(str), order.to_numpy().astype(np.int64)

    def accuracy(self) -> pl.DataFrame:
        """For each model, corruption and level: how many samples, and the share that was right."""
        if not self._files:
            return self.results.accuracy()
        places = sorted(self._files)
        rows = pl.scan_parquet([self._files[place] for place in places], glob=False, hive_partitioning=False)
        right = rows.select("correct").collect().to_series().to_numpy().reshape(len(places), -1)
        table = pl.DataFrame(places, schema=["model", "corruption", "level"], orient="row")
        return table.with_columns(samples=pl.lit(right.shape[1]), accuracy=right.mean(axis=1))

    @property
    def are_aligned(self) -> bool:
        """Whether every cell has the same samples in the same order."""
        return bool(self._files)

    def rows_of(self, sample: str) -> pl.DataFrame:
        """The rows of one sample where ladders are aligned, by model, corruption and level; none of an unknown one."""
        samples = self._sorted[0]
        column = int(np.searchsorted(samples, sample))
        found = column < len(samples) and samples[column] == sample
        rows = [
            (one.model, one.corruption, level, sample, *(values[column].item() for values in (one.labels, *cell)))
            for one in self.each(self.pairs() if found else ())
            for level, *cell in zip(one.levels, one.predictions, one.confidences, one.states == RIGHT, strict=True)
        ]
        columns = ["model", "corruption", "level", "sample", *VALUES]
        return pl.DataFrame(rows, schema=columns, orient="row")

    def pairs(self, model: str | None = None, corruption: str | None = None) -> list[tuple[str, str]]:
        """All (model, corruption) of a model, of a corruption, or of both, sorted; unknown names raise."""
        for name, place, what in ((model, 0, "model"), (corruption, 1, "corruption")):
            known = sorted({pair[place] for pair in self.levels})
            if name is not None and name not in known:
                raise BrittleError(f"there is no {what} {name!r} in these results; {did_you_mean(name, known)}")
        return [pair for pair in self.levels if model in (None, pair[0]) and corruption in (None, pair[1])]

    def get(self, model: str, corruption: str) -> Ladder:
        """One ladder."""
        return next(self.each(self.pairs(model, corruption)))

    def each(self, pairs: Sequence[tuple[str, str]]) -> Iterator[Ladder]:
        """Ladders in this order; those that are not in memory are read, many of one model in one go."""
        for start, pair in enumerate(pairs):
            with self._lock:
                ladder = self._kept.get(pair)
                if ladder is None:
                    ladder = self._read(pair[0], list(self._next_missing(pairs[start:])))[pair]
                else:
                    self._kept.move_to_end(pair)
            yield ladder

    def _next_missing(self, pairs: Iterable[tuple[str, str]]) -> Iterator[str]:
        """The corruptions of the first model that are not in memory, as many as are read at once."""
        rows, first = 0, ""
        for model, corruption in pairs:
            if (model, corruption) in self._kept or model != (first or model):
                continue
            rows += len(self.levels[model, corruption]) * len(self._axis(corruption)[0])
            if first and rows > AT_ONCE:
                return
            first = model
            yield corruption

    def _read(self, model: str, corruptions: list[str]) -> dict[tuple[str, str], Ladder]:
        """Ladders of one model, read together and kept."""
        shifted = any(not name.startswith(SHIFT) for name in corruptions)
        with_clean = shifted and CLEAN not in corruptions and (model, CLEAN) in self.levels
        clean = self.get(model, CLEAN) if with_clean else None
        ladders = {}
        for corruption, cells in (self._stacked if self._files else self._scattered)(model, corruptions):
            samples, levels = self._axis(corruption)[0], self.levels[model, corruption]
            points = _points(cells["states"], levels, None if "files" in cells else clean)
            ladder = Ladder(model, corruption, levels, samples, points=points, **cells)
            clean = ladder if corruption == CLEAN else clean
            ladders[model, corruption] = ladder
        self._keep(ladders)
        return ladders

    def _keep(self, ladders: dict[tuple[str, str], Ladder]) -> None:
        self._kept.update(ladders)
        held = sum(ladder.nbytes for ladder in self._kept.values())
        while held > self.budget and len(self._kept) > 1:
            held -= self._kept.popitem(last=False)[1].nbytes

    def _axis(self, corruption: str) -> tuple[NDArray[np.str_], pl.Enum]:
        """The samples of a corruption: those of the whole run, or the trajectories of a shift."""
        key = corruption if corruption.startswith(SHIFT) else ""
        with self._lock:
            if self._files:
                return self._sorted[0], pl.Enum([])
            if key not in self._axes:
                slides = pl.col("corruption").str.starts_with(SHIFT)
                rows = self.results.rows.filter(pl.col("corruption") == key if key else ~slides)
                names = rows.select(_sample_names(bool(key)).unique().sort()).collect(engine="streaming").to_series()
                self._axes[key] = names.to_numpy().astype(str), pl.Enum(names)
            return self._axes[key]

    def _stacked(self, model: str, corruptions: Iterable[str]) -> Iterator[tuple[str, dict[str, Any]]]:
        """The arrays of ladders from files with the same samples, the clean images first."""
        names = sorted(corruptions, key=lambda name: name != CLEAN)
        files = [self._files[model, name, level] for name in names for level in self.levels[model, name]]
        table = pl.scan_parquet(files, glob=False, hive_partitioning=False).select(VALUES).collect()
        arrays = [table[column].to_numpy().reshape(len(files), -1) for column in VALUES]
        start = 0
        for name in names:
            rows = slice(start, start := start + len(self.levels[model, name]))
            labels, *rest = (array[rows].take(self._sorted[1], axis=1) for array in arrays)
            yield name, _arrays(labels[0], *rest)

    def _scattered(self, model: str, corruptions: Iterable[str]) -> Iterator[tuple[str, dict[str, Any]]]:
        """The arrays of ladders from rows in any order, of which some may be missing; the clean images first."""
        rows = self.results.rows.filter((pl.col("model") == model) & pl.col("corruption").is_in(list(corruptions)))
        tables = (
            rows.select("corruption", "level", "sample", *VALUES).collect().partition_by("corruption", as_dict=True)
        )
        for name in sorted(corruptions, key=lambda name: name != CLEAN):
            table, slides = tables.pop((name,)), name.startswith(SHIFT)
            samples, axis = self._axis(name)
            levels = self.levels[model, name]
            places = (
                table.select(_sample_names(slides).cast(axis).to_physical()).to_series().to_numpy().astype(np.int64)
            )
            row = np.searchsorted(np.array(levels), table["level"].to_numpy())
            flat, shape = row * len(samples) + places, (len(levels), len(samples))
            if np.bincount(flat, minlength=shape[0] * shape[1]).max() > 1:
                raise BrittleError(
                    f"some samples of {model!r} on {name} are there twice; load each run once, and runs of other "
                    "data apart"
                )
            labels = np.full(len(samples), -1, np.int32)
            labels[places] = table["label"].to_numpy()
            filled = [np.full(shape, empty) for empty in (-1, np.nan, MISSING)]
            for array, column in zip(filled, VALUES[1:], strict=True):
                array.flat[flat] = table[column].to_numpy()
            cells = _arrays(labels, *filled)
            if slides:
                cells["files"] = np.full(shape, "", object)
                cells["files"].flat[flat] = table["sample"].to_list()
            yield name, cells


def _arrays(labels: Any, predictions: Any, confidences: Any, states: Any) -> dict[str, Any]:
    """What is kept of the cells of a ladder."""
    return {
        "labels": labels.astype(np.int32),
        "predictions": predictions.astype(np.int32),
        "confidences": confidences.astype(np.float32),
        "states": states.astype(np.int8),
    }


def _sample_names(slides: bool) -> pl.Expr:
    """Samples, or the trajectories that they are of."""
    return pl.col("sample").str.replace(SCALE.pattern, "") if slides else pl.col("sample")


def _points(states: NDArray[np.int8], levels: tuple[float, ...], clean: Ladder | None) -> FloatArray:
    """Failure points of samples × (clean and levels)."""
    if clean is not None and levels[0] > 0:
        states, levels = np.concatenate([clean.states, states]), (0.0, *levels)
    points = failure_points(states.T == RIGHT, levels).points
    return np.where((states == MISSING).any(axis=0), np.nan, points)
