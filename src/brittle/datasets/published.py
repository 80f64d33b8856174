"""What both published layouts share: names, the recipe beside the pictures, and the account of what was written."""

from __future__ import annotations

import shutil
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

from brittle._io import file_name, is_whole, locked, missing_or_damaged, replacing
from brittle.benchmarks import Benchmark, ends, level_name
from brittle.benchmarks.toml import dumps

RECIPE, LAYOUT, SKIPPED = "recipe.toml", "layout.toml", "skipped.txt"

Progress = Callable[[int, int], None]
"""Called with (done, total) pictures whenever some are done."""


@dataclass
class Written:
    """What a run did: pictures written, pictures that were already there, and the files it could not read.

    `damaged` of those written were there before, but empty or cut off. `labels` are files beside the images that look
    like annotations and are not written, and `masks` are images that look like masks and were corrupted like any other.
    """

    written: int = 0
    kept: int = 0
    skipped: dict[str, str] = field(default_factory=dict)
    damaged: int = 0
    labels: list[str] = field(default_factory=list)
    masks: list[str] = field(default_factory=list)

    @property
    def done(self) -> int:
        """Pictures that are there now."""
        return self.written + self.kept


def names(benchmark: Benchmark) -> dict[str, str]:
    """The published name of each corruption id: the short one, or `source-name` where two sets share it."""
    short = [entry.corruption.name for entry in benchmark.entries]
    shared = {name for name, count in Counter(short).items() if count > 1}
    found = {
        entry.id: "-".join(map(file_name, (entry.corruption.source, name))) if name in shared else file_name(name)
        for entry, name in zip(benchmark.entries, short, strict=True)
    }
    return found if len(set(found.values())) == len(found) else {identity: file_name(identity) for identity in found}


def claim(folder: Path, benchmark: Benchmark, layout: Mapping[str, str], *, overwrite: bool) -> None:
    """Make the folder this recipe's own, or raise if it belongs to another or to somebody else.

    `overwrite` removes what an earlier recipe wrote there; nothing is ever removed from a folder without one.
    """
    recipe = folder / RECIPE
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{str(folder)!r} is a file; the destination is a folder")
    with locked(folder):
        if recipe.is_file():
            if overwrite:
                _clear(folder, Benchmark.load(recipe) if is_whole(recipe) else benchmark)
            else:
                _check_same(folder, benchmark, layout)
        elif any(not item.name.startswith(".") for item in folder.iterdir()):
            raise ValueError(
                f"{str(folder)!r} is not empty and has no {RECIPE}, so brittle did not write it; choose a new folder"
            )
        noted = {**layout, "brittle": version("brittle"), "recipe": benchmark.hash}
        benchmark.save(recipe)
        with replacing(folder / LAYOUT) as path:
            path.write_text(dumps(noted), encoding="utf-8")


WAY_OUT = "choose another folder, or start anew with --overwrite"


def _check_same(folder: Path, benchmark: Benchmark, layout: Mapping[str, str]) -> None:
    """Raise unless the folder was made by this recipe in this way; of the two files that say so one may be damaged."""
    recipe, path = folder / RECIPE, folder / LAYOUT
    lost = missing_or_damaged(recipe, "it is written again")
    noted = {} if missing_or_damaged(path, "it is written again") else tomllib.loads(path.read_text(encoding="utf-8"))
    if lost and "recipe" not in noted:
        raise ValueError(
            f"{str(recipe)!r} is empty or cut off, so nobody knows by which recipe the pictures beside it were made; "
            f"{WAY_OUT}"
        )
    there = benchmark if lost else Benchmark.load(recipe)
    if (noted["recipe"] if lost else there.hash) != benchmark.hash:
        known = "" if lost else f": {_words(there)}, and this one is {_words(benchmark)}"
        raise ValueError(f"{str(folder)!r} was made by another recipe{known}; {WAY_OUT}")
    if noted.get("images", layout.get("images")) != layout.get("images"):
        raise ValueError(f"{str(folder)!r} was made of other images; {WAY_OUT}")
    for key, wanted in {**layout, "brittle": version("brittle")}.items():
        if noted.get(key, wanted) != wanted:
            raise ValueError(f"{str(folder)!r} was made with {key} {noted[key]!r}, not {wanted!r}; {WAY_OUT}")


def _words(benchmark: Benchmark) -> str:
    count = len(benchmark.entries)
    levels = sorted({level for entry in benchmark.entries for level in entry.levels}, key=ends)
    listed = ", ".join(map(level_name, levels))
    what = f"{count} corruptions" if count > 1 else benchmark.entries[0].corruption.name
    return f"{benchmark.name!r} ({what}, severities {listed}, seed {benchmark.seed})"


def _clear(folder: Path, benchmark: Benchmark) -> None:
    for identity, name in names(benchmark).items():
        (folder / f"{name}.npy").unlink(missing_ok=True)
        for level in benchmark.entry(identity).levels:
            shutil.rmtree(folder / name / level_name(level), ignore_errors=True)
        if (folder / name).is_dir() and not any((folder / name).iterdir()):
            (folder / name).rmdir()
    for name in ("labels.npy", SKIPPED, LAYOUT, RECIPE):
        (folder / name).unlink(missing_ok=True)


def write_skipped(folder: Path, skipped: Mapping[str, str]) -> None:
    """Keep the list of unreadable files beside the pictures, one `path<TAB>reason` a line."""
    if not skipped:
        (folder / SKIPPED).unlink(missing_ok=True)
        return
    with replacing(folder / SKIPPED) as path:
        path.write_text("".join(f"{name}\t{skipped[name]}\n" for name in sorted(skipped)), encoding="utf-8")
