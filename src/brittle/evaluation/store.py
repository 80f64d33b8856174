"""Predictions on disk: a folder for each model, a Parquet file for each cell, written whole or not at all."""

from __future__ import annotations

import tomllib
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from brittle._errors import BrittleError
from brittle._io import (
    COMMAND,
    DamagedFile,
    Presence,
    atomic_write,
    create,
    file_name,
    is_complete,
    locked,
    make_folder,
    missing_or_damaged,
    toml_text,
)
from brittle.benchmarks import Benchmark, Cell
from brittle.corruptions import get_corruption, list_corruptions
from brittle.datasets.dataset import Dataset
from brittle.evaluation.cell import CellRows, plan
from brittle.evaluation.records import (
    CORRUPTIONS,
    IMAGES,
    READ,
    Call,
    KnownModel,
    Run,
    calls,
    decoded_for,
    keep_corruptions,
    know_corruptions,
    read_record,
    recorded,
    skipped,
)
from brittle.evaluation.records import FOLDER as CALLS
from brittle.models.model import Model

RUN, CELLS, RECIPES, MODELS, FAILURE_POINTS = "run.toml", "cells", "recipes", "models", "failure-points"
SEQUENCES = "sequences"
OURS = {
    CELLS: "*/*.parquet",
    FAILURE_POINTS: "*/*.parquet",
    SEQUENCES: "*/*.parquet",
    RECIPES: "*.toml",
    MODELS: "*.toml",
    CALLS: "*.json",
}
"""The folders of a run, and the files that it has in them."""

DATA, SAMPLES = "brittle.data", "brittle.samples"
"""The keys under which a file of rows names its data, and a digest of its samples in their order."""

WAY_OUT = "choose another folder, or remove that run with `overwrite=True`"


