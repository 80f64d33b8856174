"""Accuracy drops of models under corruptions and natural shifts: Syn2Nat's residual robustness."""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from brittle.datasets.near import nearest
from brittle.design.overlap_matrix import check_names
from brittle.evaluation.cell import CLEAN
from brittle.evaluation.results import Results
from brittle.metrics.fraction import Floats


@dataclass(frozen=True, eq=False)
class Drops:
    """A(clean) − A(shifted) of each model (rows) under each shift (columns). Lower is better."""

    models: tuple[str, ...]
    names: tuple[str, ...]
    values: Floats

    def __post_init__(self) -> None:
        models, names = check_names(self.models), check_names(self.names)
        values = np.array(self.values, dtype=np.float64)
        if values.shape != (len(models), len(names)):
            raise ValueError(f"{len(models)} models under {len(names)} shifts cannot have drops of {values.shape}")
        for field, value in (("models", models), ("names", names), ("values", values)):
            object.__setattr__(self, field, value)

    def of(self, models: Sequence[str]) -> Drops:
        """The same drops for these models, in this order."""
        for model in models:
            if model not in self.models:
                raise ValueError(f"there are no drops of the model {model!r}; {nearest(str(model), self.models)}")
        return Drops(tuple(models), self.names, self.values[[self.models.index(model) for model in models]])

    def columns(self) -> dict[str, Floats]:
        """The drops of all models under each shift, by its name."""
        return dict(zip(self.names, self.values.T, strict=True))


def drops_of(
    results: Results, *, models: Sequence[str] | None = None, corruptions: Sequence[str] | None = None
) -> Drops:
    """The clean accuracy minus the mean over levels of the accuracy, for models run through all the corruptions."""
    table = results.accuracy()
    rows = tuple(models or results.models)
    names = tuple(corruptions or sorted(set(table["corruption"]) - {CLEAN}))
    accuracy = {(m, c, x): a for m, c, x, a in table.select("model", "corruption", "level", "accuracy").rows()}
    levels = {name: sorted(set(table.filter(pl.col("corruption") == name)["level"])) for name in (CLEAN, *names)}
    for name, found in levels.items():
        if not found:
            raise ValueError(f"there are no results on {name!r}; {nearest(name, list(set(table['corruption'])))}")
        for model in rows:
            missing = [level for level in found if (model, name, level) not in accuracy]
            if missing:
                raise ValueError(
                    f"there are no results of {model!r} on {name} {missing[0]:g}; run it again to fill them or leave "
                    "the model out"
                )
    mean = np.array([[np.mean([accuracy[m, c, x] for x in levels[c]]) for c in (CLEAN, *names)] for m in rows])
    return Drops(rows, names, mean[:, :1] - mean[:, 1:])


def shift_drops(clean: Results, shifts: Mapping[str, Results], *, models: Sequence[str] | None = None) -> Drops:
    """The accuracy on the usual test set minus that on each natural shift, all run as they are.

    Models are those that were run on everything, unless you name them. For a shift with fewer classes, such as
    ImageNet-A, compare with the usual images of those classes.
    """
    runs = [clean, *shifts.values()]
    shared = models or [model for model in clean.models if all(model in run.models for run in runs)]
    if not shared:
        raise ValueError("no model was run on all of these; run the same models on the test set and on every shift")
    accuracy = np.array([[run.clean_accuracy(model) for run in runs] for model in shared])
    return Drops(tuple(shared), tuple(shifts), accuracy[:, :1] - accuracy[:, 1:])


def read_drops(path: str | Path) -> Drops:
    """Drops from a CSV file: a column of model names, then one column for each corruption or shift."""
    with Path(path).open(encoding="utf-8-sig", newline="") as file:
        lines = [row for row in csv.reader(file) if row]
    if len(lines) < 2 or len(lines[0]) < 2:
        raise ValueError(f"{path} needs a first row model,<corruption>,… and one row for each model")
    values = []
    for row in lines[1:]:
        try:
            values.append([float(cell) for cell in row[1:]])
        except ValueError as error:
            raise ValueError(f"{path}, model {row[0]!r}: {error}; every cell must be an accuracy drop") from error
        if len(row) != len(lines[0]):
            raise ValueError(f"{path}, model {row[0]!r}: {len(row)} cells, but the first row has {len(lines[0])}")
    return Drops(tuple(row[0] for row in lines[1:]), tuple(lines[0][1:]), np.array(values))


def check_drops(drops: ArrayLike, names: Sequence[str]) -> tuple[Floats, Callable[[str], int]]:
    """Drops of three or more models, all finite, and where to find a corruption's column."""
    named, table = check_names(names), np.asarray(drops, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] != len(named):
        raise ValueError(f"drops are models × {len(named)} corruptions, one column a name, got shape {table.shape}")
    if len(table) < 3:
        raise ValueError(f"a correlation over models needs three or more models, got {len(table)}")
    if not np.isfinite(table).all():
        row, column = np.argwhere(~np.isfinite(table))[0]
        raise ValueError(
            f"the drop of model {row} on {named[column]} is {table[row, column]}; leave out models or corruptions that "
            "lack a number"
        )
    positions = {name: i for i, name in enumerate(named)}

    def where(name: str) -> int:
        plain = name.rpartition("/")[2]  # a table may leave out the sets
        if name not in positions and plain not in positions:
            raise ValueError(f"there are no drops on {name!r}; {nearest(str(name), named)}")
        return positions[name if name in positions else plain]

    return table, where
