"""Predictions that were made elsewhere, as a run like any other."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import numpy as np
import polars as pl

from brittle.arrays import Image
from brittle.benchmarks import Benchmark
from brittle.corruptions import find
from brittle.datasets.dataset import Dataset, no_labels
from brittle.evaluation.cell import CLEAN, Cell
from brittle.evaluation.results import Results, load_results
from brittle.evaluation.store import Store, model_folder
from brittle.models.model import Scores
from brittle.models.predictions import read_predictions


@dataclass(frozen=True)
class _Absent:
    """A model of which only the predictions are here."""

    name: str
    key: str

    def scores(self, images: Image) -> Scores:
        raise TypeError(f"{self.name!r} is known by its predictions only; it cannot be shown {len(images)} more images")


def import_predictions(
    path: str | Path,
    dataset: Dataset,
    folder: str | Path,
    *,
    name: str | None = None,
    benchmark: Benchmark | None = None,
) -> Results:
    """Bring a file of predictions (see `read_predictions`) into a run's folder, joined with the dataset's labels.

    Corruptions that brittle knows get their full ids. The `benchmark` says which recipe the predictions belong to, so
    that its scores can be given. Predictions for samples that the dataset does not have raise.
    """
    path = Path(path)
    table = read_predictions(path)
    if dataset.labels is None:
        raise no_labels(dataset, "so nothing can be right or wrong")
    labels = pl.DataFrame({"sample": list(map(str, dataset.ids)), "label": dataset.labels.astype(np.int32)})
    joined = table.join(labels, on="sample", how="left", maintain_order="left")
    strangers = joined.filter(pl.col("label").is_null())["sample"].unique().to_list()
    if strangers:
        raise ValueError(
            f"{str(path)!r} has predictions for {len(strangers)} samples that {dataset.name!r} does not have, such as "
            f"{sorted(strangers)[0]!r}; its ids are like {str(dataset.ids[0])!r}"
        )
    largest = int(table["prediction"].cast(pl.Int64).to_numpy().max())
    if dataset.outputs is not None and largest >= dataset.outputs:
        raise ValueError(
            f"{str(path)!r} predicts class {largest}, but {dataset.name!r} has classes 0 to {dataset.outputs - 1}"
        )
    names = {str(name): _identity(str(name), benchmark) for name in table["corruption"].unique() if name != CLEAN}
    if len(set(names.values())) < len(names):
        raise ValueError(f"{str(path)!r} names a corruption in two ways: {', '.join(sorted(names))}; name each in one")
    if benchmark is not None:
        strange = sorted(set(names.values()) - {entry.id for entry in benchmark.entries})
        if strange:
            raise ValueError(f"{str(path)!r} has {', '.join(strange)}, which {benchmark.name!r} does not have")
    model = _Absent(name or path.stem, sha256(path.read_bytes()).hexdigest()[:16])
    store = Store(folder)
    store.claim_for(dataset)
    if benchmark is not None:
        store.keep_recipe(benchmark)
    store.keep_model(model, 1)
    with store.recorded({"predictions": path.name, "models": {model.name: model.key}}):
        for (corruption, level), rows in joined.group_by("corruption", "level", maintain_order=True):
            cell = Cell() if corruption == CLEAN else Cell(names[str(corruption)], level, "elsewhere")
            store.write(
                model.name,
                model_folder(model),
                cell,
                samples=rows["sample"].to_list(),
                labels=rows["label"].to_numpy(),
                predictions=rows["prediction"].to_numpy(),
                confidences=rows["confidence"].fill_null(float("nan")).to_numpy(),
            )
    return load_results(folder)


def _identity(name: str, benchmark: Benchmark | None) -> str:
    """The full id of a corruption; a name that brittle does not know stays as it is."""
    for search in (benchmark.entry if benchmark is not None else find, find):
        try:
            found = search(name)
        except ValueError:
            continue
        return found.id
    return name
