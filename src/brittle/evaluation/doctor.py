"""Examine a run's folder: which files are damaged, misplaced, missing or left over, and set right what can be."""

from __future__ import annotations

import json
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import polars as pl

from brittle._errors import BrittleError
from brittle._io import COMMAND, DAMAGED, file_name, in_use, is_complete, set_aside
from brittle._parts import stale_parts
from brittle.benchmarks import CLEAN, Benchmark, Cell
from brittle.evaluation.cell import plan
from brittle.evaluation.inputs import pixels_digest
from brittle.evaluation.records import (
    CORRUPTIONS,
    IMAGES,
    MODELS,
    READ,
    Call,
    DecodedFiles,
    KnownModel,
    calls,
    decoded_files,
    fits,
    read_toml,
)
from brittle.evaluation.records import FOLDER as CALLS
from brittle.evaluation.row_files import (
    CELLS,
    DATA,
    FAILURE_POINTS,
    ROW_FOLDERS,
    SAMPLES,
    holds_rows,
    row_metadata,
    samples_digest,
)
from brittle.evaluation.store import OURS, RECIPES, RUN, Store, kept_recipe, run_folders

Kind = Literal["damage", "leftover", "note"]
AGAIN = "repeat the command: it is made again"

WRITTEN_BY_VERBS = ("report.html", "failure-points.csv", "failure-points.png")
"""What verbs write beside a run unless another place is given."""


@dataclass(frozen=True)
class Finding:
    """What is wrong with a file of a run, and what to do about it.

    `kind` is "damage" for what no result is read from until it is made again, "leftover" for what a killed process
    left, and "note" for what does no harm. `mended` says what was done about it; it is empty if nothing was.
    """

    path: str
    problem: str
    remedy: str
    kind: Kind = "damage"
    mended: str = ""


@dataclass(frozen=True)
class RunHealth:
    """The state of a run's folder: how much there is of what, and all that is wrong with it."""

    folder: Path
    data: str | None
    models: int
    cells: int
    rows: int
    findings: tuple[Finding, ...] = field(default=())

    @property
    def sound(self) -> bool:
        """Whether there is no damage that is not mended."""
        return not any(one.kind == "damage" and not one.mended for one in self.findings)


def check_run(folder: str | Path, *, fix: bool = False) -> RunHealth:
    """Examine every file of a run: whether it is whole, belongs to the run, and holds the rows that it should.

    >>> import brittle, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> _ = brittle.evaluate("demo:standard", brittle.load_dataset("demo").limited(20), folder=folder)
    >>> brittle.evaluation.check_run(folder).sound
    True

    Nothing is changed without `fix`. With it, damaged files are renamed to NAME.damaged, so that the next call of
    `evaluate` makes them again, and half-written files of killed processes are removed; no result is ever removed.
    A folder that a run works on is not fixed.
    """
    examined = _Examination(Path(folder))
    if not examined.is_run:
        raise FileNotFoundError(f"{str(folder)!r} holds no run of brittle; give the folder that a run wrote")
    if fix and (Path(folder) / RUN).is_file() and in_use(Path(folder) / RUN):
        raise BrittleError(f"another process works on the run in {str(folder)!r}; wait for it or stop it")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the findings tell
        findings = list(examined.findings())
    if fix:
        findings = [_mended(Path(folder), one) for one in findings]
    known = examined.store.known() or {}
    return RunHealth(
        Path(folder), known.get("data"), len(examined.cells), examined.sound_cells, examined.rows, tuple(findings)
    )


def _mended(folder: Path, finding: Finding) -> Finding:
    path = folder / finding.path
    mended = ""
    if finding.kind == "leftover":
        path.unlink(missing_ok=True)
        mended = "removed"
    elif finding.kind == "damage" and os.path.lexists(path):
        mended = f"now {set_aside(path).name}"
    return Finding(finding.path, finding.problem, finding.remedy, finding.kind, mended)


