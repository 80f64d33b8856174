"""From the names of corruptions to a recipe, and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from brittle.benchmarks import Benchmark, Entry
from brittle.datasets.near import nearest
from brittle.design.overlap_matrix import check_names

LEVELS = (1.0, 2.0, 3.0, 4.0, 5.0)


def benchmark_of(
    members: Sequence[str], candidates: Benchmark | None = None, *, name: str, title: str = "", source: str = ""
) -> Benchmark:
    """A recipe of these corruptions, with the levels, the seed and the table that they have among the candidates.

    Without candidates each has the levels 1 to 5, and a name that several sets share needs its set: "noc/contrast".
    """
    chosen = check_names(members)
    if candidates is None:
        entries = tuple(Entry(member, LEVELS) for member in chosen)
        return Benchmark(name, entries, title=title or f"{len(entries)} corruptions", source=source)
    entries = tuple(candidates.entry(member) for member in chosen)
    return replace(
        candidates,
        name=name,
        entries=entries,
        version=1,
        title=title or f"{len(entries)} of the {len(candidates.entries)} corruptions of {candidates.name}",
        source=source or candidates.source,
    )


def members_in(wanted: Benchmark | Sequence[str], names: Sequence[str]) -> tuple[str, ...]:
    """The corruptions of a benchmark, or these, as a matrix or a table names them: "noc/rain", or just "rain".

    One side may leave out the set that a corruption comes from, as long as only one can be meant.
    """
    asked = [entry.id for entry in wanted.entries] if isinstance(wanted, Benchmark) else list(wanted)
    return tuple(_match(name, asked, names) for name in asked)


def _match(name: str, asked: Sequence[str], names: Sequence[str]) -> str:
    if name in names:
        return name
    family, _, plain = name.rpartition("/")
    alike = [known for known in names if known.rpartition("/")[2] == plain and not (family and "/" in known)]
    rivals = [other for other in asked if other.rpartition("/")[2] == plain]
    if len(alike) == 1 and len(rivals) == 1:
        return alike[0]
    if len(alike) > 1 or (alike and len(rivals) > 1):
        several = alike if len(alike) > 1 else rivals
        raise ValueError(f"{name!r} could be any of {', '.join(several)}; name each with its set, such as noc/rain")
    raise ValueError(f"{name!r} is not in the table; {nearest(name, names)}")
