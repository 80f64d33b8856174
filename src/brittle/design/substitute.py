"""Make a benchmark less balanced without changing its size or what it represents (Syn2Nat, section 4.2)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from brittle.design.balanced import Members
from brittle.design.categories import Categories
from brittle.design.draw import generator
from brittle.design.imbalance import representation


class NoSubstitution(ValueError):  # noqa: N818 - it is raised to be counted, not to be a failure
    """No corruption of a benchmark can be exchanged so that it becomes less balanced."""


def substitute(benchmark: Sequence[str], categories: Categories, *, times: int = 1, seed: int = 0) -> Members:
    """Exchange a corruption of the benchmark for another candidate, so many times, so that it gets less balanced.

    Each exchange is drawn from all that meet three conditions: the same categories stay represented, the standard
    deviation of `imbalance` strictly grows, and the new corruption is not in the benchmark yet. Raises
    `NoSubstitution` when there is none.
    """
    if times < 0:
        raise ValueError(f"substitute 0 times or more, got times={times!r}")
    rng, found = generator(seed), tuple(sorted(benchmark))
    for done in range(times):
        changed = _once(found, categories, rng)
        if changed is None:
            counts = ", ".join(f"{n} of {name}" for name, n in representation(found, categories).items() if n)
            raise NoSubstitution(
                f"after {done} of {times} substitutions no further one makes the benchmark less balanced ({counts}): "
                "the largest categories are used up; ask for fewer"
            )
        found = changed
    return found


def unbalanced(
    benchmarks: Iterable[Sequence[str]],
    categories: Categories,
    *,
    times: Iterable[int] = (1, 2, 3, 4, 5),
    seed: int = 0,
) -> list[Members]:
    """Each benchmark after 1, 2, … substitutions, every number drawn afresh; what is not possible is left out.

    From 1000 balanced benchmarks with n = 6 and k = 2 this makes the groups of Syn2Nat's Table 3.
    """
    rng, found = generator(seed), []
    numbers = list(times)
    for benchmark in benchmarks:
        for wanted in numbers:
            changed: Members | None = tuple(sorted(benchmark))
            for _ in range(wanted):
                changed = changed and _once(changed, categories, rng)
            if changed:
                found.append(changed)
    return found


def _once(benchmark: Members, categories: Categories, rng: np.random.Generator) -> Members | None:
    """One allowed exchange, all equally likely; None if there is none.

    Size and represented categories stay, so the standard deviation grows exactly if the sum of squared counts does:
    (a − 1)² + (b + 1)² > a² + b² for counts a and b of the old and the new category, that is b ≥ a.
    """
    counts, present = representation(benchmark, categories), set(benchmark)
    fresh = {name: [c for c in group if c not in present] for name, group in categories.members.items()}
    pairs = [
        (old, new)
        for old in benchmark
        for name, candidates in fresh.items()
        if name != categories.of(old) and counts[categories.of(old)] > 1 and counts[name] >= counts[categories.of(old)]
        for new in candidates
    ]
    if not pairs:
        return None
    old, new = pairs[int(rng.random() * len(pairs))]
    return tuple(sorted((present - {old}) | {new}))
