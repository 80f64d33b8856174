"""One line of a recipe: a corruption, its levels, its options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from brittle.benchmarks.level import Level, check_level
from brittle.corruptions import Corruption, find


@dataclass(frozen=True)
class Entry:
    """One corruption of a benchmark: its levels, and the options it is called with.

    A level is a severity, or a pair (low, high): then each sample's severity is drawn uniformly from that range.
    """

    id: str
    levels: tuple[Level, ...]
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        chosen = find(self.id)
        object.__setattr__(self, "id", chosen.id)
        if not self.levels:
            raise ValueError(f"{chosen.id} has no levels; give it at least one severity")
        object.__setattr__(self, "levels", tuple(check_level(level, chosen) for level in self.levels))
        if len(set(self.levels)) != len(self.levels):
            raise ValueError(f"{chosen.id} names a level twice: {list(self.levels)}")
        chosen.check_options(self.options)

    @property
    def corruption(self) -> Corruption:
        """The corruption itself."""
        return find(self.id)

    def to_dict(self) -> dict[str, Any]:
        """The entry as it stands in a recipe."""
        if len(self.levels) == 1 and isinstance(self.levels[0], tuple):
            where: dict[str, Any] = {"uniform": list(self.levels[0])}
        else:
            where = {"levels": [list(x) if isinstance(x, tuple) else x for x in self.levels]}
        return {"id": self.id, **where, **({"options": dict(self.options)} if self.options else {})}


def levels_in(table: Mapping[str, Any], where: str) -> tuple[Level, ...] | None:
    """What a table of a recipe says about levels: `levels = [1, 2, 3]`, or `uniform = [1, 5]`, or nothing."""
    if "levels" in table and "uniform" in table:
        raise ValueError(f"{where} has both levels and uniform; give one of them")
    if "uniform" in table:
        if not isinstance(table["uniform"], list):
            raise ValueError(f"uniform in {where} is a range [low, high], got {table['uniform']!r}")
        return (tuple(table["uniform"]),)
    if "levels" in table and not isinstance(table["levels"], list):
        raise ValueError(f"levels in {where} is a list of severities, got {table['levels']!r}")
    return tuple(table["levels"]) if "levels" in table else None
