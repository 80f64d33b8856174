"""Run models on a published set from disk."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brittle._errors import BrittleError
from brittle._identity import digest
from brittle._parallel import cores
from brittle._types import Image, Progress
from brittle.benchmarks import Benchmark, Cell, load_benchmark
from brittle.datasets import UnreadableImage
from brittle.datasets.dataset import Dataset
from brittle.datasets.load import STORED, StoredSet
from brittle.evaluation.cell import CellRows, Classes, infer_labelled, joined
from brittle.evaluation.inputs import check, with_names_of
from brittle.evaluation.records import Call, CallbackList, started_run
from brittle.evaluation.results import Results, load_results
from brittle.evaluation.store import Store, model_folder
from brittle.models.model import Model

DEFAULT_BATCH = 64

CellKeys = dict[Cell, str]


def cell_keys(stored: StoredSet, threads: int, progress: Progress | None = None) -> CellKeys:
    """Each cell with the `portable_key` of its dataset: a copy of the set has the same, whatever its times of change.

    Of folders every file's name and size is asked for and a few files are read; arrays are read through.
    """
    keys: CellKeys = {}
    with ThreadPoolExecutor(threads) as pool:
        computed = pool.map(lambda read: read().portable_key, stored.cells.values())
        for cell, key in zip(stored.cells, computed, strict=True):
            keys[cell] = key
            if progress is not None:
                progress("checking the files", len(keys), len(stored.cells))
    return keys


def identity(keys: CellKeys) -> dict[str, Any]:
    """The keys as a run's folder keeps them: one for all, and that of each cell, which says where a set differs."""
    cells = [
        {"corruption": cell.corruption, "level": cell.level, "key": keys[cell]}
        for cell in sorted(keys, key=lambda cell: cell.place)
    ]
    return {"data_key": digest(cells), "cell_count": len(cells), "cells": cells}


def check_cells(store: Store, about: Mapping[str, Any], keys: CellKeys) -> None:
    """Raise unless an existing run saw these files, in every cell; `about` identifies the set."""
    known = store.known() or {}
    if not known or not store.has_results() or any(known.get(what) != value for what, value in about.items()):
        return  # a new run, or one of another set: claiming the folder finds out
    where = repr(str(store.folder))
    if "cells" not in known:
        raise BrittleError(
            f"{where} is a run of an earlier brittle, which noted the files of the first cell only, so it is "
            "unknown whether the others have changed; it can be read and reported, but not resumed: choose "
            "another folder"
        )
    before = {Cell(row["corruption"], float(row["level"]), STORED): row["key"] for row in known["cells"]}
    changed = [cell.title for cell, key in keys.items() if before.get(cell, key) != key]
    if changed:
        more = f" and {len(changed) - 1} more of {len(keys)} cells" if len(changed) > 1 else ""
        raise BrittleError(
            f"the files of {changed[0]}{more} are others than those that the run in {where} saw; put them back, or "
            "choose another folder"
        )
    if before.keys() != keys.keys():
        raise BrittleError(
            f"{where} holds a run on {len(before)} cells, and this set has {len(keys)}, not just the same ones; "
            "choose another folder"
        )


def evaluate_stored(
    models: Model | Sequence[Model],
    stored: StoredSet,
    folder: str | Path,
    *,
    clean: Dataset | None = None,
    batch_size: int | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    overwrite: bool = False,
    callbacks: CallbackList | None = None,
) -> Results:
    """Every cell of a stored set, each a unit of work as in `evaluate`; images that cannot be read are left out.

    `clean` adds the clean images, which such sets do not hold, and which the accuracy drop and relative mCE need. For
    generated images it is any set of the same classes, such as ImageNet's validation set, whose accuracy is then the ID
    accuracy of slopes.
    Before anything is computed or reused every cell's files are checked (see `cell_keys`), and a run on other files
    is refused; a copy of the set resumes the run of the original. `overwrite` removes the run that the folder
    holds, and starts from scratch.
    """
    callbacks = callbacks or CallbackList()
    chosen: list[Model] = list(models) if isinstance(models, Sequence) else [models]
    store = Store(folder)
    cells = dict(stored.cells)
    first = next(iter(cells.values()))()
    check(chosen, first, batch_size)
    chosen = with_names_of(chosen, first)
    known = {"data": stored.name, "stored": stored.scheme, "images": len(first), "classes": list(first.classes)}
    keys = cell_keys(stored, threads or cores(), progress)
    if clean is not None and stored.scheme == "cns-bench":
        _check_classes(clean, first)  # generated images have no clean ones: these are for the ID accuracy
    elif clean is not None:
        _check_clean(clean, first)
    if not overwrite:
        check_cells(store, known, keys)
    store.claim({**known, **identity(keys)}, overwrite=overwrite)
    if clean is not None:
        cells = {Cell(): lambda: clean, **cells}
    for name in stored.recipes:
        recipe = load_benchmark(name)
        in_place = {entry.id for entry in recipe.entries} <= {cell.corruption for cell in stored.cells}
        if in_place and (stored.written_by is None or _drew(stored.written_by, recipe)):
            store.keep_recipe(recipe)
    size = batch_size or next(filter(None, map(store.batch_size, chosen)), DEFAULT_BATCH)
    for model in chosen:
        store.keep_model(model, batch_size)
    missing = {c: [m for m in chosen if not store.has(model_folder(m), c)] for c in cells}
    todo = [cell for cell, those in missing.items() if those]
    call = Call(stored=stored.name, folder=stored.folder, batch_size=size, models={m.name: m.key for m in chosen})
    call.written_by_brittle = stored.written_by is not None
    callbacks.start(started_run(folder, stored.name, len(first), call, todo))
    run = _StoredRun(store, call, size, threads, callbacks)
    with store.recorded(call):
        for done, cell in enumerate(todo):
            dataset = cells[cell]()
            name = dataset.name if cell.is_clean else stored.name
            run.fill(cell, dataset, name, missing[cell])
            if progress is not None:
                progress(cell.title, done + 1, len(todo))
    return load_results(folder)


