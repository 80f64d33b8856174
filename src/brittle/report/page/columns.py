"""Where the cells of a benchmark stand: which columns of a table belong to which corruption."""

from __future__ import annotations

from dataclasses import dataclass

from brittle.benchmarks import Benchmark, Entry, Level, ends


@dataclass(frozen=True)
class Columns:
    """A corruption with its levels, lowest first, and the column of each; column 0 is the clean images."""

    entry: Entry
    levels: tuple[Level, ...]
    places: tuple[int, ...]

    @property
    def ladder(self) -> tuple[float, ...]:
        """The severities, if there are at least two; ranges to draw from are no ladder."""
        steps = tuple(level for level in self.levels if not isinstance(level, tuple))
        return steps if len(steps) == len(self.levels) > 1 else ()


def columns(benchmark: Benchmark) -> list[Columns]:
    """Every corruption in the order of the recipe."""
    found, start = [], 1
    for entry in benchmark.entries:
        order = sorted(range(len(entry.levels)), key=[*map(ends, entry.levels)].__getitem__)
        found.append(Columns(entry, tuple(entry.levels[i] for i in order), tuple(start + i for i in order)))
        start += len(entry.levels)
    return found
