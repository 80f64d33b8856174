"""Failure points of models on every corruption of a benchmark, kept beside the rows of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from brittle.benchmarks import Benchmark, Entry
from brittle.datasets.atomic import replacing
from brittle.datasets.dataset import Dataset
from brittle.evaluation.bisect import Search, bisect
from brittle.evaluation.calls import recorded
from brittle.evaluation.decode import decode
from brittle.evaluation.engines import cores
from brittle.evaluation.predict import Classes
from brittle.evaluation.run import DEFAULT_BATCH, check
from brittle.evaluation.source import Drawn
from brittle.evaluation.store import Store, model_folder
from brittle.models.model import Model

FOLDER = "failure-points"

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
) -> pl.DataFrame:
    """Each sample's failure point on each corruption, by `bisect`; a search that is there already is read, not made.

    The levels of the recipe do not matter, only its corruptions, seed and options. The rows are model, corruption,
    sample, label, what was found (see `Search`), resolution and max_severity, one file for each search.
    """
    several = list(models) if isinstance(models, Sequence) else [models]
    check(several, dataset, batch_size)
    store = Store(folder)
    store.claim_for(dataset)
    searches = [(model, entry) for model in several for entry in benchmark.entries]
    paths = {}
    for model, entry in searches:
        drawn = drawn_key(benchmark, entry)
        name = f"{entry.id.replace('/', '.')}-{drawn}-{step:g}-{tolerance:g}.parquet"
        paths[model.name, entry.id] = store.folder / FOLDER / model_folder(model) / name
    missing = [(model, entry) for model, entry in searches if not paths[model.name, entry.id].is_file()]
    if missing:
        about = {"failure_points": benchmark.name, "recipe": benchmark.hash, "step": step, "tolerance": tolerance}
        with recorded(store.folder, about):
            decoded = decode(dataset, store.folder)
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
                    batch_size=batch_size or DEFAULT_BATCH,
                    threads=threads or cores(),
                )
                path = paths[model.name, entry.id]
                rows = _rows(model.name, entry.id, list(map(str, ids)), labels, found)
                rows = rows.with_columns(key=pl.lit(model.key), drawn=pl.lit(drawn_key(benchmark, entry)))
                path.parent.mkdir(parents=True, exist_ok=True)
                with replacing(path) as part:
                    rows.write_parquet(part, compression="zstd")
            _keep_recipe(store.folder, benchmark)
            if progress is not None:
                progress("", len(missing), len(missing))
    return pl.concat([pl.read_parquet(path) for path in paths.values()])


def drawn_key(benchmark: Benchmark, entry: Entry) -> str:
    """Names how a corruption is drawn, whatever its levels: seed, table, storage and options."""
    return replace(benchmark, version=1, entries=(replace(entry, levels=(1.0,)),)).hash[:8]


def _keep_recipe(folder: Path, benchmark: Benchmark) -> None:
    """Put the recipe beside its failure points, so that their pictures can be drawn again."""
    path = folder / FOLDER / f"{benchmark.hash}.toml"
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as part:
            benchmark.save(part)


def searched_recipes(folder: str | Path) -> list[Benchmark]:
    """The recipes whose corruptions were searched for failure points in a run's folder."""
    place = Path(folder) / FOLDER
    files = sorted(place.iterdir()) if place.is_dir() else []
    return [Benchmark.load(path) for path in files if path.suffix == ".toml"]


def load_failure_points(folder: str | Path) -> pl.DataFrame | None:
    """All searches that a run's folder holds; None if there are none."""
    files = sorted((Path(folder) / FOLDER).glob("*/*.parquet"))
    return pl.concat([pl.read_parquet(file) for file in files]) if files else None


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
