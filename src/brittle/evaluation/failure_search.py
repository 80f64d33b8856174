"""Failure points of models on every corruption of a benchmark, kept beside the rows of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import polars as pl

from brittle._io import file_name, is_whole, missing_or_damaged
from brittle.benchmarks import Benchmark, Entry
from brittle.datasets.dataset import Dataset
from brittle.evaluation.bisect import Search, bisect
from brittle.evaluation.cell import cell_key
from brittle.evaluation.decode import decode, fitted
from brittle.evaluation.engines import cores
from brittle.evaluation.predict import Classes
from brittle.evaluation.run import check
from brittle.evaluation.source import Drawn
from brittle.evaluation.store import FAILURE_POINTS, Store, model_folder
from brittle.models.batch_size import common_batch_size
from brittle.models.model import Model
from brittle.threads import torch_threads

Progress = Callable[[str, int, int], None]
"""Called with (what is searched, searches done, searches in all)."""


def search_failure_points(
    models: Model | Sequence[Model],
    dataset: Dataset,
    benchmark: Benchmark,
    folder: str | Path,
    *,
    step: float = 1.0,
    tolerance: float = 0.05,
    batch_size: int | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    overwrite: bool = False,
) -> pl.DataFrame:
    """Each sample's failure point on each corruption, by `bisect`; a search that is there already is read, not made.

    The levels of the recipe do not matter, only its corruptions, seed and options. The rows are model, corruption,
    sample, label, what was found (see `Search`), resolution and max_severity, one file for each search. `overwrite`
    removes the run that the folder holds, and starts anew.
    """
    several = list(models) if isinstance(models, Sequence) else [models]
    check(several, dataset, batch_size)
    dataset = fitted(dataset, several, None if overwrite else folder)
    store = Store(folder)
    store.claim_for(dataset, overwrite=overwrite)
    searches = [(model, entry) for model in several for entry in benchmark.entries]
    paths = {}
    for model, entry in searches:
        drawn = drawn_key(benchmark, entry)
        name = f"{file_name(entry.id)}-{drawn}-{step:g}-{tolerance:g}.parquet"
        paths[model.name, entry.id] = store.folder / FAILURE_POINTS / model_folder(model) / name
    again = "the search is made again"
    missing = [(model, entry) for model, entry in searches if missing_or_damaged(paths[model.name, entry.id], again)]
    if missing:
        about = {"failure_points": benchmark.name, "recipe": benchmark.hash, "step": step, "tolerance": tolerance}
        with ExitStack() as stack, store.recorded(about):
            decoded = decode(dataset, store.folder)
            stack.enter_context(torch_threads(threads))
            size = batch_size or common_batch_size(several, decoded.images.shape[1:], len(decoded.images))
            ids = [dataset.ids[i] for i in decoded.kept]
            assert dataset.labels is not None
            labels = dataset.labels[decoded.kept]
            for done, (model, entry) in enumerate(missing):
                if progress is not None:
                    progress(f"{model.name} {entry.corruption.name}", done, len(missing))
                found = bisect(
                    model,
                    Drawn(decoded.images, ids, benchmark),
                    labels,
                    entry.id,
                    classes=Classes.of(dataset),
                    step=min(step, entry.corruption.max_severity),
                    tolerance=tolerance,
                    batch_size=size,
                    threads=threads or cores(),
                )
                path = paths[model.name, entry.id]
                rows = _rows(model.name, entry.id, list(map(str, ids)), labels, found)
                rows = rows.with_columns(key=pl.lit(model.key), drawn=pl.lit(drawn_key(benchmark, entry)))
                store.write_rows(path, rows)
            _keep_recipe(store.folder, benchmark)
            if progress is not None:
                progress("", len(missing), len(missing))
    return pl.concat([pl.read_parquet(path, glob=False, hive_partitioning=False) for path in paths.values()])


def drawn_key(benchmark: Benchmark, entry: Entry) -> str:
    """Names how a corruption is drawn, whatever its levels: seed, table, storage, options and code of one's own."""
    return cell_key(benchmark, entry, 1.0)


def _keep_recipe(folder: Path, benchmark: Benchmark) -> None:
    """Put the recipe beside its failure points, so that their pictures can be drawn again."""
    path = folder / FAILURE_POINTS / f"{benchmark.hash}.toml"
    if missing_or_damaged(path, "it is written again"):
        benchmark.save(path)


def searched_recipes(folder: str | Path) -> list[Benchmark]:
    """The recipes whose corruptions were searched for failure points in a run's folder."""
    place = Path(folder) / FAILURE_POINTS
    files = sorted(place.iterdir()) if place.is_dir() else []
    return [Benchmark.load(path) for path in files if path.suffix == ".toml" and is_whole(path)]


def load_failure_points(folder: str | Path) -> pl.DataFrame | None:
    """All searches that a run's folder holds; None if there are none."""
    files = sorted((Path(folder) / FAILURE_POINTS).glob("*/*.parquet"))
    whole = [file for file in files if not missing_or_damaged(file, "give the same command again to search anew")]
    return pl.concat([pl.read_parquet(file, glob=False, hive_partitioning=False) for file in whole]) if whole else None


def _rows(
    model: str, corruption: str, samples: list[str], labels: np.ndarray[tuple[int], np.dtype[np.int64]], found: Search
) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "sample": samples,
            "label": labels.astype(np.int32),
            "failed": found.failed,
            "held": found.held,
            "evaluations": found.evaluations,
            "prediction": found.prediction,
            "clean_confidence": found.clean_confidence,
            "held_confidence": found.held_confidence,
            "failed_confidence": found.failed_confidence,
        }
    ).select(
        pl.lit(model).alias("model"),
        pl.lit(corruption).alias("corruption"),
        pl.all(),
        pl.lit(found.resolution).alias("resolution"),
        pl.lit(found.max_severity).alias("max_severity"),
    )
