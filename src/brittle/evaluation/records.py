"""What a run was made with: versions, machine, time. Written beside the rows, one file for each call of `evaluate`."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar

from brittle._identity import as_data, settings
from brittle._io import atomic_write, is_complete, make_folder, missing_or_damaged
from brittle.benchmarks import Benchmark
from brittle.corruptions.registry import describe, stand_in

FOLDER, CORRUPTIONS = "calls", "corruptions.json"
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


Record = TypeVar("Record", Call, KnownModel, Run)


def read_record(kind: type[Record], data: Mapping[str, Any]) -> Record:
    """A record from plain data; fields that an earlier or later version of brittle wrote are left out."""
    known = {field.name for field in fields(kind)}
    values: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in data.items() if key in known
    }
    return kind(**values)


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
    known = json.loads(path.read_text(encoding="utf-8")) if is_complete(path) else {}
    added = [
        entry.corruption for entry in benchmark.entries if not entry.corruption.bundled and entry.corruption.loaded
    ]
    described = json.loads(json.dumps({corruption.id: describe(corruption) for corruption in added}))
    if any(known.get(key) != one for key, one in described.items()):
        with atomic_write(path) as part:
            part.write_text(json.dumps(known | described, indent=1), encoding="utf-8")


def know_corruptions(folder: Path) -> None:
    """Know the corruptions that a run describes, as far as their code is not loaded."""
    path = folder / CORRUPTIONS
    for about in json.loads(path.read_text(encoding="utf-8")).values() if is_complete(path) else ():
        stand_in(about)


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

    keep()
    try:
        yield call
        call.state = "finished"
    except BaseException as error:
        call.state = f"ended: {type(error).__name__}: {error}"
        raise
    finally:
        call.seconds = round(time.monotonic() - clock, 2)
        keep()


def calls(folder: Path) -> tuple[Call, ...]:
    """All records of a run, oldest first; one that a crash left empty or cut off is named and left out."""
    paths = sorted((folder / FOLDER).glob("*.json"))
    intact = [
        path for path in paths if not missing_or_damaged(path, "the record of that call is lost, and nothing else")
    ]
    return tuple(read_record(Call, json.loads(path.read_text(encoding="utf-8"))) for path in intact)
