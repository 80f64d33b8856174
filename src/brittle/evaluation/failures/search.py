"""The severity at which each image fails, found by bisection."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from brittle._errors import BrittleError
from brittle._io import file_name, make_way
from brittle._parallel import torch_threads
from brittle._types import FloatArray, Image, Progress
from brittle.benchmarks import Benchmark, Entry
from brittle.evaluation.cell import Classes, Drawn, Predictions, common_batch_size, infer
from brittle.evaluation.inputs import as_dataset, as_models, check, decode, fitted, needed_benchmark, with_names_of
from brittle.evaluation.records import Call
from brittle.evaluation.row_files import FAILURE_POINTS, missing_rows
from brittle.evaluation.store import Store, kept_recipe, model_folder
from brittle.metrics import FailurePoints
from brittle.models.model import Model

Tick = Callable[[int], None]
"""Called with the number of images just shown."""


@dataclass(frozen=True, eq=False)
class Search:
    """What a search found for each sample.

    `failed` is the smallest severity known to fail (0: wrong when clean; inf: never wrong), `held` the largest one
    below it at which the sample was right, `evaluations` how often the model evaluated the sample. `prediction` is what
    it takes the sample for at `failed` (-1: it never fails); the confidences are those of its predictions.
    """

    failed: FloatArray
    held: FloatArray
    resolution: float
    max_severity: float
    evaluations: NDArray[np.int32]
    prediction: NDArray[np.int32]
    clean_confidence: NDArray[np.float32]
    held_confidence: NDArray[np.float32]
    failed_confidence: NDArray[np.float32]

    @property
    def shown(self) -> int:
        """How many images the model evaluated."""
        return int(self.evaluations.sum())

    @property
    def points(self) -> FailurePoints:
        """The failure points, on the grid that the search resolves."""
        steps = round(self.max_severity / self.resolution)
        return FailurePoints(self.failed, np.arange(steps + 1, dtype=np.float64) * self.resolution)

    @property
    def shown_by_a_grid(self) -> int:
        """How many images a grid of the same resolution would have shown."""
        return len(self.failed) * (round(self.max_severity / self.resolution) + 1)


def bisect(
    model: Model,
    source: Drawn,
    labels: NDArray[np.integer],
    corruption: str,
    *,
    classes: Classes | None = None,
    step: float = 1.0,
    tolerance: float = 0.05,
    batch_size: int = 64,
    threads: int | None = None,
    tick: Tick | None = None,
) -> Search:
    """The severity at which each image is first wrong.

    Whole steps are tried upwards until the first failure, then the step below it is halved until it is narrower than
    `tolerance`. A sample that fails and recovers within one step may hide its first failure; with `step` equal to
    `tolerance` the search is a grid and hides nothing, with `step` equal to the largest severity it is pure halving.
    """
    if source.benchmark is None:
        raise BrittleError("a search for failure points needs a benchmark that draws the corruption")
    highest = float(source.benchmark.entry(corruption).corruption.max_severity)
    if not 0 < tolerance <= step <= highest:
        raise BrittleError(
            f"tolerance and step are severities with 0 < tolerance ≤ step ≤ {highest:g}, got {tolerance:g} and {step:g}"
        )
    if not float(highest / step).is_integer():
        raise BrittleError(
            f"whole steps must end at {highest:g}, got step {step:g}; take {highest:g} over a whole number"
        )
    halvings = math.ceil(math.log2(step / tolerance) - 1e-9)
    evaluator = _Evaluator(
        model, source, np.asarray(labels), corruption, classes or Classes(), batch_size, threads, tick
    )
    count = len(source)
    failed, held = np.full(count, np.inf), np.zeros(count)
    prediction = np.full(count, -1, np.int32)
    held_confidence, failed_confidence = np.full(count, np.nan, np.float32), np.full(count, np.nan, np.float32)

    def evaluate(samples: NDArray[np.int64], severities: FloatArray) -> NDArray[np.float32]:
        """Move both ends of the samples' intervals by the model's predictions at these severities."""
        predictions, confidences = evaluator(samples, severities)
        right = predictions == evaluator.labels[samples]
        standing, fallen = samples[right], samples[~right]
        held[standing], held_confidence[standing] = severities[right], confidences[right]
        failed[fallen], failed_confidence[fallen] = severities[~right], confidences[~right]
        prediction[fallen] = predictions[~right]
        return confidences

    clean_confidence = evaluate(np.arange(count), np.zeros(count))
    for severity in np.arange(1, round(highest / step) + 1) * step:
        standing = np.flatnonzero(np.isinf(failed))
        evaluate(standing, np.full(len(standing), severity))
    for _ in range(halvings):
        between = np.flatnonzero(np.isfinite(failed) & (failed > 0))
        evaluate(between, (held[between] + failed[between]) / 2)
    return Search(
        failed,
        held,
        step / 2**halvings,
        highest,
        evaluator.evaluations,
        prediction,
        clean_confidence,
        held_confidence,
        failed_confidence,
    )


@dataclass(frozen=True, eq=False)
class _Evaluator:
    """Evaluates the model: its predictions and confidences for samples at severities."""

    model: Model
    source: Drawn
    labels: NDArray[np.integer]
    corruption: str
    classes: Classes
    batch_size: int
    threads: int | None
    tick: Tick | None

    @cached_property
    def evaluations(self) -> NDArray[np.int32]:
        """How often each sample was evaluated."""
        return np.zeros(len(self.source), np.int32)

    def __call__(self, samples: NDArray[np.int64], severities: FloatArray) -> Predictions:
        source, benchmark = self.source, self.source.benchmark
        assert benchmark is not None

        def draw(start: int) -> Image:
            stop = start + self.batch_size
            return np.stack(
                [
                    benchmark.apply(np.array(source.images[i]), self.corruption, float(s), source.ids[i])
                    if s
                    else source.images[i]
                    for i, s in zip(samples[start:stop], severities[start:stop], strict=True)
                ]
            )

        name = self.corruption.rpartition("/")[2]
        where = f"{name} at severities of {severities.min():g} to {severities.max():g}" if len(samples) else name
        predictions, sure = np.empty(len(samples), np.int32), np.empty(len(samples), np.float32)
        starts = range(0, len(samples), self.batch_size)
        batches = infer([self.model], draw, starts, self.classes, threads=self.threads, where=where)
        for start, [(classes, confidences)] in zip(starts, batches, strict=True):
            part = slice(start, start + len(classes))
            predictions[part], sure[part] = classes, confidences
            if self.tick is not None:
                self.tick(len(classes))
        self.evaluations[samples] += 1
        return predictions, sure


def search_failure_points(
    model: Any,
    data: Any,
    benchmark: str | Path | Benchmark = "imagenet-c",
    folder: str | Path | None = None,
    *,
    search_step: float = 1.0,
    tolerance: float = 0.05,
    batch_size: int | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    overwrite: bool = False,
) -> pl.DataFrame:
    """The smallest severity at which a model is wrong, image by image, on the continuous axis of each corruption.

    >>> import brittle
    >>> blur = brittle.Benchmark("blur", [brittle.benchmarks.Entry("gaussian_blur", [1, 5])])
    >>> images = brittle.load_dataset("demo").limited(20)
    >>> points = brittle.search_failure_points("demo:standard", images, blur, tolerance=0.5)
    >>> points.height, points["max_severity"][0]
    (20, 5.0)

    Models, data, benchmark and folder are given as to `evaluate`. The levels of the recipe do not matter, only its
    corruptions, seed and options. Each search is made by `bisect`; one that the folder holds is read, not made again.
    The rows are model, corruption, sample, label, what was found (see `Search`), resolution and max_severity.
    `overwrite` removes the run that the folder holds, and starts from scratch.
    """
    if folder is None:
        with TemporaryDirectory(prefix="brittle-") as place:
            return search_failure_points(
                model,
                data,
                benchmark,
                place,
                search_step=search_step,
                tolerance=tolerance,
                batch_size=batch_size,
                threads=threads,
                progress=progress,
            )
    models, dataset, benchmark = as_models(model), as_dataset(data), needed_benchmark(benchmark)
    check(models, dataset, batch_size)
    dataset = fitted(dataset, models, None if overwrite else folder)
    models = with_names_of(models, dataset)
    store = Store(folder)
    store.claim_for(dataset, overwrite=overwrite)
    searches = [(model, entry) for model in models for entry in benchmark.entries]
    paths = {}
    for model, entry in searches:
        drawn = drawn_key(benchmark, entry)
        name = f"{file_name(entry.id)}-{drawn}-{search_step:g}-{tolerance:g}.parquet"
        paths[model.name, entry.id] = store.folder / FAILURE_POINTS / model_folder(model) / name
    again = "the search is made again"
    missing = [(model, entry) for model, entry in searches if missing_rows(paths[model.name, entry.id], again)]
    if missing:
        call = Call(failure_points=benchmark.name, recipe=benchmark.hash, step=search_step, tolerance=tolerance)
        with store.recorded(call):
            decoded = decode(dataset, store.folder)
            with torch_threads(threads):
                size = batch_size or common_batch_size(models, decoded.images.shape[1:], len(decoded.images))
            ids = [dataset.ids[i] for i in decoded.kept]
            assert dataset.labels is not None
            labels = dataset.labels[decoded.kept]
            for done, (model, entry) in enumerate(missing):
                if progress is not None:
                    progress(f"{model.name} {entry.corruption.name}", done, len(missing))
                search = bisect(
                    model,
                    Drawn(decoded.images, ids, benchmark),
                    labels,
                    entry.id,
                    classes=Classes.of(dataset),
                    step=min(search_step, entry.corruption.max_severity),
                    tolerance=tolerance,
                    batch_size=size,
                    threads=threads,
                )
                path = paths[model.name, entry.id]
                rows = _rows(model.name, entry.id, list(map(str, ids)), labels, search)
                rows = rows.with_columns(key=pl.lit(model.key), drawn=pl.lit(drawn_key(benchmark, entry)))
                store.write_rows(path, rows)
            if progress is not None:
                progress("", len(missing), len(missing))
    _keep_recipe(store.folder, benchmark)
    return pl.concat([pl.read_parquet(path, glob=False, hive_partitioning=False) for path in paths.values()])


def drawn_key(benchmark: Benchmark, entry: Entry) -> str:
    """Names how a corruption is drawn, whatever its levels: seed, table, storage, options and user code."""
    return benchmark.cell(entry, 1.0).key


def _keep_recipe(folder: Path, benchmark: Benchmark) -> None:
    """Put the recipe beside its failure points, so that their pictures can be drawn again."""
    path = folder / FAILURE_POINTS / f"{benchmark.hash}.toml"
    recipe = kept_recipe(path)
    if recipe is None or recipe.hash != benchmark.hash:
        make_way(path)
        benchmark.save(path)


def searched_recipes(folder: str | Path) -> list[Benchmark]:
    """The recipes whose corruptions were searched for failure points in a run's folder."""
    place = Path(folder) / FAILURE_POINTS
    files = sorted(place.iterdir()) if place.is_dir() else []
    recipes = [kept_recipe(path) for path in files if path.suffix == ".toml"]
    return [recipe for recipe in recipes if recipe is not None]


def load_failure_points(folder: str | Path) -> pl.DataFrame | None:
    """All searches that a run's folder holds; None if there are none."""
    files = sorted((Path(folder) / FAILURE_POINTS).glob("*/*.parquet"))
    intact = [file for file in files if not missing_rows(file, "repeat the command to search again")]
    return (
        pl.concat([pl.read_parquet(file, glob=False, hive_partitioning=False) for file in intact]) if intact else None
    )


def _rows(
    model: str, corruption: str, samples: list[str], labels: np.ndarray[tuple[int], np.dtype[np.int64]], search: Search
) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "sample": samples,
            "label": labels.astype(np.int32),
            "failed": search.failed,
            "held": search.held,
            "evaluations": search.evaluations,
            "prediction": search.prediction,
            "clean_confidence": search.clean_confidence,
            "held_confidence": search.held_confidence,
            "failed_confidence": search.failed_confidence,
        }
    ).select(
        pl.lit(model).alias("model"),
        pl.lit(corruption).alias("corruption"),
        pl.all(),
        pl.lit(search.resolution).alias("resolution"),
        pl.lit(search.max_severity).alias("max_severity"),
    )
