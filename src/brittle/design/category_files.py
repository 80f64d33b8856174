"""Categories on disk: TOML that says everything, CSV that any table program opens."""

from __future__ import annotations

import csv
import math
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from brittle._io import replacing
from brittle.benchmarks import Benchmark
from brittle.benchmarks.toml import dumps

Parts = tuple[dict[str, tuple[str, ...]], float, float, list[dict[str, Any]], Benchmark | None]
"""Members of each category, the correlations within and across, the steps that led there, and the candidates."""

KEYS = ("correlation_within", "correlation_across")
"""How a file spells out SCC and DCC: mean correlations of overlap vectors within a category, and across two."""


def write_categories(
    path: Path,
    members: Mapping[str, tuple[str, ...]],
    scc: float,
    dcc: float,
    steps: list[dict[str, Any]],
    candidates: Benchmark | None = None,
) -> Path:
    """Write categories; the ending says how. In TOML the recipe of the candidates stands below them."""
    kind = _kind(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary:
        if kind == ".csv":
            with temporary.open("w", encoding="utf-8", newline="") as file:
                out = csv.writer(file)
                out.writerow(["corruption", "category"])
                out.writerows((one, name) for name, group in members.items() for one in group)
        else:
            known = {key: value for key, value in zip(KEYS, (scc, dcc), strict=True) if not math.isnan(value)}
            blocks = [{"name": name, "members": list(group)} for name, group in members.items()]
            recipe = {} if candidates is None else candidates.to_dict()
            entries = recipe.pop("corruption", [])
            written = [{"count": one["count"], KEYS[0]: one["scc"], KEYS[1]: one["dcc"]} for one in steps]
            lists = {"category": blocks, "step": written}
            measured = {"candidates": recipe, "candidate": entries} if recipe else {}
            temporary.write_text(dumps(known | lists | measured), encoding="utf-8")
    return path


def read_categories(path: Path) -> Parts:
    """The parts of categories, not yet checked for sense."""
    if _kind(path) == ".toml":
        with path.open("rb") as file:
            data = tomllib.load(file)
        blocks = data.get("category", [])
        if not isinstance(blocks, list) or not all(
            isinstance(block, dict) and isinstance(block.get("members"), list) and "name" in block for block in blocks
        ):
            raise ValueError("write one [[category]] block with a name and a list of members for each category")
        found = {str(block["name"]): tuple(map(str, block["members"])) for block in blocks}
        if len(found) < len(blocks):
            raise ValueError("two [[category]] blocks have the same name; join them")
        recipe = {**data["candidates"], "corruption": data.get("candidate")} if "candidates" in data else None
        candidates = None if recipe is None else Benchmark.from_dict(recipe, where=f"the candidates of {path.name}")
        within, across = (float(data.get(key, math.nan)) for key in KEYS)
        steps = [{"count": one["count"], "scc": one[KEYS[0]], "dcc": one[KEYS[1]]} for one in data.get("step", [])]
        return found, within, across, steps, candidates
    with path.open(encoding="utf-8-sig", newline="") as file:
        table = csv.DictReader(file)
        if not {"corruption", "category"} <= set(table.fieldnames or ()):
            raise ValueError(f"the columns must be corruption and category, got {', '.join(table.fieldnames or ())}")
        members: dict[str, tuple[str, ...]] = {}
        for row in table:
            members[row["category"]] = (*members.get(row["category"], ()), row["corruption"])
    return members, math.nan, math.nan, [], None


def _kind(path: Path) -> str:
    if path.suffix not in (".toml", ".csv"):
        raise ValueError(f"categories are a .toml or a .csv file, got {path.name!r}; choose one of the two")
    return path.suffix
