"""What a run was made with: versions, machine, time. Written beside the rows, one file for each call of `evaluate`.

While it works, callbacks are given the same account of it; `evaluation/loggers.py` has those for loggers.
"""

from __future__ import annotations

import json
import os
import platform
import shlex
import time
import tomllib
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import UnionType
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, get_args, get_origin, get_type_hints

import numpy as np

from brittle._errors import BrittleError, CallbackFailed
from brittle._identity import as_data, digest, settings
from brittle._io import COMMAND, atomic_write, is_complete, make_folder, make_way, missing_or_damaged, warn_damaged
from brittle._types import Image, printable
from brittle.benchmarks import Benchmark, Cell
from brittle.corruptions.registry import describe, stand_in

if TYPE_CHECKING:
    from brittle.evaluation.results import Results

FOLDER, CORRUPTIONS = "calls", "corruptions.json"
MODELS = "models"
"""The folder with what is known of each model."""

LOST = "the record of that call is lost, and nothing else"
PACKAGES = (
    *("brittle", "numpy", "numba", "opencv-python-headless", "pillow", "polars"),
    *("torch", "timm", "transformers", "onnxruntime", "ray"),
)
"""Those whose versions may matter; what is not installed is left out."""


@dataclass
class Call:
    """One call that worked on a run: what it did, with what, and how it ended."""

    started: str = ""
    state: str = "not finished"
    seconds: float | None = None
    benchmark: str | None = None
    recipe: str | None = None
    seed: int | None = None
    stored: str | None = None
    written_by_brittle: bool = False
    folder: str | None = None
    predictions: str | None = None
    failure_points: str | None = None
    step: float | None = None
    tolerance: float | None = None
    engine: str | None = None
    batch_size: int | None = None
    models: dict[str, str] = field(default_factory=dict)
    cells: int = 0
    size: tuple[int, int] | None = None
    unreadable: int = 0
    skipped: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    versions: dict[str, str] = field(default_factory=dict)
    machine: dict[str, Any] = field(default_factory=dict)
    nodes: dict[str, int] = field(default_factory=dict)
    """Cells by the node of a cluster that computed them."""

    @property
    def title(self) -> str:
        """What was run."""
        return self.benchmark or self.stored or self.predictions or self.failure_points or "clean images"


@dataclass(frozen=True)
class KnownModel:
    """A model that a run has results of."""

    name: str
    key: str
    origin: str = ""
    batch_size: int | None = None


@dataclass(frozen=True)
class Run:
    """A run's own account: which images, models and recipes, what could not be read, and every call."""

    folder: Path
    data: str = ""
    images: int = 0
    classes: tuple[str, ...] = ()
    data_key: str | None = None
    stored: str | None = None
    models: tuple[KnownModel, ...] = ()
    recipes: tuple[str, ...] = ()
    skipped: dict[str, str] = field(default_factory=dict)
    calls: tuple[Call, ...] = ()

    @property
    def images_key(self) -> tuple[str | None, str | None]:
        """Equal for runs on the same images."""
        return self.data_key, self.stored


Record = TypeVar("Record")


def read_record(kind: type[Record], data: Mapping[str, Any]) -> Record:
    """A record from plain data; fields that an earlier or later version of brittle wrote are left out."""
    known = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    values: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in data.items() if key in known
    }
    return kind(**values)


def fits(kind: type[Record], data: Any) -> bool:
    """Whether plain data has values of the types that the fields of a record have; a missing field is no mistake."""
    hints = get_type_hints(kind)
    return isinstance(data, dict) and all(_is_a(value, hints[key]) for key, value in data.items() if key in hints)


def _is_a(value: Any, hint: Any) -> bool:
    """Whether a value of JSON or TOML is of a type; lists stand for tuples."""
    if isinstance(hint, UnionType):
        return any(_is_a(value, each) for each in get_args(hint))
    kind, inner = get_origin(hint) or hint, get_args(hint)
    if kind is tuple:
        return isinstance(value, list) and all(_is_a(each, inner[0]) for each in value)
    if kind is dict:
        return isinstance(value, dict) and all(_is_a(each, inner[1]) for each in value.values())
    if kind is Any or is_dataclass(kind):
        return True
    return isinstance(value, int | float) if kind is float else isinstance(value, kind)


