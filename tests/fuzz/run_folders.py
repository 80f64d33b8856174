"""Damage to the folder of a run: it is read, or resumed, with the right rows; or a sentence says why not."""

import atexit
import os
import shutil
import tempfile
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl

from brittle._io import DamagedFile
from brittle.benchmarks import Benchmark, Entry
from brittle.datasets import arrays
from brittle.evaluation import evaluate, load_results
from brittle.models import from_callable
from brittle.report import write_report
from tests.fuzz.damage import DAMAGE, damaged
from tests.fuzz.engine import SENTENCES, Finding, Fuzzer

RECIPE = Benchmark("small", (Entry("imagenet-c/contrast", (1, 3)), Entry("gaussian_noise", (5,))))
PIXELS = np.random.default_rng(1).integers(0, 256, (16, 8, 8, 3), np.uint8)
FILES = (
    "cells/*/clean.parquet",
    "run.toml",
    "models/*.toml",
    "recipes/*.toml",
    "calls/*.json",
    "images.json",
    "images.npy",
)
FILES += ("cells/*/*noise*.parquet", "cells/*/*contrast@1-*.parquet")
WAYS = (*DAMAGE, "missing", "a folder", "a fifo", "a loop", "another cell", "unreadable")
ORDER = ["model", "corruption", "level", "sample"]


def _brightness(images: np.ndarray) -> np.ndarray:
    return np.sin(images.mean((1, 2, 3))[:, None] + np.arange(4))


def run(folder: Path) -> None:
    """The run, from the start or resumed."""
    models = [from_callable(lambda images, i=i: _brightness(images + i), name=f"m{i}", version="1") for i in (0, 1)]
    evaluate(
        models,
        arrays(PIXELS, np.arange(16) % 4, list("abcd"), name="squares"),
        RECIPE,
        folder,
        progress=None,
        threads=1,
    )


@cache
def pristine() -> Path:
    """A finished run."""
    folder = Path(tempfile.mkdtemp(prefix="brittle-run-")) / "run"
    atexit.register(shutil.rmtree, folder.parent, ignore_errors=True)
    run(folder)
    return folder


@cache
def right_rows() -> pl.DataFrame:
    """Its rows."""
    return rows(pristine())


def rows(folder: Path) -> pl.DataFrame:
    """All rows of a run in one order."""
    return load_results(folder).rows.sort(ORDER).collect()


def spoil(path: Path, way: str, seed: int) -> None:
    """Damage one file of a run."""
    if way in DAMAGE:
        path.write_bytes(damaged(path.read_bytes(), way, seed))
        return
    if way == "another cell":
        others = sorted(path.parent.glob(f"*{path.suffix}"))
        shutil.copy(others[seed % len(others)], path.parent / "copied")
        (path.parent / "copied").replace(path)
        return
    if way == "unreadable":
        path.chmod(0)
        return
    path.unlink()
    if way == "a folder":
        path.mkdir()
    elif way == "a fifo":
        os.mkfifo(path)
    elif way == "a loop":
        path.symlink_to(path.name)


def step(what: str, folder: Path) -> pl.DataFrame | None:
    """Do one thing with the folder; None if that was refused in a sentence."""
    try:
        if what == "run":
            run(folder)
        elif what == "report":
            write_report(load_results(folder), folder.parent / "report.html")
        return rows(folder)
    except SENTENCES as error:
        if len(str(error).strip()) < 15 or str(error).count("\n") > 8:
            raise
        return None


def check(file: str, way: str, seed: int, second: str, again: int, first: str, clean: bool) -> str:
    """Damage one file or two, then read, report and run: each row that is seen is right, and the run is completed."""
    with tempfile.TemporaryDirectory(prefix="brittle-fuzz-") as place, warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", DamagedFile)
        folder = shutil.copytree(pristine(), Path(place) / "run")
        if clean:
            shutil.rmtree(next((folder / "cells").iterdir()))  # so that something is missing
        for pattern, salt in ((file, seed), (second, again)):
            found = sorted(folder.glob(pattern)) if pattern else []
            if found and found[0].is_file():
                spoil(found[salt % len(found)], way, salt)
        right, outcomes = right_rows(), []
        for what in dict.fromkeys((first, "read", "report", "run")):
            seen = step(what, folder)
            outcomes.append((what, seen is not None))
            if seen is not None and len(seen.join(right, on=right.columns, how="anti", nulls_equal=True)):
                raise Finding(f"{what}: rows that are not those of the run")
            if seen is not None and what == "run" and not seen.equals(right):
                raise Finding(f"{len(seen)} rows instead of {len(right)} after the run was repeated")
        if way == "nothing" and not all(ok for _, ok in outcomes):
            raise Finding(f"refused without damage: {outcomes}")
    refused = [what for what, ok in outcomes if not ok]
    return "right rows" if not refused else "refused to run" if "run" in refused else "refused to read, then right"


RUN_FOLDERS = Fuzzer(
    "run-folders",
    {
        "file": FILES,
        "way": WAYS,
        "seed": range(2**31),
        "second": ("", *FILES),
        "again": range(2**31),
        "first": ("read", "run", "report"),
        "clean": (False, True),
    },
    check,
)
