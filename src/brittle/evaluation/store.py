"""Predictions on disk: a folder for each model, a Parquet file for each cell, written whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from brittle._errors import BrittleError
from brittle._io import (
    COMMAND,
    DAMAGED,
    Presence,
    atomic_write,
    create,
    file_name,
    locked,
    make_folder,
    make_way,
    missing_or_damaged,
    set_aside,
    toml_text,
    warn_damaged,
)
from brittle._parts import sweep
from brittle._types import printable
from brittle.benchmarks import Benchmark, Cell
from brittle.corruptions import get_corruption
from brittle.datasets.dataset import Dataset
from brittle.evaluation.cell import CellRows, plan
from brittle.evaluation.differences import differences, drawn_differently
from brittle.evaluation.records import (
    CORRUPTIONS,
    IMAGES,
    MODELS,
    READ,
    Call,
    KnownModel,
    Run,
    calls,
    decoded_for,
    fits,
    keep_corruptions,
    know_corruptions,
    read_record,
    read_toml,
    recorded,
    skipped,
)
from brittle.evaluation.records import FOLDER as CALLS
from brittle.evaluation.row_files import (
    CELLS,
    DATA,
    FAILURE_POINTS,
    OF_LABEL,
    ROW_FOLDERS,
    SAMPLES,
    SEQUENCES,
    STREAMS,
    cell_place,
    holds_rows,
    missing_rows,
    row_metadata,
    samples_digest,
    write_row_file,
)
from brittle.models.model import Model

RUN, RECIPES = "run.toml", "recipes"

OURS = {
    CELLS: "*/*.parquet",
    FAILURE_POINTS: "*/*.parquet",
    SEQUENCES: "*/*.parquet",
    STREAMS: "*/*.parquet",
    RECIPES: "*.toml",
    MODELS: "*.toml",
    CALLS: "*.json",
}
"""The folders of a run, and the files that it has in them."""

WAY_OUT = "choose another folder, or remove that run with `overwrite=True`"


class Store:
    """A run's folder. Rows carry their sample, label, prediction, confidence, whether it was right, and `OF_LABEL`."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self._made: list[Path] = []
        self._presence: Presence | None = None
        self._data_key: str | None = None
        self._process = os.getpid()
        self._written_to: set[Path] = set()

    def claim_for(self, dataset: Dataset, *, overwrite: bool = False) -> None:
        """Make the folder a run on this dataset."""
        known = {"data": dataset.name, "data_key": dataset.key, "images": len(dataset)}
        self.claim({**known, "classes": list(dataset.classes)}, overwrite=overwrite)

    def claim(self, identity: Mapping[str, Any], *, overwrite: bool = False) -> None:
        """Make the folder this run's own, or raise if it holds results on other data, or other files.

        Of processes with different data one gets it; those with the same data share it. A run that has no results
        yet and that no process works on, such as one that was killed at its start, is taken over. `overwrite` removes
        what a run has left in the folder, and nothing else.
        """
        if os.path.lexists(self.folder) and not self.folder.is_dir():
            raise BrittleError(f"{str(self.folder)!r} is no folder, and a run is kept in one; choose another name")
        place = str(self.folder.absolute())
        if printable(place) != place:
            raise BrittleError(
                f"the path {printable(place)!r} is not UTF-8, and a run's must be; choose another folder"
            )
        self._made = make_folder(self.folder)
        try:
            with locked(self.folder):
                self._claim(identity, overwrite)
        except BaseException:
            self._remove_made()
            raise

    def _claim(self, identity: Mapping[str, Any], overwrite: bool) -> None:
        path = self.folder / RUN
        known = self.known()
        self._check_ours(path)
        if overwrite:
            if path.is_file() and not Presence(path).alone():
                raise BrittleError(f"another process works on the run in {str(self.folder)!r}; wait for it or stop it")
            self._clear()
        elif known is not None:
            different = differences(known, identity)
            if different:
                if self.has_results() or not Presence(path).alone():
                    raise BrittleError(f"{str(self.folder)!r} holds a run {different}; {WAY_OUT}")
                self._clear()
        else:
            self._check_rows(identity.get("data_key"))
            make_way(path)
            if os.path.lexists(path):
                kept = set_aside(path)  # it may be of another program
                warn_damaged(path, f"it is written again, and is kept as {kept.name!r}", "does not describe a run")
        for name in OURS:
            make_way(self.folder / name, folder=True)
        sweep_run(self.folder)
        if not create(path, toml_text(identity)):
            other = differences(self.known() or {}, identity)  # without locks another process may have been faster
            if other:
                raise BrittleError(f"{str(self.folder)!r} holds a run {other}; {WAY_OUT}")
        self._presence = Presence(path)
        self._data_key = identity.get("data_key")

    def known(self) -> dict[str, Any] | None:
        """What the folder was claimed with; None if it is unclaimed, or if that file is incomplete."""
        known = read_toml(self.folder / RUN)
        if known is None or not {"data", "images", "classes"} <= known.keys() or not fits(Run, known):
            return None
        cells = known.get("cells", [])
        return known if isinstance(cells, list) and len(cells) == known.get("cell_count", 0) else None

    def _check_ours(self, path: Path) -> None:
        """Raise if there are files in a folder that is no run's."""
        ours = {*OURS, RUN, IMAGES, READ, CORRUPTIONS, COMMAND}
        strange = [i for i in self.folder.iterdir() if i.name not in ours and i.suffix not in (".part", DAMAGED)]
        if strange and not os.path.lexists(path):
            raise BrittleError(f"{str(self.folder)!r} is not empty and holds no run of brittle; choose another folder")

    def _check_rows(self, data_key: str | None) -> None:
        """Raise unless all rows in a folder that does not name its data are of this data."""
        for file in self._results():
            if data_key is None or row_metadata(file).get(DATA) != data_key:
                raise BrittleError(
                    f"{str(self.folder / RUN)!r} is missing, empty or cut off, and the results beside it do not say "
                    f"that they are of this data; {WAY_OUT}"
                )

    def _results(self) -> Iterator[Path]:
        for kind in ROW_FOLDERS:
            folders = [place for place in (self.folder / kind, *(self.folder / kind).glob("*/")) if place.is_dir()]
            for place in folders:
                os.scandir(place).close()  # raises where it may not be read; a glob would find nothing in it
            yield from (file for file in (self.folder / kind).glob(OURS[kind]) if holds_rows(file))

    def has_results(self) -> bool:
        """Whether anything has been computed."""
        return any(self._results())

    def _clear(self, *, images: bool = True) -> None:
        """Remove the files of a run, the record that marks it as one last, and the folders that are empty then."""
        for name, pattern in OURS.items():
            files = [*(self.folder / name).glob(pattern), *(self.folder / name).glob("*.toml")]
            files += (self.folder / name).rglob(".*.part")
            for file in files:
                _unlink(file)
            for place in (*{file.parent for file in files}, self.folder / name):
                with suppress(OSError):  # it holds something else, or is not there
                    place.rmdir()
        for name in (*((READ, IMAGES) if images else ()), CORRUPTIONS, RUN):
            _unlink(self.folder / name)

    @contextmanager
    def recorded(self, call: Call) -> Iterator[Call]:
        """Keep a record of one call; one that fails before anything was computed leaves no run behind.

        Images that were all decoded stay, for the next call with the same data.
        """
        try:
            with recorded(self.folder, call):
                yield call
        except BaseException:
            self._abandon()
            raise
        finally:
            if self._presence is not None:
                self._presence.close()

    def _abandon(self) -> None:
        if os.getpid() != self._process:  # a fork of it, made by a model
            return
        with suppress(OSError), locked(self.folder):
            if self._presence is not None and self._presence.alone() and not self.has_results():
                self._clear(images=not decoded_for(self.folder, self._data_key))
        self._remove_made()

    def _remove_made(self) -> None:
        with suppress(OSError):  # other files are in the folder
            for folder in self._made:
                folder.rmdir()

    def keep_recipe(self, benchmark: Benchmark) -> None:
        """Put the recipe beside the results, so that they explain themselves."""
        path = self.folder / RECIPES / f"{file_name(benchmark.name)}-{benchmark.hash}.toml"
        planned = {(cell.corruption, cell.severity): cell for cell in plan(benchmark)}
        with locked(self.folder):
            computed = {file.name for file in self._results()}
            alone = self._presence is not None and self._presence.alone()
            for place, other in self._recipes():
                others = plan(other)[1:]
                clashing = [
                    cell for cell in others if planned.get((cell.corruption, cell.severity), cell).key != cell.key
                ]
                if clashing and alone and not any(f"{cell.file_name}.parquet" in computed for cell in others):
                    place.unlink()  # of a run that failed before it had computed anything
                elif clashing:
                    theirs, ours = drawn_differently(other, benchmark, clashing[0].corruption)
                    raise BrittleError(
                        f"{str(self.folder)!r} holds {clashing[0].title} drawn with {theirs}, and here it is drawn "
                        f"with {ours}; choose another folder, so that they are not mixed, or remove that run with "
                        "`overwrite=True`"
                    )
            for cell in self._of_other_code(plan(benchmark)):
                raise BrittleError(
                    f"{str(self.folder)!r} holds {cell.title} as another version of the code of {cell.corruption} drew "
                    f"it; {WAY_OUT}"
                )
            make_folder(path.parent)
            keep_corruptions(self.folder, benchmark)
            make_way(path)
            benchmark.save(path)

    def _of_other_code(self, cells: Sequence[Cell]) -> Iterator[Cell]:
        """Cells that are planned now, and that an earlier version of user code has drawn before."""
        by_place = {
            cell_place(f"{cell.file_name}."): cell
            for cell in cells
            if not cell.is_clean and get_corruption(cell.corruption).code
        }
        folders = (self.folder / CELLS).iterdir() if by_place and (self.folder / CELLS).is_dir() else ()
        for folder in folders:
            for file in sorted(folder.iterdir()):
                cell = by_place.get(cell_place(file.name))
                if cell is not None and file.name != f"{cell.file_name}.parquet" and file.suffix == ".parquet":
                    yield cell

    def recipes(self) -> list[Benchmark]:
        """The recipes that were run, in the order of their names."""
        return [recipe for _, recipe in self._recipes()]

    def _recipes(self) -> list[tuple[Path, Benchmark]]:
        know_corruptions(self.folder)
        recipes = []
        for path in sorted((self.folder / RECIPES).glob("*.toml")):
            recipe = kept_recipe(path)
            if recipe is not None and not path.stem.endswith(recipe.hash):  # cut off where a corruption ends
                warn_damaged(path, REWRITTEN, "is not the recipe that its name stands for")
            elif recipe is not None:
                recipes.append((path, recipe))
        return recipes

    def keep_model(self, model: Model, batch_size: int | None) -> None:
        """Note a model, and its batch size if one was given; what is recorded already stays."""
        path = self.folder / MODELS / f"{model_folder(model)}.toml"
        if _read_model(path, "it is written again") is None:
            make_folder(path.parent)
            make_way(path)
            with atomic_write(path) as part:
                about = {"name": model.name, "key": model.key}
                about["since"] = f"{datetime.now().astimezone():%Y-%m-%d %H:%M:%S}"
                given = {"origin": getattr(model, "origin", None), "batch_size": batch_size}
                given = {key: value for key, value in given.items() if value}
                part.write_text(toml_text(about | given), encoding="utf-8")

    def batch_size(self, model: Model) -> int | None:
        """The batch size that was given for a model before: another one could change the last bits of a confidence."""
        known = _read_model(self.folder / MODELS / f"{model_folder(model)}.toml", "it is written again")
        return known.batch_size if known is not None else None

    def path(self, model: str, cell: Cell, kind: str = CELLS) -> Path:
        """Where the rows of a cell are, or will be; sequences have a folder of their own."""
        return self.folder / kind / model / f"{cell.file_name}.parquet"

    def has(self, model: str, cell: Cell, kind: str = CELLS) -> bool:
        """Whether a cell has been computed; a damaged file is named, and is missing."""
        return not missing_rows(self.path(model, cell, kind), "the cell is computed again")

    def has_rows(self, path: Path) -> bool:
        """Whether a file of rows other than a cell's has been written; a damaged one is named, and is missing."""
        return not missing_rows(path, "it is computed again")

    def write(
        self,
        model: Model,
        cell: Cell,
        rows: CellRows,
    ) -> None:
        """Write the rows of one cell of a model; what is not known of the labels is null."""
        of_label: tuple[NDArray[Any] | None, ...] = rows.label_probabilities, rows.labels_in_top5, rows.square_sums
        known = dict(zip(OF_LABEL, of_label, strict=True))
        table = pl.DataFrame(
            {
                "sample": list(rows.samples),
                "label": rows.labels.astype(np.int32),
                "prediction": rows.predictions.astype(np.int32),
                "confidence": rows.confidences.astype(np.float32),
                "correct": rows.labels == rows.predictions,
                **{name: _known(name, values, len(rows.labels)) for name, values in known.items()},
            }
        ).with_columns(
            pl.lit(model.name).alias("model"),
            pl.lit(cell.corruption).alias("corruption"),
            pl.lit(cell.severity).alias("level"),
        )
        samples = {SAMPLES: samples_digest(map(str, rows.samples))}
        self.write_rows(self.path(model_folder(model), cell), table, samples)

    def write_rows(self, path: Path, rows: pl.DataFrame, about: Mapping[str, str] | None = None) -> None:
        """Write a file of rows, which names its data, and what else is known about it."""
        for place in (self.folder / RUN, *({path.parent} & self._written_to)):
            if not place.exists():
                raise FileNotFoundError(f"{str(place)!r} was removed while a run worked in it; run it again")
        self._written_to.add(path.parent)
        data = {DATA: self._data_key} if self._data_key else {}
        write_row_file(path, rows, {**data, **(about or {})})

    def identity(self) -> dict[str, Any]:
        """What the folder was claimed with."""
        known = self.known()
        if known is None:
            what = "empty, cut off or garbled; repeating the command writes it again"
            raise FileNotFoundError(
                f"{str(self.folder)!r} holds no run of brittle: {RUN} is "
                f"{what if os.path.lexists(self.folder / RUN) else 'missing; give the folder that a run wrote'}"
            )
        return known

    def about(self) -> Run:
        """What was run on what, with what: data, class names, models, recipes, unreadable images, and each call."""
        identity = self.identity()
        made, unread = calls(self.folder), skipped(self.folder)
        for one in made:  # a published set on disk notes them cell by cell
            unread |= one.skipped
        files = sorted((self.folder / MODELS).glob("*.toml"))
        models = [known for file in files if (known := _read_model(file, REWRITTEN)) is not None]
        recipes = [recipe.hash for recipe in self.recipes()]
        more = {"folder": self.folder, "models": models, "recipes": recipes, "skipped": unread, "calls": made}
        return read_record(Run, {**identity, **more})