def versions() -> dict[str, str]:
    """The version of each package that is installed."""
    installed = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            installed[package] = version(package)
        except PackageNotFoundError:
            continue
    return installed


def keep_corruptions(folder: Path, benchmark: Benchmark) -> None:
    """Describe a user's corruptions beside the rows, so that scores can be read where their code is not installed."""
    path = folder / CORRUPTIONS
    known = _described(path)
    added = [
        entry.corruption for entry in benchmark.entries if not entry.corruption.bundled and entry.corruption.loaded
    ]
    described = json.loads(json.dumps({corruption.id: describe(corruption) for corruption in added}))
    if any(known.get(key) != one for key, one in described.items()):
        make_way(path)
        with atomic_write(path) as part:
            part.write_text(json.dumps(known | described, indent=1), encoding="utf-8")


def know_corruptions(folder: Path) -> None:
    """Know the corruptions that a run describes, as far as their code is not loaded."""
    path = folder / CORRUPTIONS
    for about in _described(path).values():
        try:
            stand_in(about)
        except (TypeError, KeyError, ValueError, AttributeError):  # damaged, or written by another program
            warn_damaged(path, "corruptions whose code is not loaded are unknown", "does not describe corruptions")


def _described(path: Path) -> dict[str, Any]:
    if missing_or_damaged(path, "corruptions whose code is not loaded are unknown"):
        return {}
    known = json.loads(path.read_text(encoding="utf-8"))
    if isinstance(known, dict):
        return known
    warn_damaged(path, "corruptions whose code is not loaded are unknown", "does not describe corruptions")
    return {}


@contextmanager
def recorded(folder: Path, call: Call) -> Iterator[Call]:
    """Keep a record of one call: begun, and either finished, failed with its reason, or neither if it was killed."""
    started = datetime.now(UTC)
    call.started, call.state, call.versions = started.isoformat(timespec="seconds"), "running", versions()
    call.machine = {"system": platform.system(), "processor": platform.machine(), "cores": os.cpu_count()}
    path = folder / FOLDER / f"{started:%Y%m%d-%H%M%S-%f}-{os.getpid()}.json"
    make_folder(path.parent)
    clock = time.monotonic()

    def keep() -> None:
        with atomic_write(path) as part:
            part.write_text(json.dumps(as_data(settings(call)), indent=1, ensure_ascii=False), encoding="utf-8")

    def end(state: str) -> None:
        call.state, call.seconds = printable(state), round(time.monotonic() - clock, 2)
        keep()

    keep()
    try:
        yield call
    except BaseException as error:
        with suppress(OSError):  # what went wrong first is told
            end(f"ended: {type(error).__name__}: {error}")
        raise
    try:
        end("finished")
    except OSError as error:
        warn_damaged(path, LOST, f"cannot be written ({error.strerror})")


def read_toml(path: Path) -> dict[str, Any] | None:
    """What a small file of a run says; None if it is missing, empty or cut off."""
    return tomllib.loads(path.read_text(encoding="utf-8")) if is_complete(path) else None


def calls(folder: Path) -> tuple[Call, ...]:
    """All records of a run, oldest first; one that a crash left empty or cut off is named and left out."""
    paths = sorted((folder / FOLDER).glob("*.json"))
    made = []
    for path in paths:
        if missing_or_damaged(path, LOST):
            continue
        known = json.loads(path.read_text(encoding="utf-8"))
        if fits(Call, known) and _is_time(known.get("started", "")):
            made.append(read_record(Call, known))
        else:
            warn_damaged(path, LOST, "does not record a call")
    return tuple(made)


