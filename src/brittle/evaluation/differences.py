"""In words, how two runs, or two recipes, differ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from brittle.benchmarks import Benchmark


def differences(known: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
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


def drawn_differently(first: Benchmark, second: Benchmark, corruption: str) -> tuple[str, str]:
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
