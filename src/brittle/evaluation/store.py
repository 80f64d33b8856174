"""Predictions on disk: a folder for each model, a Parquet file for each cell, written whole or not at all."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from brittle.benchmarks import Benchmark
from brittle.benchmarks.toml import dumps
from brittle.datasets.atomic import replacing
from brittle.datasets.dataset import Dataset
from brittle.evaluation.calls import calls
from brittle.evaluation.cell import Cell, plan
from brittle.evaluation.decode import skipped
from brittle.models.model import Model

RUN, CELLS, RECIPES, MODELS = "run.toml", "cells", "recipes", "models"


class Store:
    """A run's folder. Rows carry their sample, label, prediction, confidence, and whether it was right."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def claim_for(self, dataset: Dataset) -> None:
        """Make the folder a run on this dataset."""
        known = {"data": dataset.name, "data_key": dataset.key, "images": len(dataset)}
        self.claim({**known, "classes": list(dataset.classes)})

    def claim(self, identity: Mapping[str, Any]) -> None:
        """Make the folder this run's own, or raise if it holds results on other data."""
        path = self.folder / RUN
        if path.is_file():
            known = _read(path)
            for key, wanted in sorted(identity.items(), key=lambda item: item[0] == "data_key"):  # digests say least
                if known.get(key) != wanted:
                    raise ValueError(
                        f"{str(self.folder)!r} holds a run with {key} {known.get(key)!r}, and this one has {wanted!r}; "
                        "choose another folder"
                    )
            return
        if self.folder.exists() and any(not item.name.endswith(".part") for item in self.folder.iterdir()):
            raise ValueError(f"{str(self.folder)!r} is not empty and holds no run of brittle; choose another folder")
        self.folder.mkdir(parents=True, exist_ok=True)
        with replacing(path) as part:
            part.write_text(dumps(identity), encoding="utf-8")

    def keep_recipe(self, benchmark: Benchmark) -> None:
        """Put the recipe beside the results, so that they explain themselves."""
        mine = {(cell.corruption, cell.severity): cell for cell in plan(benchmark)}
        for other in self.recipes():
            for cell in plan(other):
                twin = mine.get((cell.corruption, cell.severity), cell)
                if twin.key != cell.key:
                    raise ValueError(
                        f"{str(self.folder)!r} holds {cell.title} of {other.name!r}, drawn with another seed, table or "
                        f"options than {benchmark.name!r} draws it; choose another folder, so that they are not mixed"
                    )
        path = self.folder / RECIPES / f"{benchmark.name}-{benchmark.hash}.toml"
        path.parent.mkdir(exist_ok=True)
        with replacing(path) as part:
            benchmark.save(part)

    def recipes(self) -> list[Benchmark]:
        """The recipes that were run, in the order of their names."""
        return [Benchmark.load(path) for path in sorted((self.folder / RECIPES).glob("*.toml"))]

    def keep_model(self, model: Model, batch_size: int | None) -> None:
        """Note a model, and its batch size if somebody gave one; what is noted already stays."""
        path = self.folder / MODELS / f"{model_folder(model)}.toml"
        if not path.is_file():
            path.parent.mkdir(exist_ok=True)
            with replacing(path) as part:
                given = {} if batch_size is None else {"batch_size": batch_size}
                part.write_text(dumps({"name": model.name, "key": model.key, **given}), encoding="utf-8")

    def batch_size(self, model: Model) -> int | None:
        """The batch size that was given for a model before: another one could change the last bits of a confidence."""
        path = self.folder / MODELS / f"{model_folder(model)}.toml"
        known = _read(path) if path.is_file() else {}
        return int(known["batch_size"]) if "batch_size" in known else None

    def path(self, model: str, cell: Cell) -> Path:
        """Where the rows of a cell are, or will be."""
        return self.folder / CELLS / model / f"{cell.file_name}.parquet"

    def has(self, model: str, cell: Cell) -> bool:
        """Whether a cell has been computed; a file that is there is whole."""
        return self.path(model, cell).is_file()

    def write(
        self,
        name: str,
        model: str,
        cell: Cell,
        *,
        samples: list[str],
        labels: NDArray[np.integer[Any]],
        predictions: NDArray[np.integer[Any]],
        confidences: NDArray[np.floating[Any]],
    ) -> None:
        """Keep the rows of one cell."""
        rows = pl.DataFrame(
            {
                "sample": samples,
                "label": labels.astype(np.int32),
                "prediction": predictions.astype(np.int32),
                "confidence": confidences.astype(np.float32),
                "correct": labels == predictions,
            }
        ).with_columns(
            pl.lit(name).alias("model"),
            pl.lit(cell.corruption).alias("corruption"),
            pl.lit(cell.severity).alias("level"),
        )
        path = self.path(model, cell)
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as part:
            rows.write_parquet(part, compression="zstd")

    def scan(self) -> pl.LazyFrame:
        """All rows, read when they are needed."""
        return scan([self])

    def identity(self) -> dict[str, Any]:
        """What the folder was claimed with."""
        path = self.folder / RUN
        if not path.is_file():
            raise FileNotFoundError(f"{str(self.folder)!r} holds no run of brittle: {RUN} is missing")
        return _read(path)

    def about(self) -> dict[str, Any]:
        """What was run on what, with what: data, class names, models, recipes, unreadable images, and each call."""
        identity = self.identity()
        made, unread = calls(self.folder), skipped(self.folder)
        for one in made:  # a published set on disk notes them cell by cell
            unread |= one["skipped"] if isinstance(one.get("skipped"), dict) else {}
        return {
            "folder": str(self.folder),
            **identity,
            "models": [_read(file) for file in sorted((self.folder / MODELS).glob("*.toml"))],
            "recipes": {f"{recipe.name}-{recipe.hash}": recipe.hash for recipe in self.recipes()},
            "skipped": unread,
            "calls": made,
        }


def scan(stores: Sequence[Store], among: Sequence[Store] | None = None) -> pl.LazyFrame:
    """The rows of several runs, read when they are needed.

    A cell that two runs on the same data have of the same model is there once. Models of one name and different weights
    are told apart by the beginning of their keys, also if only some runs `among` more are read.
    """
    files: dict[tuple[Any, str, str], dict[str, Path]] = {}
    for store in stores:
        data = store.identity().get("data_key", str(store.folder))
        for path in sorted((store.folder / CELLS).glob("*/*.parquet")):
            name, _, key = path.parent.name.rpartition("-")
            files.setdefault((data, name, key), {}).setdefault(path.name, path)
    if not files:
        place = str(stores[0].folder)
        raise ValueError(f"{place!r} holds no results yet; `brittle run` or `brittle.evaluate` writes them")
    keys: dict[str, set[str]] = {}
    for store in among or stores:
        for folder in (store.folder / CELLS).glob("*"):
            name, _, key = folder.name.rpartition("-")
            keys.setdefault(name, set()).add(key)
    parts = []
    for (_, name, key), cells in files.items():
        rows = pl.scan_parquet(list(cells.values()))
        parts.append(rows.with_columns(pl.col("model") + f" {key[:6]}") if len(keys[name]) > 1 else rows)
    return pl.concat(parts)


def model_folder(model: Model) -> str:
    """The folder of a model's cells: its name, and the key that changes with its weights."""
    plain = "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in model.name)
    return f"{plain}-{model.key}"


def _read(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))