def _is_time(text: str) -> bool:
    """Whether a text is a time as records have it, or empty."""
    try:
        return not text or bool(datetime.fromisoformat(text))
    except ValueError:
        return False


def command_line(run: Run) -> str:
    """What was typed to make a folder, as its command.toml has it; empty if it was not made on a command line."""
    if not (run.folder / COMMAND).is_file():
        return ""
    try:
        known = tomllib.loads((run.folder / COMMAND).read_text(encoding="utf-8"))
        options = [piece for name, value in known.get("options", {}).items() for piece in _option(name, value)]
        imports = [piece for name in known.get("import", []) for piece in ("--import", str(name))]
        arguments = [*imports, *known["command"].split(), *map(str, known.get("arguments", [])), *options]
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return ""
    return shlex.join(["brittle", *arguments])


def _option(name: str, value: Any) -> list[str]:
    values = value if isinstance(value, list) else [value]
    flag = f"--{name}"
    return [piece for one in values if one is not False for piece in ((flag,) if one is True else (flag, str(one)))]


IMAGES, READ = "images.npy", "images.json"
"""The decoded images of a run, and which of the data set they are."""


@dataclass(frozen=True)
class DecodedFiles:
    """What images.json says of images.npy: whose images, which of the dataset, and why the others are not there."""

    data_key: str | None = None
    kept: tuple[int, ...] = ()
    ids: tuple[str | int, ...] = ()
    skipped: dict[str, str] = field(default_factory=dict)
    pixels: str = ""
    listed: str = ""


def listed_digest(about: Mapping[str, Any]) -> str:
    """A digest of all else that images.json says: a changed id would give a report other pictures, or none."""
    return digest({key: about[key] for key in ("data_key", "kept", "ids", "skipped", "pixels") if key in about})


def decoded_files(folder: Path) -> DecodedFiles | None:
    """The account of the decoded images of a run; None unless it and they are there, whole, and fit each other."""
    about = _read_decoded(folder / READ)
    if about is None or not is_complete(folder / IMAGES):
        return None
    images = np.load(folder / IMAGES, mmap_mode="r")
    fitting = images.ndim == 4 and images.dtype == np.uint8 and len(images) >= len(about.kept) == len(about.ids)
    return about if fitting and images.shape[-1] == 3 else None


def _read_decoded(path: Path) -> DecodedFiles | None:
    if not is_complete(path):
        return None
    about = json.loads(path.read_text(encoding="utf-8"))
    named = isinstance(about, dict) and {"data_key", "kept", "ids", "skipped"} <= about.keys()
    if not named or not fits(DecodedFiles, about) or about.get("listed", "") not in ("", listed_digest(about)):
        return None
    return read_record(DecodedFiles, about)


def decoded_for(folder: Path, data_key: str | None) -> bool:
    """Whether a folder holds the images of this data, all of them and whole."""
    about = decoded_files(folder)
    return about is not None and about.data_key == data_key


def decoded_images(folder: str | Path) -> Image | None:
    """The clean images of a run as one mapped array, in the order of `decoded_ids`; None if they are not there."""
    about = decoded_files(Path(folder))
    return None if about is None else np.load(Path(folder) / IMAGES, mmap_mode="r")[: len(about.kept)]


def decoded_ids(folder: str | Path) -> list[str | int]:
    """The sample ids in the order of the decoded images, numbers as numbers: they address the draws."""
    about = decoded_files(Path(folder))
    return [] if about is None else list(about.ids)


def skipped(folder: Path) -> dict[str, str]:
    """The samples of a run that could not be read, each with the reason."""
    about = _read_decoded(folder / READ)
    return {} if about is None else dict(about.skipped)


