"""Groups of corruptions that measure alike (Syn2Nat, section 3)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from pathlib import Path

from brittle.benchmarks import Benchmark
from brittle.datasets.near import nearest
from brittle.design.category_files import read_categories, write_categories


@dataclass(frozen=True)
class Step:
    """What some number of categories achieves: mean Pearson correlation within (`scc`) and across (`dcc`) them."""

    count: int
    scc: float
    dcc: float


@dataclass(frozen=True)
class Categories:
    """Named groups of corruptions, each corruption in one of them.

    `scc` is the mean Pearson correlation of the overlap vectors of two same-category corruptions, `dcc` of two
    different-category corruptions; NaN if not known. `path` holds both for every number of categories that was tried.
    `candidates`, if known, is the recipe under which the corruptions were measured, with their levels or ranges.
    """

    members: Mapping[str, tuple[str, ...]]
    scc: float = math.nan
    dcc: float = math.nan
    path: tuple[Step, ...] = field(default=(), repr=False)
    candidates: Benchmark | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        members = {str(name): tuple(group) for name, group in self.members.items()}
        if not members or not all(members.values()):
            empty = [name for name, group in members.items() if not group]
            raise ValueError(f"every category needs a member, got {f'none in {empty[0]!r}' if empty else 'nothing'}")
        everyone = list(chain.from_iterable(members.values()))
        twice = sorted({name for name in everyone if everyone.count(name) > 1})
        if twice:
            raise ValueError(f"{', '.join(map(repr, twice))} stands in the categories twice; keep it in one of them")
        object.__setattr__(self, "members", members)

    def __len__(self) -> int:
        return len(self.members)

    @property
    def names(self) -> tuple[str, ...]:
        """All corruptions, category by category."""
        return tuple(chain.from_iterable(self.members.values()))

    @cached_property
    def _category(self) -> dict[str, str]:
        return {one: name for name, group in self.members.items() for one in group}

    @property
    def smallest(self) -> int:
        """The size of the smallest category: how many representatives every category can have."""
        return min(map(len, self.members.values()))

    def of(self, corruption: str) -> str:
        """The category of a corruption, named with or without the set it comes from."""
        if corruption in self._category:
            return self._category[corruption]
        family, _, plain = str(corruption).rpartition("/")
        alike = [one for one in self.names if one.rpartition("/")[2] == plain and not (family and "/" in one)]
        if len(alike) != 1:
            raise ValueError(f"no category holds {corruption!r}; {nearest(str(corruption), self.names)}")
        return self._category[alike[0]]

    def renamed(self, names: Sequence[str] | Mapping[str, str]) -> Categories:
        """The same categories under other names: all of them in order, or some of them from old to new."""
        if not isinstance(names, Mapping):
            if len(names) != len(self):
                raise ValueError(f"there are {len(self)} categories, got {len(names)} names")
            names = dict(zip(self.members, names, strict=True))
        for name in names:
            if name not in self.members:
                raise ValueError(f"there is no category {name!r}; {nearest(str(name), list(self.members))}")
        new = [names.get(name, name) for name in self.members]
        if len(set(new)) < len(new):
            raise ValueError(f"two categories cannot share a name, got {', '.join(new)}")
        return replace(self, members=dict(zip(new, self.members.values(), strict=True)))

    def save(self, path: str | Path) -> Path:
        """Write a `.toml`, or a `.csv` with the columns corruption and category, which keeps the members only."""
        steps = [{"count": step.count, "scc": step.scc, "dcc": step.dcc} for step in self.path]
        return write_categories(Path(path), self.members, self.scc, self.dcc, steps, self.candidates)

    @classmethod
    def load(cls, path: str | Path) -> Categories:
        """Read what `save` wrote, or a file of that shape written by hand."""
        try:
            members, scc, dcc, steps, candidates = read_categories(Path(path))
            return cls(members, scc, dcc, tuple(Step(**step) for step in steps), candidates)
        except (ValueError, TypeError, KeyError) as error:
            raise ValueError(f"{path} does not hold categories: {error}") from error
