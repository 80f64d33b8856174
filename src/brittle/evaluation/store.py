"""Predictions on disk: a folder for each model, a Parquet file for each cell, written whole or not at all."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from brittle.benchmarks import Benchmark
from brittle.benchmarks.toml import dumps
from brittle.corruptions import find, select
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
        for cell in self._of_other_code(plan(benchmark)):
            raise ValueError(
                f"{str(self.folder)!r} holds {cell.title} as another version of the code of {cell.corruption} drew it; "
                "choose another folder, so that they are not mixed"
            )
        path = self.folder / RECIPES / f"{benchmark.name}-{benchmark.hash}.toml"
        path.parent.mkdir(exist_ok=True)
        with replacing(path) as part:
            benchmark.save(part)

    def _of_other_code(self, cells: Sequence[Cell]) -> Iterator[Cell]:
        """Cells that are planned now, and that an earlier version of somebody's own code has drawn before."""
        own = {_place(f"{cell.file_name}."): cell for cell in cells if not cell.is_clean and find(cell.corruption).code}
        folders = (self.folder / CELLS).iterdir() if own and (self.folder / CELLS).is_dir() else ()
        for folder in folders:
            for file in sorted(folder.iterdir()):
                cell = own.get(_place(file.name))
                if cell is not None and file.name != f"{cell.file_name}.parquet" and file.suffix == ".parquet":
                    yield cell

    def recipes(self) -> list[Benchmark]:
        """The recipes that were run, in the order of their names."""
        return [Benchmark.load(path) for path in sorted((self.folder / RECIPES).glob("*.toml"))]

    def keep_model(self, model: Model, batch_size: int) -> None:
        """Note a model and how it is run; what is noted already stays."""
        path = self.folder / MODELS / f"{model_folder(model)}.toml"
        if not path.is_file():
            path.parent.mkdir(exist_ok=True)
            with replacing(path) as part:
                about = {"name": model.name, "key": model.key, "batch_size": batch_size}
                about["since"] = f"{datetime.now().astimezone():%Y-%m-%d %H:%M:%S}"
                origin = getattr(model, "origin", "")
                part.write_text(dumps(about | ({"origin": origin} if origin else {})), encoding="utf-8")

    def batch_size(self, model: Model) -> int | None:
        """The batch size that a model was run with before: another one could change the last bits of a confidence."""
        path = self.folder / MODELS / f"{model_folder(model)}.toml"
        return int(_read(path)["batch_size"]) if path.is_file() else None

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
    or code are told apart by where their code lies, by when they were first run, or else by the beginning of their
    keys, also if only some runs `among` more are read.
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
    for cells in files.values():
        _check_one_code(list(cells.values()))
    endings = _endings(among or stores)
    parts = []
    for (_, name, key), cells in files.items():
        rows = pl.scan_parquet(list(cells.values()))
        ending = endings[name, key]
        parts.append(rows.with_columns(pl.col("model") + ending) if ending else rows)
    return pl.concat(parts)


def _endings(stores: Sequence[Store]) -> dict[tuple[str, str], str]:
    """What follows the name of each model, by (name, key): nothing, unless models of one name differ."""
    models: dict[str, dict[str, dict[str, Any]]] = {}
    for store in stores:
        for folder in sorted((store.folder / CELLS).iterdir()) if (store.folder / CELLS).is_dir() else ():
            name, _, key = folder.name.rpartition("-")
            path = store.folder / MODELS / f"{folder.name}.toml"
            models.setdefault(name, {}).setdefault(key, _read(path) if path.is_file() else {})
    endings = {}
    for name, known in models.items():
        by_origin = {key: str(about.get("origin", "")) for key, about in known.items()}
        by_time = {key: f"{by_origin[key]} of {about.get('since', '')}".strip() for key, about in known.items()}
        by_key = {key: key[:6] for key in known}
        told = [by_origin] * all(by_origin.values()) + [by_time] * all("since" in about for about in known.values())
        chosen = next(texts for texts in [*told, by_key] if len(set(texts.values())) == len(known))
        for key in known:
            endings[name, key] = f" ({chosen[key]})" if len(known) > 1 else ""
    return endings


def _check_one_code(files: Sequence[Path]) -> None:
    """Raise if a cell of somebody's own corruption is there as two versions of its code, or two recipes, drew it."""
    first: dict[str, Path] = {}
    for file in files:
        place = _place(file.name)
        other = first.setdefault(place, file)
        if other != file and not _is_bundled(place.rpartition("@")[0]):
            raise ValueError(
                f"{str(other.parents[2])!r} and {str(file.parents[2])!r} hold {place.replace('@', ' ')} drawn in "
                "different ways (another version of its code, another seed or options); load them apart"
            )


def _is_bundled(corruption: str) -> bool:
    return any(one.bundled and one.id.replace("/", ".") == corruption for one in select())


def _place(file_name: str) -> str:
    """The corruption and level that a cell's file is of, without its key: imagenet-c.fog@3.5."""
    return file_name.rpartition("-")[0] or file_name


def model_folder(model: Model) -> str:
    """The folder of a model's cells: its name, and the key that changes with its weights."""
    plain = "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in model.name)
    return f"{plain}-{model.key}"


def _read(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"))
