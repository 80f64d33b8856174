"""Predictions on disk: a folder for each model, a Parquet file for each cell, written whole or not at all."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from brittle.benchmarks import Benchmark
from brittle.benchmarks.toml import dumps
from brittle.datasets.atomic import replacing
from brittle.evaluation.cell import Cell

RUN, CELLS, RECIPES = "run.toml", "cells", "recipes"


class Store:
    """A run's folder. Rows carry their sample, label, prediction, confidence, and whether it was right."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)

    def claim(self, identity: Mapping[str, Any]) -> None:
        """Make the folder this run's own, or raise if it holds results on other data."""
        path = self.folder / RUN
        if path.is_file():
            known = tomllib.loads(path.read_text(encoding="utf-8"))
            for key, wanted in identity.items():
                if known.get(key) != wanted:
                    raise ValueError(
                        f"{str(self.folder)!r} holds a run with {key} {known.get(key)!r}, and this one has {wanted!r}; "
                        "choose another folder"
                    )
            return
        if self.folder.exists() and any(self.folder.iterdir()):
            raise ValueError(f"{str(self.folder)!r} is not empty and holds no run of brittle; choose another folder")
        self.folder.mkdir(parents=True, exist_ok=True)
        with replacing(path) as part:
            part.write_text(dumps(identity), encoding="utf-8")

    def keep_recipe(self, benchmark: Benchmark) -> None:
        """Put the recipe beside the results, so that they explain themselves."""
        path = self.folder / RECIPES / f"{benchmark.name}-{benchmark.hash}.toml"
        path.parent.mkdir(exist_ok=True)
        with replacing(path) as part:
            benchmark.save(part)

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
        files = sorted((self.folder / CELLS).glob("*/*.parquet"))
        if not files:
            raise ValueError(f"{str(self.folder)!r} holds no results yet; `brittle.evaluate` writes them")
        return pl.scan_parquet(files)

    def about(self) -> dict[str, Any]:
        """What was run: the identity that the folder was claimed with."""
        path = self.folder / RUN
        if not path.is_file():
            raise FileNotFoundError(f"{str(self.folder)!r} holds no run of brittle: {RUN} is missing")
        return tomllib.loads(path.read_text(encoding="utf-8"))
