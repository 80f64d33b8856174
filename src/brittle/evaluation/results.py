"""Results: one row per (model, corruption, level, sample). Every metric starts here."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from brittle.evaluation.cell import CLEAN
from brittle.evaluation.store import Store

COLUMNS = ["model", "corruption", "level", "sample", "label", "prediction", "confidence", "correct"]


@dataclass(frozen=True)
class Results:
    """Every prediction of one or more runs, and what the runs say about themselves."""

    rows: pl.LazyFrame
    runs: tuple[dict[str, Any], ...]

    @property
    def models(self) -> list[str]:
        """The names of the models, sorted."""
        return sorted(self.rows.select("model").unique().collect()["model"])

    def accuracy(self) -> pl.DataFrame:
        """For each model, corruption and level: how many samples, and the share that was right."""
        return (
            self.rows.group_by("model", "corruption", "level")
            .agg(pl.len().alias("samples"), pl.col("correct").mean().alias("accuracy"))
            .sort("model", "corruption", "level")
            .collect()
        )

    def clean_accuracy(self, model: str) -> float:
        """The share of clean images that a model gets right."""
        table = self.accuracy().filter((pl.col("model") == model) & (pl.col("corruption") == CLEAN))
        if table.is_empty():
            raise ValueError(f"there are no clean results of {model!r}; there are models {', '.join(self.models)}")
        return float(table["accuracy"][0])

    def correct(self, model: str, corruption: str) -> tuple[NDArray[np.bool_], NDArray[np.float64], list[str]]:
        """A matrix of samples × levels, clean first as level 0, its levels, and its samples: for failure points."""
        chosen = self.rows.filter(
            (pl.col("model") == model) & (pl.col("corruption").is_in([corruption, CLEAN]))
        ).select("sample", "level", "correct")
        wide = chosen.collect().pivot(on="level", index="sample", values="correct", sort_columns=False).sort("sample")
        if wide.is_empty():
            raise ValueError(f"there are no results of {model!r} on {corruption!r}")
        names = sorted((name for name in wide.columns if name != "sample"), key=float)
        matrix = np.stack([wide[name].to_numpy() for name in names], axis=1)
        return matrix.astype(bool), np.array(names, np.float64), wide["sample"].to_list()


def load_results(*folders: str | Path) -> Results:
    """The rows of one or more runs, together."""
    if not folders:
        raise ValueError("name at least one run to load")
    stores = [Store(folder) for folder in folders]
    about = tuple(store.about() for store in stores)
    return Results(pl.concat([store.scan().select(COLUMNS) for store in stores]), about)