class Store:
    """A run's folder. Rows carry their sample, label, prediction, confidence, and whether it was right."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self._made: list[Path] = []
        self._presence: Presence | None = None
        self._data_key: str | None = None

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
        if self.folder.exists() and not self.folder.is_dir():
            raise BrittleError(f"{str(self.folder)!r} is a file; a run is kept in a folder")
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
            different = _differences(known, identity)
            if different:
                if self.has_results() or not Presence(path).alone():
                    raise BrittleError(f"{str(self.folder)!r} holds a run {different}; {WAY_OUT}")
                self._clear()
        else:
            self._check_rows(identity.get("data_key"))
            if path.is_file():
                warnings.warn(DamagedFile(f"{str(path)!r} is empty or cut off; it is written again"), stacklevel=4)
                path.unlink()
        if not create(path, toml_text(identity)):
            other = _differences(self.known() or {}, identity)  # without locks another process may have been faster
            if other:
                raise BrittleError(f"{str(self.folder)!r} holds a run {other}; {WAY_OUT}")
        self._presence = Presence(path)
        self._data_key = identity.get("data_key")

    def known(self) -> dict[str, Any] | None:
        """What the folder was claimed with; None if it is unclaimed, or if that file is incomplete."""
        known = _read(self.folder / RUN)
        if known is None or not {"data", "images", "classes"} <= known.keys():
            return None
        return known if len(known.get("cells", ())) == known.get("cell_count", 0) else None

    def _check_ours(self, path: Path) -> None:
        """Raise if there are files in a folder that is no run's."""
        ours = {*OURS, RUN, IMAGES, READ, CORRUPTIONS, COMMAND}
        strange = [item for item in self.folder.iterdir() if item.name not in ours and item.suffix != ".part"]
        if strange and not path.is_file():
            raise BrittleError(f"{str(self.folder)!r} is not empty and holds no run of brittle; choose another folder")

    def _check_rows(self, data_key: str | None) -> None:
        """Raise unless all rows in a folder that does not name its data are of this data."""
        for file in self._results():
            if data_key is None or pl.read_parquet_metadata(file).get(DATA) != data_key:
                raise BrittleError(
                    f"{str(self.folder / RUN)!r} is missing, empty or cut off, and the results beside it do not say "
                    f"that they are of this data; {WAY_OUT}"
                )

    def _results(self) -> Iterator[Path]:
        for folder in (CELLS, FAILURE_POINTS, SEQUENCES):
            yield from (file for file in (self.folder / folder).glob(OURS[folder]) if is_complete(file))

    def has_results(self) -> bool:
        """Whether anything has been computed."""
        return any(self._results())

    def _clear(self, *, images: bool = True) -> None:
        """Remove the files of a run, the record that marks it as one last, and the folders that are empty then."""
        for name, pattern in OURS.items():
            files = [*(self.folder / name).glob(pattern), *(self.folder / name).glob("*.toml")]
            files += (self.folder / name).rglob(".*.part")
            for file in files:
                file.unlink(missing_ok=True)
            for place in (*{file.parent for file in files}, self.folder / name):
                with suppress(OSError):  # it holds something else, or is not there
                    place.rmdir()
        for name in (*((READ, IMAGES) if images else ()), CORRUPTIONS, RUN):
            (self.folder / name).unlink(missing_ok=True)

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
                    theirs, ours = _ways(other, benchmark, clashing[0].corruption)
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
            benchmark.save(path)

    def _of_other_code(self, cells: Sequence[Cell]) -> Iterator[Cell]:
        """Cells that are planned now, and that an earlier version of user code has drawn before."""
        by_place = {
            _place(f"{cell.file_name}."): cell
            for cell in cells
            if not cell.is_clean and get_corruption(cell.corruption).code
        }
        folders = (self.folder / CELLS).iterdir() if by_place and (self.folder / CELLS).is_dir() else ()
        for folder in folders:
            for file in sorted(folder.iterdir()):
                cell = by_place.get(_place(file.name))
                if cell is not None and file.name != f"{cell.file_name}.parquet" and file.suffix == ".parquet":
                    yield cell

    def recipes(self) -> list[Benchmark]:
        """The recipes that were run, in the order of their names."""
        return [recipe for _, recipe in self._recipes()]

    def _recipes(self) -> list[tuple[Path, Benchmark]]:
        know_corruptions(self.folder)
        recipes = []
        for path in sorted((self.folder / RECIPES).glob("*.toml")):
            if missing_or_damaged(path, "repeat the command to write it again"):
                continue
            recipe = Benchmark.load(path)
            if not path.stem.endswith(recipe.hash):  # cut off where a corruption ends
                warnings.warn(DamagedFile(f"{str(path)!r} is not the recipe that its name stands for"), stacklevel=3)
                continue
            recipes.append((path, recipe))
        return recipes

    def keep_model(self, model: Model, batch_size: int | None) -> None:
        """Note a model, and its batch size if one was given; what is recorded already stays."""
        path = self.folder / MODELS / f"{model_folder(model)}.toml"
        if missing_or_damaged(path, "it is written again"):
            make_folder(path.parent)
            with atomic_write(path) as part:
                about = {"name": model.name, "key": model.key}
                about["since"] = f"{datetime.now().astimezone():%Y-%m-%d %H:%M:%S}"
                given = {"origin": getattr(model, "origin", None), "batch_size": batch_size}
                given = {key: value for key, value in given.items() if value}
                part.write_text(toml_text(about | given), encoding="utf-8")

    def batch_size(self, model: Model) -> int | None:
        """The batch size that was given for a model before: another one could change the last bits of a confidence."""
        known = _read(self.folder / MODELS / f"{model_folder(model)}.toml") or {}
        return int(known["batch_size"]) if "batch_size" in known else None

    def path(self, model: str, cell: Cell, kind: str = CELLS) -> Path:
        """Where the rows of a cell are, or will be; sequences have a folder of their own."""
        return self.folder / kind / model / f"{cell.file_name}.parquet"

    def has(self, model: str, cell: Cell, kind: str = CELLS) -> bool:
        """Whether a cell has been computed; a file that a crash left empty or cut off is named, and is missing."""
        return not missing_or_damaged(self.path(model, cell, kind), "the cell is computed again")

    def write(
        self,
        model: Model,
        cell: Cell,
        rows: CellRows,
    ) -> None:
        """Write the rows of one cell of a model."""
        table = pl.DataFrame(
            {
                "sample": list(rows.samples),
                "label": rows.labels.astype(np.int32),
                "prediction": rows.predictions.astype(np.int32),
                "confidence": rows.confidences.astype(np.float32),
                "correct": rows.labels == rows.predictions,
            }
        ).with_columns(
            pl.lit(model.name).alias("model"),
            pl.lit(cell.corruption).alias("corruption"),
            pl.lit(cell.severity).alias("level"),
        )
        samples = sha256("\0".join(map(str, rows.samples)).encode("utf-8", "surrogatepass")).hexdigest()
        self.write_rows(self.path(model_folder(model), cell), table, {SAMPLES: samples})

    def write_rows(self, path: Path, rows: pl.DataFrame, about: Mapping[str, str] | None = None) -> None:
        """Write a file of rows, which names its data, and what else is known about it."""
        if not (self.folder / RUN).is_file():
            raise FileNotFoundError(f"{str(self.folder)!r} was removed while a run worked in it; run it again")
        make_folder(path.parent)
        with atomic_write(path) as part:
            data = {DATA: self._data_key} if self._data_key else {}
            rows.write_parquet(part, compression="zstd", metadata={**data, **(about or {})} or None)

    def scan(self) -> pl.LazyFrame:
        """All rows, read when they are needed."""
        return scan([self])

    def identity(self) -> dict[str, Any]:
        """What the folder was claimed with."""
        known = self.known()
        if known is None:
            what = "empty or cut off; repeating the command writes it again"
            raise FileNotFoundError(
                f"{str(self.folder)!r} holds no run of brittle: {RUN} is "
                f"{what if (self.folder / RUN).is_file() else 'missing; give the folder that a run wrote'}"
            )
        return known

    def about(self) -> Run:
        """What was run on what, with what: data, class names, models, recipes, unreadable images, and each call."""
        identity = self.identity()
        made, unread = calls(self.folder), skipped(self.folder)
        for one in made:  # a published set on disk notes them cell by cell
            unread |= one.skipped
        models = [
            read_record(KnownModel, known)
            for file in sorted((self.folder / MODELS).glob("*.toml"))
            if not missing_or_damaged(file, "repeat the command to write it again")
            and (known := _read(file)) is not None
        ]
        recipes = [recipe.hash for recipe in self.recipes()]
        more = {"folder": self.folder, "models": models, "recipes": recipes, "skipped": unread, "calls": made}
        return read_record(Run, {**identity, **more})