@dataclass(frozen=True)
class StartedRun:
    """What a run is going to do: its folder, its models by their names, and the cells that are missing for some.

    `settings` are plain values: data, images, benchmark, recipe, seed, engine, batch_size, as far as they are known.
    """

    folder: Path
    models: tuple[str, ...]
    cells: tuple[Cell, ...]
    settings: dict[str, str | int | float] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """What is run on what."""
        return f"{self.settings.get('benchmark', 'clean images')} on {self.settings.get('data', 'images')}"

    @property
    def steps_per_severity(self) -> int:
        """1, or 10, 100 or 1000 where severities are not whole: loggers count steps in whole numbers."""
        return next((n for n in (1, 10, 100) if all((n * c.severity) % 1 == 0 for c in self.cells)), 1000)


def started_run(folder: str | Path, data: str, images: int, call: Call, cells: Sequence[Cell]) -> StartedRun:
    """The account of a run that a call starts."""
    settings: dict[str, Any] = {"data": data, "images": images, "models": ", ".join(call.models)}
    settings |= {"benchmark": call.benchmark or call.stored, "recipe": call.recipe, "seed": call.seed}
    settings |= {"engine": call.engine, "batch_size": call.batch_size}
    settings |= {"folder": str(folder), "brittle": versions().get("brittle", "")}
    known = {name: value for name, value in settings.items() if value is not None}
    return StartedRun(Path(folder), tuple(call.models), tuple(cells), known)


class Callback(Protocol):
    """Follows a run. Inherit it and write the methods that you need; all are called in the process of `evaluate`.

    An error in `on_run_start` ends the run, before anything is computed. After an error in another method, which is
    shown as a `CallbackFailed` warning, the run continues without this callback.
    """

    def on_run_start(self, run: StartedRun) -> None:
        """Called once, when it is known which cells are missing, also if none is."""

    def on_cell_end(self, model: str, cell: Cell, accuracy: float, images: int) -> None:
        """Called for each model and cell that was computed, after its predictions are stored.

        Not for cells that a resumed run holds already. On Ray cells come in the order in which they are finished.
        """

    def on_run_end(self, results: Results) -> None:
        """Called once with all results in the run's folder, those of earlier calls too."""

    def on_exception(self, error: BaseException) -> None:
        """Called in place of `on_run_end` if the run ends with an error or is interrupted."""


METHODS = ("on_run_start", "on_cell_end", "on_run_end", "on_exception")


class CallbackList:
    """The callbacks of one run."""

    def __init__(self, callbacks: Sequence[Callback | str] = ()) -> None:
        if isinstance(callbacks, str) or not isinstance(callbacks, Sequence):
            raise BrittleError(f"callbacks are a list, such as [TensorBoardCallback('logs')], got {callbacks!r}")
        self.callbacks: list[Any] = [_loaded(one) if isinstance(one, str) else one for one in callbacks]
        for one in self.callbacks:
            if isinstance(one, type) or not any(callable(getattr(one, method, None)) for method in METHODS):
                known = ", ".join(METHODS)
                raise BrittleError(f"a callback is an object with some of the methods {known}; got {one!r}")
        self._started: list[Any] = []

    def start(self, run: StartedRun) -> None:
        """Tell all that a run starts; the first error is raised, with the name of its callback."""
        for one in self.callbacks:
            try:
                getattr(one, "on_run_start", _nothing)(run)
                self._started.append(one)
            except Exception as error:
                raise BrittleError(
                    f"{_name(one)}.on_run_start failed, so the run was not started: {type(error).__name__}: {error}"
                ) from error

    def call(self, method: str, *arguments: Any) -> None:
        """Call a method of all callbacks that were started; one that raises an error is named, and not called again."""
        for one in list(self._started):
            try:
                getattr(one, method, _nothing)(*arguments)
            except Exception as error:
                self._started.remove(one)
                message = (
                    f"{_name(one)}.{method} failed ({type(error).__name__}: {error}); the run continues without it"
                )
                warnings.warn(CallbackFailed(message), stacklevel=4)


def _loaded(text: str) -> Callback:
    from brittle.evaluation.loggers import load_callback

    return load_callback(text)


def _nothing(*_: Any) -> None:
    """In place of a method that a callback does not have."""


def _name(callback: Any) -> str:
    return type(callback).__name__