def model_folder(model: Model) -> str:
    """The folder of a model's cells: its name, and the key that changes with its weights."""
    plain = model.key.isascii() and model.key.isalnum() and model.key.islower() | model.key.isdecimal()
    key = model.key if plain and len(model.key) <= 64 else sha256(model.key.encode()).hexdigest()[:16]
    return f"{file_name(model.name)}-{key}"


REWRITTEN = "repeat the command to write it again"


def _read_model(path: Path, then: str) -> KnownModel | None:
    """What is noted of a model; None if that is missing, or damaged, of which a warning tells."""
    if missing_or_damaged(path, then):
        return None
    known = read_toml(path) or {}
    if {"name", "key"} <= known.keys() and fits(KnownModel, known):
        return read_record(KnownModel, known)
    warn_damaged(path, then, "does not describe a model")
    return None


def kept_recipe(path: Path) -> Benchmark | None:
    """A recipe that a run keeps; None if it is missing, or cannot be read, of which a warning tells."""
    if missing_or_damaged(path, REWRITTEN):
        return None
    try:
        return Benchmark.load(path)
    except BrittleError as error:
        warn_damaged(path, "it is left out", f"is no recipe that can be read ({error})")
        return None


def sweep_run(folder: Path) -> list[Path]:
    """Remove what killed processes left half-written in a run's folder; what was removed."""
    return [leftover for place in run_folders(folder) for leftover in sweep(place)]


def run_folders(folder: Path) -> list[Path]:
    """A run's folder, and all folders in it that hold files of the run."""
    places = [folder, *(folder / name for name in OURS)]
    return places + [model for name in ROW_FOLDERS for model in (folder / name).glob("*/")]


def _known(name: str, values: NDArray[Any] | None, count: int) -> pl.Series:
    kind = OF_LABEL[name]
    return pl.repeat(None, count, dtype=kind, eager=True) if values is None else pl.Series(values, dtype=kind)


def _unlink(path: Path) -> None:
    """Remove a file; a folder in its place stays, under another name."""
    make_way(path)
    path.unlink(missing_ok=True)