def scan(stores: Sequence[Store], among: Sequence[Store] | None = None, kind: str = CELLS) -> pl.LazyFrame:
    """The rows of runs, read lazily.

    A cell that two runs on the same data have of the same model is read once. Models of one name and different weights
    or code are distinguished by where their code lies, by when they were first run, or else by the beginning of their
    keys, also if only some runs `among` more are read.
    """
    parts = []
    for ending, files in model_files(stores, among, kind):
        rows = pl.scan_parquet(files, glob=False, hive_partitioning=False)
        parts.append(rows.with_columns(pl.col("model") + ending) if ending else rows)
    return pl.concat(parts)


def model_files(
    stores: Sequence[Store], among: Sequence[Store] | None = None, kind: str = CELLS
) -> Iterator[tuple[str, list[Path]]]:
    """What follows the name of each model of runs, and its files; a cell that two runs have is there once."""
    files: dict[tuple[Any, str, str], dict[str, Path]] = {}
    for store in stores:
        data = store.identity().get("data_key", str(store.folder))
        for path in sorted((store.folder / kind).glob("*/*.parquet")):
            name, _, key = path.parent.name.rpartition("-")
            if not missing_or_damaged(path, "its rows are missing; give the same command again to compute them"):
                files.setdefault((data, name, key), {}).setdefault(path.name, path)
    if not files:
        place = str(stores[0].folder)
        raise BrittleError(f"{place!r} holds no results yet; `brittle run` or `brittle.evaluate` writes them")
    for cells in files.values():
        _check_one_code(list(cells.values()))
    endings = _endings(among or stores)
    for (_, name, key), cells in files.items():
        yield endings[name, key], list(cells.values())


def holds_results(folder: str | Path) -> bool:
    """Whether a folder holds predictions on a benchmark or on clean images."""
    cells = Path(folder) / CELLS
    return cells.is_dir() and any(file.suffix == ".parquet" for model in cells.iterdir() for file in model.iterdir())


