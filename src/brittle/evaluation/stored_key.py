"""What a stored set is known by: the files of every cell, so that changed files never get the results of old ones."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from typing import Any

from brittle.datasets.stored_set import StoredSet
from brittle.evaluation.cell import Cell
from brittle.evaluation.run import Progress
from brittle.evaluation.store import Store

CellKeys = dict[tuple[str, float], str]


def cell_keys(stored: StoredSet, threads: int, progress: Progress | None = None) -> CellKeys:
    """Each cell with the `lasting_key` of its dataset: a copy of the set has the same, whatever its times of change.

    Of folders every file's name and size is asked for and a few files are read; arrays are read through.
    """
    keys: CellKeys = {}
    with ThreadPoolExecutor(threads) as pool:
        found = pool.map(lambda read: read().lasting_key, stored.cells.values())
        for place, key in zip(stored.cells, found, strict=True):
            keys[place] = key
            if progress is not None:
                progress("looking at the files", len(keys), len(stored.cells))
    return keys


def identity(keys: CellKeys) -> dict[str, Any]:
    """The keys as a run's folder keeps them: one for all, and that of each cell, which says where a set differs."""
    whole = sha256(repr(sorted(keys.items())).encode()).hexdigest()[:16]
    cells = [{"corruption": name, "level": level, "key": key} for (name, level), key in sorted(keys.items())]
    return {"data_key": whole, "cell_count": len(cells), "cells": cells}


def check_cells(store: Store, about: Mapping[str, Any], keys: CellKeys) -> None:
    """Raise unless a run that is there saw these files, in every cell; of a set that is known as `about`."""
    known = store.known() or {}
    if not known or not store.has_results() or any(known.get(what) != value for what, value in about.items()):
        return  # a new run, or one of another set: claiming the folder tells
    where = repr(str(store.folder))
    if "cells" not in known:
        raise ValueError(
            f"{where} is a run of an earlier brittle, which noted the files of the first cell only, so nobody knows "
            "whether the others are still those that it saw; it can be read and reported, but to go on choose another "
            "folder"
        )
    before = {(row["corruption"], float(row["level"])): row["key"] for row in known["cells"]}
    changed = [Cell(*place).title for place, key in sorted(keys.items()) if before.get(place, key) != key]
    if changed:
        more = f" and {len(changed) - 1} more of {len(keys)} cells" if len(changed) > 1 else ""
        raise ValueError(
            f"the files of {changed[0]}{more} are others than those that the run in {where} saw; put them back, or "
            "choose another folder"
        )
    if before.keys() != keys.keys():
        raise ValueError(
            f"{where} holds a run on {len(before)} cells, and this set has {len(keys)}, not just the same ones; "
            "choose another folder"
        )
