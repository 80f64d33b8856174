"""What a run was made with: versions, machine, time. Written beside the rows, one file for each call of `evaluate`."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from brittle._io import atomic_write, is_whole, make_folder, missing_or_damaged
from brittle.benchmarks import Benchmark
from brittle.corruptions.registry import describe, stand_in

FOLDER, CORRUPTIONS = "calls", "corruptions.json"
PACKAGES = (
    *("brittle", "numpy", "numba", "opencv-python-headless", "pillow", "polars"),
    *("torch", "timm", "transformers", "onnxruntime", "ray"),
)
"""Those whose versions may matter; what is not installed is left out."""


def versions() -> dict[str, str]:
    """The version of each package that is installed."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def keep_corruptions(folder: Path, benchmark: Benchmark) -> None:
    """Describe a user's own corruptions beside the rows, so that scores can be read where their code is not."""
    path = folder / CORRUPTIONS
    known = json.loads(path.read_text(encoding="utf-8")) if is_whole(path) else {}
    own = [entry.corruption for entry in benchmark.entries if not entry.corruption.bundled and entry.corruption.loaded]
    described = json.loads(json.dumps({corruption.id: describe(corruption) for corruption in own}))
    if any(known.get(key) != one for key, one in described.items()):
        with atomic_write(path) as part:
            part.write_text(json.dumps(known | described, indent=1), encoding="utf-8")


def know_corruptions(folder: Path) -> None:
    """Know the corruptions that a run describes, as far as their code is not loaded."""
    path = folder / CORRUPTIONS
    for about in json.loads(path.read_text(encoding="utf-8")).values() if is_whole(path) else ():
        stand_in(about)


@contextmanager
def recorded(folder: Path, about: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Keep a record of one call: begun, and either finished, failed with its reason, or neither if it was killed."""
    started = datetime.now(UTC)
    record = {
        "started": started.isoformat(timespec="seconds"),
        **about,
        "versions": versions(),
        "machine": {"system": platform.system(), "processor": platform.machine(), "cores": os.cpu_count()},
        "state": "running",
    }
    path = folder / FOLDER / f"{started:%Y%m%d-%H%M%S-%f}-{os.getpid()}.json"
    make_folder(path.parent)
    clock = time.monotonic()

    def keep() -> None:
        with atomic_write(path) as part:
            part.write_text(json.dumps(record, indent=1, ensure_ascii=False), encoding="utf-8")

    keep()
    try:
        yield record
        record["state"] = "finished"
    except BaseException as error:
        record["state"] = f"ended: {type(error).__name__}: {error}"
        raise
    finally:
        record["seconds"] = round(time.monotonic() - clock, 2)
        keep()


def calls(folder: Path) -> list[dict[str, Any]]:
    """All records of a run, oldest first; one that a crash left empty or cut off is named and left out."""
    paths = sorted((folder / FOLDER).glob("*.json"))
    whole = [
        path for path in paths if not missing_or_damaged(path, "the record of that call is lost, and nothing else")
    ]
    return [json.loads(path.read_text(encoding="utf-8")) for path in whole]