class _Examination:
    """One pass over a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.store = folder, Store(folder)
        self.cells: dict[str, set[str]] = {}
        self.sound_cells = self.rows = 0

    @property
    def is_run(self) -> bool:
        """Whether a run's record or rows are there; folders called models or recipes are not enough."""
        return os.path.lexists(self.folder / RUN) or any(
            any((self.folder / kind).glob(OURS[kind])) for kind in ROW_FOLDERS
        )

    @cached_property
    def known(self) -> Mapping[str, Any]:
        return self.store.known() or {}

    @cached_property
    def decoded(self) -> DecodedFiles | None:
        return decoded_files(self.folder)

    @cached_property
    def imported(self) -> set[str]:
        """The folders of models whose predictions were imported, which may be of some images only."""
        made = calls(self.folder)
        return {f"{file_name(name)}-{key}" for call in made if call.predictions for name, key in call.models.items()}

    @cached_property
    def recipes(self) -> list[Benchmark]:
        return self.store.recipes()

    def findings(self) -> Iterator[Finding]:
        yield from self._claim()
        yield from self._images()
        yield from self._small_files()
        for kind in ROW_FOLDERS:
            for path in sorted((self.folder / kind).glob(OURS[kind])):
                yield from self._row_file(path, kind)
        yield from self._missing_cells()
        yield from self._versions()
        yield from self._leftovers()

    def _about(self, path: Path, problem: str, remedy: str = AGAIN, kind: Kind = "damage") -> Finding:
        return Finding(path.relative_to(self.folder).as_posix(), problem, remedy, kind)

    def _claim(self) -> Iterator[Finding]:
        if not self.known:
            state = "does not say which data this run is on" if os.path.lexists(self.folder / RUN) else "is missing"
            yield self._about(self.folder / RUN, state)
        for path in (self.folder / name for name in OURS):
            if os.path.lexists(path) and not path.is_dir():
                yield self._about(path, "is no folder")

    def _images(self) -> Iterator[Finding]:
        present = [self.folder / name for name in (READ, IMAGES) if os.path.lexists(self.folder / name)]
        about, problem = self.decoded, ""
        if about is None:
            problem = "decoded images and their list are not whole, or do not fit each other"
        elif about.pixels and about.pixels != pixels_digest(self.folder, len(about.kept)):
            problem = "decoded images are not as they were written"
        elif self.known and about.data_key != self.known.get("data_key"):
            problem = "decoded images are of other data than this run"
        for path in present if problem else ():
            yield self._about(path, problem, "repeat the command: the images are read again")

    def _small_files(self) -> Iterator[Finding]:
        def is_model(path: Path) -> bool:
            known = read_toml(path) or {}
            return {"name", "key"} <= known.keys() and fits(KnownModel, known)

        def is_call(path: Path) -> bool:
            return is_complete(path) and fits(Call, json.loads(path.read_text(encoding="utf-8")))

        def is_recipe(path: Path) -> bool:
            recipe = kept_recipe(path)
            return recipe is not None and path.stem.endswith(recipe.hash)

        def describes(path: Path) -> bool:
            return is_complete(path) and isinstance(json.loads(path.read_text(encoding="utf-8")), dict)

        checks: tuple[tuple[str, Callable[[Path], bool], str, str], ...] = (
            (f"{MODELS}/*.toml", is_model, "does not describe a model", AGAIN),
            (f"{RECIPES}/*.toml", is_recipe, "is not the recipe that its name stands for", AGAIN),
            (f"{FAILURE_POINTS}/*.toml", is_recipe, "is not the recipe that its name stands for", AGAIN),
            (f"{CALLS}/*.json", is_call, "does not record a call", "only the record of that call is lost"),
            (CORRUPTIONS, describes, "does not describe corruptions", AGAIN),
            (COMMAND, is_complete, "does not hold the command of this run", AGAIN),
        )
        for pattern, is_sound, problem, remedy in checks:
            for path in sorted(self.folder.glob(pattern)):
                if not is_sound(path):
                    yield self._about(path, problem, remedy)

    def _row_file(self, path: Path, kind: str) -> Iterator[Finding]:
        if not holds_rows(path):
            yield self._about(path, "is empty, cut off, garbled, of another program or of another cell")
            return
        problem = self._misplaced(path, kind)
        if problem:
            yield self._about(path, problem)
            return
        if kind == CELLS:
            self.cells.setdefault(path.parent.name, set()).add(path.stem)
            self.sound_cells += 1
            with path.open("rb") as file:
                self.rows += pl.scan_parquet(file).select(pl.len()).collect().item()
            described = (self.folder / MODELS / f"{path.parent.name}.toml").exists()
            if not described and len(self.cells[path.parent.name]) == 1:
                yield self._about(path.parent, f"has no file in {MODELS}/", AGAIN, "note")

    def _misplaced(self, path: Path, kind: str) -> str:
        """Why a whole file of rows does not belong where it is; nothing if it does."""
        about = row_metadata(path)
        if self.known.get("data_key") and about.get(DATA, self.known["data_key"]) != self.known["data_key"]:
            return "holds rows on other data than this run"
        table = pl.read_parquet(path, glob=False, hive_partitioning=False)
        if table.is_empty():
            return "holds no rows"
        if kind != CELLS:
            return ""
        places = table.select("corruption", "level").unique().rows()
        if len(places) != 1:
            return "holds rows of more than one cell"
        corruption, level = places[0]
        if not _names_cell(path.stem, corruption, level):
            return f"holds rows of {corruption} {level:g}, not of the cell in its name"
        samples = table["sample"]
        if samples.n_unique() != len(samples):
            return "holds a sample more than once"
        if SAMPLES in about and about[SAMPLES] != samples_digest(samples.to_list()):
            return "holds other samples than were written to it"
        decoded = None if path.parent.name in self.imported or self.known.get("stored") else self.decoded
        if decoded is not None and not _has_all(samples, decoded.ids, about):
            if len(samples) == len(decoded.ids):
                return "holds rows of other images than the run's"
            return f"holds {len(samples)} rows, and the run has {len(decoded.ids)} images"
        return ""

    def _missing_cells(self) -> Iterator[Finding]:
        for recipe in self.recipes:
            planned = {cell.file_name for cell in plan(recipe)}
            for model, cells in sorted(self.cells.items()):
                missing = planned - cells
                if missing and cells & planned - {Cell().file_name}:
                    text = f"{len(missing)} of {len(planned)} cells of {recipe.name!r} are missing"
                    yield self._about(self.folder / CELLS / model, text, "repeat the command to compute them", "note")

    def _versions(self) -> Iterator[Finding]:
        made = calls(self.folder)
        versions = sorted({call.versions["brittle"] for call in made if "brittle" in call.versions})
        if len(versions) > 1:
            text = f"calls of brittle {', '.join(versions)} worked on this run"
            yield self._about(self.folder / CALLS, text, "cells are kept apart by their keys; nothing", "note")

    def _leftovers(self) -> Iterator[Finding]:
        for place in run_folders(self.folder):
            for path in stale_parts(place):
                yield self._about(path, "was left half-written by a process that died", "remove it", "leftover")
            for path in sorted(place.glob(f"*{DAMAGED}")):
                yield self._about(path, "was set aside", "remove it, if you do not need it", "note")
        ours = {*OURS, RUN, IMAGES, READ, CORRUPTIONS, COMMAND, *WRITTEN_BY_VERBS}
        for path in sorted(self.folder.iterdir()):
            if path.name not in ours and path.suffix not in (".part", DAMAGED):
                yield self._about(path, "is no file of a run", "nothing; it is left alone", "note")


def _names_cell(stem: str, corruption: str, level: float) -> bool:
    """Whether a cell's file is named after its rows; those of a range of levels hold its middle."""
    if corruption == CLEAN:
        return stem == CLEAN
    named = Cell(corruption, level, "x").file_name.rpartition("-")[0]
    kind, _, rest = stem.partition("@")
    drawn = "-" in rest.rpartition("-")[0]
    return kind == named.partition("@")[0] if drawn else stem.startswith(f"{named}-")


def _has_all(samples: pl.Series, ids: tuple[str | int, ...], about: Mapping[str, str]) -> bool:
    """Whether a cell has a row for each image of the run."""
    if about.get(SAMPLES) == samples_digest(map(str, ids)):
        return True
    return len(samples) == len(ids) and set(samples.to_list()) == set(map(str, ids))
