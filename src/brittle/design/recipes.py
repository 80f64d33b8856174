"""From the names of corruptions to a recipe, and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from brittle.benchmarks import Benchmark
from brittle.datasets.near import nearest
from brittle.design.overlap_matrix import OverlapMatrix, check_names


def benchmark_of(
    members: Sequence[str], candidates: Benchmark | OverlapMatrix, *, name: str, title: str = "", source: str = ""
) -> Benchmark:
    """A recipe of these corruptions, with the levels, options, seed and table that they have among the candidates.

    The candidates are a recipe, or an overlap matrix that knows the one it was measured with.
    """
    chosen = check_names(members)
    if isinstance(candidates, OverlapMatrix):
        if candidates.candidates is None:
            raise ValueError(
                "this overlap matrix does not say at which levels its corruptions were measured; give the recipe of "
                "its candidates"
            )
        candidates = candidates.candidates
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
    known = names if family else [one.rpartition("/")[2] for one in names]
    raise ValueError(f"{name!r} is not in the table; {nearest(name, known)}")