def _drew(writer: Benchmark, recipe: Benchmark) -> bool:
    """Whether pictures written by one recipe are those of another: they may hold more corruptions than it has."""
    wanted = {entry.id for entry in recipe.entries}
    shared = tuple(entry for entry in writer.entries if entry.id in wanted)
    return len(shared) == len(wanted) and replace(writer, entries=shared, storage=recipe.storage).draws_like(recipe)


def _check_clean(clean: Dataset, corrupted: Dataset) -> None:
    """Raise unless clean images are those that were corrupted: the same samples with the same labels."""
    assert corrupted.labels is not None
    same = tuple(map(str, clean.ids)) == tuple(map(str, corrupted.ids))
    if not same or clean.labels is None or (clean.labels != corrupted.labels).any():
        raise BrittleError(
            f"the clean images {clean.name!r} ({len(clean)}) are not those of the corrupted ones ({len(corrupted)}): "
            f"samples and labels must be the same; ids are {clean.ids[0]!r} and {corrupted.ids[0]!r}"
        )


def _check_classes(clean: Dataset, generated: Dataset) -> None:
    """Raise unless clean images have the classes of generated ones."""
    if clean.labels is None or clean.outputs != generated.outputs:
        raise BrittleError(
            f"the clean images {clean.name!r} have {clean.outputs or 'no'} classes, and the generated ones "
            f"{generated.outputs}; give images of the same classes"
        )


@dataclass(frozen=True)
class _StoredRun:
    """Where the rows of a stored set go, and how they are computed."""

    store: Store
    call: Call
    batch_size: int
    threads: int | None
    callbacks: CallbackList

    def fill(self, cell: Cell, dataset: Dataset, data: str, models: list[Model]) -> None:
        """Compute a cell for the models and write it."""
        assert dataset.labels is not None
        labels = np.asarray(dataset.labels)
        readable: dict[int, list[int]] = {}

        def read(start: int) -> tuple[Image, NDArray[np.integer[Any]]]:
            good, images = readable.setdefault(start, []), []
            for index in range(start, min(start + self.batch_size, len(dataset))):
                try:
                    images.append(dataset.image(index))
                    good.append(index)
                except UnreadableImage as error:
                    self.call.skipped[f"{cell.title}: {dataset.ids[index]}"] = str(error)
            if len({image.shape for image in images}) > 1:
                raise BrittleError(
                    f"{cell.title} has images of different sizes, such as {images[0].shape}; bring them to one"
                )
            shown = np.stack(images) if images else np.empty((0, 1, 1, 3), np.uint8)
            return shown, labels[good]

        starts, classes = range(0, len(dataset), self.batch_size), Classes.of(dataset)
        predicted = list(infer_labelled(models, read, starts, classes, threads=self.threads, where=cell.of(data)))
        kept = [index for start in starts for index in readable[start]]
        for model, batches in zip(models, zip(*predicted, strict=True), strict=True):
            rows = CellRows([str(dataset.ids[i]) for i in kept], dataset.labels[kept], *joined(batches))
            self.store.write(model, cell, rows)
            self.callbacks.call("on_cell_end", model.name, cell, rows.accuracy, len(kept))