def _endings(stores: Sequence[Store]) -> dict[tuple[str, str], str]:
    """What follows the name of each model, by (name, key): nothing, unless models of one name differ."""
    models: dict[str, dict[str, dict[str, Any]]] = {}
    for store in stores:
        for folder in (*(store.folder / CELLS).glob("*-*"), *(store.folder / SEQUENCES).glob("*-*")):
            name, _, key = folder.name.rpartition("-")
            path = store.folder / MODELS / f"{folder.name}.toml"
            models.setdefault(name, {}).setdefault(key, _read(path) or {})
    endings = {}
    for name, known in models.items():
        by_origin = {key: str(about.get("origin", "")) for key, about in known.items()}
        by_time = {key: f"{by_origin[key]} of {about.get('since', '')}".strip() for key, about in known.items()}
        by_key = {key: key[:6] for key in known}
        choices = [by_origin] * all(by_origin.values()) + [by_time] * all("since" in about for about in known.values())
        chosen = next(texts for texts in [*choices, by_key] if len(set(texts.values())) == len(known))
        for key in known:
            endings[name, key] = f" ({chosen[key]})" if len(known) > 1 else ""
    return endings


def _check_one_code(files: Sequence[Path]) -> None:
    """Raise if a cell of a user's corruption was drawn as two versions of its code, or two recipes, drew it."""
    first: dict[str, Path] = {}
    for file in files:
        place = _place(file.name)
        other = first.setdefault(place, file)
        if other != file and not _is_bundled(place.rpartition("@")[0]):
            raise BrittleError(
                f"{str(other.parents[2])!r} and {str(file.parents[2])!r} hold {place.replace('@', ' ')} drawn in "
                "different ways (another version of its code, another seed or options); load them apart"
            )


def _is_bundled(corruption: str) -> bool:
    return any(one.bundled and file_name(one.id) == corruption for one in list_corruptions())


def _place(name: str) -> str:
    """The corruption and level that a cell's file is of, without its key: imagenet-c.fog@3.5."""
    return name.rpartition("-")[0] or name


def model_folder(model: Model) -> str:
    """The folder of a model's cells: its name, and the key that changes with its weights."""
    plain = model.key.isascii() and model.key.isalnum() and model.key.islower() | model.key.isdecimal()
    key = model.key if plain and len(model.key) <= 64 else sha256(model.key.encode()).hexdigest()[:16]
    return f"{file_name(model.name)}-{key}"


def _read(path: Path) -> dict[str, Any] | None:
    """A small file; None if it is missing, empty or cut off."""
    return tomllib.loads(path.read_text(encoding="utf-8")) if is_complete(path) else None


def _differences(known: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    """In words, what one run's data has other than another's; nothing if they are the same."""
    if known.get("data") != wanted.get("data"):
        return f"on {known.get('data')!r}, and this one is on {wanted.get('data')!r}"
    if known.get("stored") != wanted.get("stored"):
        return f"on {_layout(known)} of {known.get('data')!r}, and this one is on {_layout(wanted)}"
    if known.get("images") != wanted.get("images"):
        return f"on {known.get('images')} images of {known.get('data')!r}, and this one has {wanted.get('images')}"
    before, now = (list(one.get("classes", ())) for one in (known, wanted))
    if before != now:
        if len(before) != len(now):
            return f"with {len(before)} classes, and this one has {len(now)}"
        place = next(i for i, (a, b) in enumerate(zip(before, now, strict=True)) if a != b)
        return f"whose class {place} is {before[place]!r}, and here it is {now[place]!r}"
    if any(known.get(key) != value for key, value in wanted.items()):
        return (
            f"on other images of {known.get('data')!r}: as many, but other files or labels, or prepared or chosen in "
            "another way"
        )
    return ""


def _layout(known: Mapping[str, Any]) -> str:
    return f"the corrupted pictures ({known['stored']})" if known.get("stored") else "the clean images"


def _ways(first: Benchmark, second: Benchmark, corruption: str) -> tuple[str, str]:
    """In words, how two recipes draw one corruption otherwise."""
    a, b = (
        {
            "seed": one.seed,
            "storage": one.storage,
            "table": one.table or "by size",
            **{f"{name} =": value for name, value in one.entry(corruption).options.items()},
        }
        for one in (first, second)
    )
    other = [key for key in {**a, **b} if a.get(key) != b.get(key)]
    ways = [", ".join(f"{key} {one.get(key, 'as it is by default')}" for key in other) for one in (a, b)]
    return (ways[0], ways[1]) if other else (f"the recipe {first.name!r}", f"{second.name!r}, another one")
