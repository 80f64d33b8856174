"""How evenly a benchmark represents its categories (Syn2Nat, section 4.2)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from brittle.design.categories import Categories
from brittle.design.overlap_matrix import check_names
from brittle.metrics.balance import balance


def representation(benchmark: Sequence[str], categories: Categories) -> dict[str, int]:
    """How many representatives each category has in the benchmark, 0 included."""
    counts = dict.fromkeys(categories.members, 0)
    for name in check_names(benchmark):
        counts[categories.of(name)] += 1
    return counts


def imbalance(benchmark: Sequence[str], categories: Categories) -> float:
    """The standard deviation of the numbers of representatives, over represented categories only, to one decimal.

    The population standard deviation, rounded as Syn2Nat prints it; 0 if all represented categories have the same
    number.
    """
    counts = [count for count in representation(benchmark, categories).values() if count]
    return round(balance(counts).std, 1)


def by_imbalance(benchmarks: Iterable[Sequence[str]], categories: Categories) -> dict[float, list[tuple[str, ...]]]:
    """The benchmarks in groups of equal imbalance, the most balanced group first."""
    groups: dict[float, list[tuple[str, ...]]] = {}
    for benchmark in benchmarks:
        groups.setdefault(imbalance(benchmark, categories), []).append(tuple(benchmark))
    return dict(sorted(groups.items()))
