"""Results: one row per (model, corruption, level, sample). Every metric starts here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from tempfile import gettempdir
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from brittle._errors import BrittleError
from brittle._types import FloatArray
from brittle.benchmarks import CLEAN, Benchmark, Cell, load_benchmark
from brittle.evaluation.cell import plan
from brittle.evaluation.records import Run
from brittle.evaluation.row_files import CELLS, OF_LABEL, SAMPLES, SEQUENCES, STREAMS, model_files, row_metadata, scan
from brittle.evaluation.store import Store

if TYPE_CHECKING:
    from brittle.evaluation.confidence import CalibrationList
    from brittle.evaluation.sequences import SequenceScores
    from brittle.evaluation.streams import StreamScores
    from brittle.evaluation.tables.comparison import Comparison, LevelFailures, ScoreList
    from brittle.evaluation.tables.formats import ScoreTable
    from brittle.metrics import Baseline

SHIFT = "cns/"
"""What the names of the shifts of slides begin with, among the corruptions of results."""

MOST = 40
"""So many rows of accuracies are shown in a notebook."""

COLUMNS = ["model", "corruption", "level", "sample", "label", "prediction", "confidence", "correct", *OF_LABEL]


@dataclass(frozen=True, eq=False)
class Matrix:
    """Right or wrong, samples × cells."""

    values: NDArray[Any]
    samples: NDArray[np.str_]


KEPT_VALUES, KEPT_MATRICES = 1_000_000, 64
"""How large a matrix, and how many, results keep in memory: 64 MB at most, and the names of the samples."""


@dataclass(frozen=True, eq=False, repr=False)
class Results:
    """Every prediction of one or more runs, and the records of the runs.

    >>> import brittle
    >>> blur = brittle.Benchmark("blur", [brittle.benchmarks.Entry("gaussian_blur", [1, 5])])
    >>> images = brittle.load_dataset("demo").limited(50)
    >>> results = brittle.evaluate(["demo:standard", "demo:augmix"], images, blur)
    >>> results.scores()[0].model                         # the best first
    'demo-augmix'
    >>> results.compare().differences["demo-standard"].value < 0
    True
    >>> results.by_corruption().to_polars().columns[:5]
    ['model', 'corruption', 'error', 'error_low', 'error_high']
    >>> results.rows.collect().height                     # 2 models × (clean and 2 levels) × 50 images
    300

    `rows` is a Polars LazyFrame with a row for each model, corruption, level and sample. Methods that take a benchmark
    need none if the results hold exactly one. `sequences` has a row for each model, perturbation, sample and frame, if
    models were shown sequences, and `streams` one for each model, step and image, if they were shown streams.
    """

    rows: pl.LazyFrame
    runs: tuple[Run, ...] = ()
    sequences: pl.LazyFrame | None = None
    streams: pl.LazyFrame | None = None

    def __repr__(self) -> str:
        models, cells = self.models, self.cells
        named = ", ".join(models[:4]) + (f" and {len(models) - 4} more" if len(models) > 4 else "")
        counts = f"{len(models)} model{'s' * (len(models) > 1)} ({named}) on {len(cells)} cell{'s' * (len(cells) > 1)}"
        temporary = [Path(run.folder).parent == Path(gettempdir()) for run in self.runs]
        places = ["" if hidden else f"{run.folder}: " for run, hidden in zip(self.runs, temporary, strict=True)]
        runs = [f"{place}{run.images:,} images of {run.data!r}" for place, run in zip(places, self.runs, strict=True)]
        more = [f"and {len(runs) - 1} more runs"] if len(runs) > 2 else runs[1:]
        return "\n  ".join([f"<Results: {counts}", *runs[:1], *more]) + ">"

    def _repr_html_(self) -> str:
        """The same in a notebook, with the scores of each benchmark, or the accuracies if there is none."""
        from brittle.evaluation.tables.comparison import score_list
        from brittle.evaluation.tables.formats import Column, ScoreTable
        from brittle.metrics import Estimate

        head = f"<pre>{escape(repr(self))}</pre>"
        if len({run.images_key for run in self.runs}) == 1:
            recipes = self.benchmarks()
            if recipes:
                return head + "".join(score_list(self, recipe)._repr_html_() for recipe in recipes)
        table = self.accuracy()
        rows = tuple((*row[:3], Estimate("accuracy", row[4])) for row in table.rows()[:MOST])
        notes = (f"The first {MOST} of {len(table)} rows.",) if len(table) > MOST else ()
        columns = tuple(map(Column, ("model", "corruption", "level", "accuracy")))
        return head + ScoreTable("accuracy", "accuracy in percent", columns, rows, notes=notes)._repr_html_()

    def find_benchmark(self, benchmark: str | Benchmark | None = None) -> Benchmark:
        """The benchmark of this name; without a name the only one that some model was run through as a whole.

        A name is that of a recipe of the runs; only of results without any, such as predictions that were imported, one
        of those that come with brittle. A `Benchmark` is taken as it is.
        """
        if isinstance(benchmark, Benchmark):
            return benchmark
        complete = self.benchmarks()
        if benchmark is not None:
            named = [recipe for recipe in complete if recipe.name == benchmark]
            if named or not complete:
                return named[0] if named else load_benchmark(benchmark)
            known = ", ".join(repr(recipe.name) for recipe in complete)
            raise BrittleError(f"these results are not of the benchmark {benchmark!r}; they are of {known}")
        if len(complete) == 1:
            return complete[0]
        if not complete and self.streams is not None:
            raise BrittleError(
                "these results are of streams, which have an order and no cells to score; `stream_scores` has the "
                "error of each model over time, as have `brittle compare` and `brittle report`"
            )
        if not complete:
            raise BrittleError(
                "no model of these results was run through a whole benchmark, so there is nothing to score; "
                "results.accuracy() has the cells"
            )
        names = ", ".join(f"{recipe.name!r}" for recipe in complete)
        raise BrittleError(f"these results hold {len(complete)} benchmarks; choose one: {names}")

    def scores(self, benchmark: str | Benchmark | None = None, **how: Any) -> ScoreList:
        """The scores of every model with their intervals, the best first; options are those of `brittle.scores`."""
        from brittle.evaluation.tables.comparison import score_list

        return score_list(self, benchmark, **how)

    def compare(
        self, benchmark: str | Benchmark | None = None, *, reference: Baseline | str | None = None
    ) -> Comparison:
        """Every model against the best one, in pairs, and published scores where they are comparable."""
        from brittle.evaluation.tables.comparison import compare_with_best

        return compare_with_best(self, benchmark, reference=reference)

    def calibration(self, benchmark: str | Benchmark | None = None, **how: Any) -> CalibrationList:
        """What the confidences of every model are worth: ECE, Brier score, NLL, AURC and more, with intervals.

        Options are those of `calibration_scores`. Its `table()` has clean images and means over the corrupted cells;
        `calibration_by_cell` has every cell.
        """
        from brittle.evaluation.confidence import calibration_scores

        return calibration_scores(self, benchmark, **how)

    def failure_points(self, corruption: str | None = None, benchmark: str | Benchmark | None = None) -> LevelFailures:
        """The first level at which each image is wrong, by (model, corruption).

        Those of one corruption, such as "fog", or of all of a benchmark. `brittle.search_failure_points` finds failure
        points between the levels.
        """
        from brittle.evaluation.tables.comparison import level_failures

        return level_failures(self, corruption, benchmark)

    def by_corruption(self, benchmark: str | Benchmark | None = None, **how: Any) -> ScoreTable:
        """Each model under each corruption, every measure with its interval; options of `by_corruption_table`."""
        from brittle.evaluation.tables.scores import by_corruption_table

        return by_corruption_table(self, self.find_benchmark(benchmark), **how)

    def ranks(self, benchmark: str | Benchmark | None = None, **how: Any) -> ScoreTable:
        """The order of the models at each severity, with the ranks that other images could have given them.

        Options are those of `rank_table`, such as `by="corruption"`.
        """
        from brittle.evaluation.tables.scores import rank_table

        return rank_table(self, self.find_benchmark(benchmark), **how)

    def report(self, path: str | Path, *, title: str | None = None, reference: str | None = None) -> Path:
        """Write one HTML file that shows where the models fail, and return its path."""
        # the report stands above this room, which must not know it: whoever calls this has it loaded now, by name
        written: Path = import_module("brittle.report").write_report(self, path, title=title, reference=reference)
        return written

    def sequence_scores(self, *, reference: str | None = None) -> list[SequenceScores]:
        """How steady each model is along sequences; `reference` is the model whose rates divide those of mFR."""
        from brittle.evaluation.sequences import sequence_scores

        return sequence_scores(self, reference=reference)

    def stream_scores(self, stream: str | None = None) -> list[StreamScores]:
        """The error of each model on each stream: in all, under each corruption, and over time."""
        from brittle.evaluation.streams import stream_scores

        return stream_scores(self, stream)

    def to_pandas(self) -> Any:
        """All rows as a pandas data frame; `rows` are the same as a Polars LazyFrame."""
        from brittle.evaluation.tables.formats import to_pandas

        return to_pandas(self.rows.collect())

    @cached_property
    def models(self) -> list[str]:
        """The names of the models, sorted."""
        return sorted(self._cells_by_model)

    @cached_property
    def cells(self) -> list[Cell]:
        """What there are results for, sorted; of a range of severities the middle stands here."""
        return [Cell(*place) for place in sorted(set().union(*self._cells_by_model.values()))]

    def benchmarks(self) -> list[Benchmark]:
        """The recipes of the runs, each once; those whose cells are all there for some model."""
        recipes = {recipe.hash: recipe for run in self.runs for recipe in Store(run.folder).recipes()}
        return [recipe for recipe in recipes.values() if self.models_with(recipe.cells())]

    def models_with(self, cells: Iterable[Cell]) -> list[str]:
        """The models that have results on all these cells."""
        places = {cell.place for cell in cells}
        return [model for model in self.models if self._cells_by_model[model] >= places]

    @cached_property
    def _cells_by_model(self) -> dict[str, set[tuple[str, float]]]:
        places: dict[str, set[tuple[str, float]]] = {}
        for model, corruption, level in self.rows.select("model", "corruption", "level").unique().collect().rows():
            places.setdefault(model, set()).add((corruption, level))
        return places

    def accuracy(self) -> pl.DataFrame:
        """For each model, corruption and level: how many samples, and the share that was right."""
        return (
            self.rows.group_by("model", "corruption", "level")
            .agg(pl.len().alias("samples"), pl.col("correct").mean().alias("accuracy"))
            .sort("model", "corruption", "level")
            .collect(engine="streaming")
        )

    def clean_accuracy(self, model: str) -> float:
        """The share of clean images that a model gets right."""
        right = self.rows.filter((pl.col("model") == model) & (pl.col("corruption") == CLEAN)).select("correct")
        column = right.collect()["correct"]
        if column.is_empty():
            raise BrittleError(f"there are no clean results of {model!r}; there are models {', '.join(self.models)}")
        return float(column.sum()) / len(column)

    def matrix(self, model: str, cells: Sequence[Cell]) -> Matrix:
        """Right or wrong of one model, samples × cells, for scores and failure points.

        Samples that are not in all the cells, such as images that one cell could not read, are left out. Its arrays
        are read-only: what is not large is kept, since a report asks for it again and again.
        """
        wanted = model, tuple(cells)
        matrix = self._matrices.get(wanted)
        if matrix is None:
            matrix = self._read_matrix(model, cells)
            for array in (matrix.values, matrix.samples):
                array.flags.writeable = False
            if matrix.values.size <= KEPT_VALUES and len(self._matrices) < KEPT_MATRICES:
                self._matrices[wanted] = matrix
        return matrix

    @cached_property
    def _matrices(self) -> dict[tuple[str, tuple[Cell, ...]], Matrix]:
        return {}

    def _read_matrix(self, model: str, cells: Sequence[Cell]) -> Matrix:
        samples, [values] = self.columns(model, cells, ["correct"])
        return Matrix(values, samples)

    def columns(
        self, model: str, cells: Sequence[Cell], names: Sequence[str]
    ) -> tuple[NDArray[np.str_], list[NDArray[Any]]]:
        """Columns of the rows of one model as arrays of samples × cells, and the samples, which are in all the cells.

        Numbers that rows do not have are NaN. Columns other than "correct" are of single precision.
        """
        wanted = pl.DataFrame(
            [cell.place for cell in cells], schema=["corruption", "level"], orient="row"
        ).with_row_index("cell")
        known = set(self.rows.collect_schema().names())
        chosen = (
            self.rows.filter(
                (pl.col("model") == model) & pl.col("corruption").is_in(sorted({cell.corruption for cell in cells}))
            )
            .join(wanted.lazy(), on=["corruption", "level"], maintain_order="left")
            .select("sample", "cell", *(_column(name, known) for name in names))
            .collect()
        )
        missing = sorted(set(range(len(cells))) - set(chosen["cell"].unique()))
        if missing:
            first = cells[missing[0]]
            raise BrittleError(
                f"there are no results of {model!r} on {first.corruption} {first.severity:g} "
                f"({len(missing)} of {len(cells)} cells are missing); run it again to "
                f"fill them; there are models {', '.join(self.models)}"
            )
        aligned = _aligned(chosen, len(cells), names)
        if aligned is not None:
            return aligned
        samples = chosen["sample"].unique().sort()
        row = chosen.join(samples.to_frame().with_row_index("row"), on="sample", maintain_order="left")[
            "row"
        ].to_numpy()
        place = row.astype(np.int64) * len(cells) + chosen["cell"].to_numpy()
        seen = np.bincount(place, minlength=len(samples) * len(cells)).reshape(len(samples), len(cells))
        if seen.max() > 1:
            raise BrittleError(
                f"some samples of {model!r} appear twice; load each run once, and runs of other data apart"
            )
        complete = seen.all(axis=1)
        if not complete.any():
            raise BrittleError(f"no sample of {model!r} is in all {len(cells)} cells; their sample ids differ")
        arrays = []
        for name in names:
            values = np.empty(seen.shape, bool if name == "correct" else np.float32)
            values.flat[place] = chosen[name].to_numpy()
            arrays.append(values[complete])
        return samples.to_numpy().astype(str)[complete], arrays

    def correct(self, model: str, corruption: str) -> tuple[NDArray[np.bool_], NDArray[np.float64], list[str]]:
        """A matrix of samples × levels, clean first as level 0, its levels, and its samples: for failure points."""
        cells = [cell for cell in self.cells if cell.corruption in (corruption, CLEAN)]
        if corruption not in {cell.corruption for cell in cells}:
            raise BrittleError(f"there are no results of {model!r} on {corruption!r}")
        cells.sort(key=lambda cell: cell.severity)
        matrix = self.matrix(model, cells)
        return matrix.values, np.array([cell.severity for cell in cells]), list(matrix.samples)


def _column(name: str, known: set[str]) -> pl.Expr:
    """A column of rows as numbers, NaN where they have none; right or wrong as it is."""
    if name == "correct":
        return pl.col(name)
    column = pl.col(name) if name in known else pl.lit(None)
    return column.cast(pl.Float32).fill_null(float("nan")).alias(name)


def _aligned(
    chosen: pl.DataFrame, cells: int, names: Sequence[str]
) -> tuple[NDArray[np.str_], list[NDArray[Any]]] | None:
    """The arrays if each cell is one stretch of rows with the same samples in the same order, as a run writes them."""
    starts = np.flatnonzero(np.diff(chosen["cell"].to_numpy().astype(np.int64), prepend=-1))
    parts = [chosen[start:end] for start, end in pairwise([*starts.tolist(), len(chosen)])]
    samples = parts[0]["sample"]
    if len(parts) != cells or not all(part["sample"].equals(samples) for part in parts[1:]):
        return None
    order = samples.arg_sort()
    ordered = samples.gather(order)
    if (ordered[1:] == ordered[:-1]).any():
        return None
    arrays, rows = [], order.to_numpy()
    for name in names:
        values = np.empty((len(samples), cells), bool if name == "correct" else np.float32)
        for part in parts:
            values[:, part["cell"][0]] = part[name].to_numpy()
        arrays.append(values[rows])
    return ordered.to_numpy().astype(str), arrays


def by_corruption(benchmark: Benchmark) -> Callable[[FloatArray], FloatArray]:
    """From values on the cells, on the last axis, to their means over the levels of each corruption."""
    counts = [len(entry.levels) for entry in benchmark.entries]
    weights = np.zeros((sum(counts), len(counts)))
    start = 0
    for column, count in enumerate(counts):
        weights[start : start + count, column] = 1 / count
        start += count
    return lambda values: np.asarray(np.asarray(values) @ weights)


def load_results(*runs: str | Path) -> Results:
    """The rows of one or more runs, concatenated.

    >>> import brittle, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = brittle.evaluate("demo:standard", brittle.load_dataset("demo").limited(20), folder=folder)
    ...     brittle.load_results(folder).models
    ['demo-standard']
    """
    if not runs:
        raise BrittleError("name at least one run to load")
    about = tuple(Store(folder).about() for folder in runs)
    return _read(about, about)


def _read(runs: tuple[Run, ...], among: Sequence[Run]) -> Results:
    """The rows of some runs, with the names that models have `among` these."""
    stores, known = ([Store(run.folder) for run in chosen] for chosen in (runs, among))
    with_sequences = [store for store in stores if has_sequences(store)]
    sequences = scan(with_sequences, known, SEQUENCES) if with_sequences else None
    if sequences is not None and not any((store.folder / CELLS).is_dir() for store in stores):
        return Results(
            sequences.select(COLUMNS[: -len(OF_LABEL)]).limit(0), runs, sequences
        )  # published sequences: no clean images
    with_streams = [store for store in stores if any((store.folder / STREAMS).glob("*/*.parquet"))]
    streams = scan(with_streams, known, STREAMS) if with_streams else None
    return Results(scan(stores, known).select(COLUMNS), runs, sequences, streams)


def same_images(results: Results) -> list[Results]:
    """One Results for each set of images, since rows of different images must not be averaged together."""
    if len(results.runs) < 2:
        return [results]
    groups: list[tuple[Any, dict[tuple[str, float], str], list[Run]]] = []
    for run in results.runs:
        keys = {c.place: c.key for recipe in Store(run.folder).recipes() for c in plan(recipe)}
        for data, known, runs in groups:
            if data == _data(run) and all(known.get(cell, key) == key for cell, key in keys.items()):
                known |= keys
                runs.append(run)
                break
        else:
            groups.append((_data(run), keys, [run]))
    return [_together(runs, results) for _, _, runs in groups]


def _data(run: Run) -> tuple[Any, ...]:
    """What tells sets of images apart: a digest, or for published sets on disk what is known of them."""
    return *run.images_key, None if run.data_key is not None else (run.data, run.images)


def _together(runs: list[Run], results: Results) -> Results:
    """The rows of some of the runs, those on the same images, with the names that the models have in all of them."""
    together = _read(tuple(runs), results.runs)
    return replace(together, rows=together.rows.filter(pl.col("model").is_in(results.models)))


def aligned_files(results: Results) -> dict[tuple[str, str, float], Path]:
    """The file of each (model, corruption, level), if all of them have the same samples in the same order; else none.

    Whoever reads these files can do without the ids of the samples, which take most of the time.
    """
    stores = [Store(run.folder) for run in results.runs]
    cells = {f"{cell.file_name}.parquet": cell for one in stores for recipe in one.recipes() for cell in plan(recipe)}
    found: dict[tuple[str, str, float], Path] = {}
    orders = set()
    for ending, files in model_files(stores) if stores else ():
        model = next(iter(pl.read_parquet(files[0], columns=["model"], n_rows=1, glob=False)["model"]), "") + ending
        for file in files:
            place = (model, *cells[file.name].place) if file.name in cells else None
            if place is None or place in found:
                return {}
            orders.add(row_metadata(file).get(SAMPLES))
            found[place] = file
    return found if len(orders) == 1 and None not in orders else {}


def has_sequences(store: Store) -> bool:
    """Whether a run has shown sequences to a model."""
    return any((store.folder / SEQUENCES).glob("*/*.parquet"))
