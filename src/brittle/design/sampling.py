"""Benchmarks sampled from categories: balanced, least overlapping, deliberately unbalanced."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, combinations, product

import numpy as np

from brittle._errors import BrittleError
from brittle._random import choose, generator
from brittle._types import FloatArray
from brittle.design.clustering import Categories
from brittle.design.matrix import OverlapMatrix, check_names
from brittle.metrics.corruption_error import balance


def representation(benchmark: Sequence[str], categories: Categories) -> dict[str, int]:
    """The number of representatives of each category in the benchmark, also if it is 0."""
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


Members = tuple[str, ...]
"""The corruptions of a benchmark, sorted."""


def balanced(categories: Categories, n: int, k: int, *, count: int = 1000, seed: int = 0) -> list[Members]:
    """Different benchmarks, each with k representatives of n categories drawn at random.

    Syn2Nat's Algorithm 1, repeated until there are `count` different ones; the same seed gives the same benchmarks.
    """
    possible = possible_benchmarks(categories, n, k)
    if not 1 <= count <= possible:
        raise BrittleError(
            f"there are {possible} different benchmarks of {k} from each of {n} categories, so ask for 1 to "
            f"{possible}, got count={count!r}"
        )
    rng, groups = generator(seed), list(categories.members.values())
    if possible <= 4 * count:  # rejection sampling of the last few could take very long
        return _weighted_sample(groups, n, k, count, rng)
    benchmarks: dict[Members, None] = {}
    while len(benchmarks) < count:
        chosen = (choose(group, k, rng) for group in choose(groups, n, rng))
        benchmarks[tuple(sorted(chain.from_iterable(chosen)))] = None
    return list(benchmarks)


def possible_benchmarks(categories: Categories, n: int, k: int) -> int:
    """How many different benchmarks there are with k representatives of each of n categories."""
    if not 1 <= n <= len(categories):
        raise BrittleError(
            f"there are {len(categories)} categories, so n lies between 1 and {len(categories)}, got {n!r}"
        )
    if not 1 <= k <= categories.smallest:
        smallest = min(categories.members, key=lambda name: len(categories.members[name]))
        raise BrittleError(
            f"the smallest category, {smallest}, has {categories.smallest} members, so k lies between 1 and "
            f"{categories.smallest}, got {k!r}; take fewer representatives or leave that category out"
        )
    ways = [1] + [0] * n  # ways[j]: to choose from j of the categories so far
    for group in categories.members.values():
        for j in range(n, 0, -1):
            ways[j] += ways[j - 1] * math.comb(len(group), k)
    return ways[n]


def _weighted_sample(groups: list[Members], n: int, k: int, count: int, rng: np.random.Generator) -> list[Members]:
    """`count` of all benchmarks, with the probabilities of drawing them one by one.

    Algorithm 1 draws a benchmark with probability 1 / (choices of categories × choices within these). The smallest of
    exponential waiting times with these rates are a weighted sample without replacement (Efraimidis & Spirakis 2006).
    """
    benchmarks, mean_times = [], []
    for chosen in combinations(groups, n):
        rate = 1 / math.prod(math.comb(len(group), k) for group in chosen)
        for parts in _choices_within(chosen, k):
            benchmarks.append(tuple(sorted(chain.from_iterable(parts))))
            mean_times.append(1 / rate)
    times = -np.log1p(-rng.random(len(benchmarks))) * np.array(mean_times)
    return [benchmarks[i] for i in np.argsort(times, kind="stable")[:count]]


def _choices_within(groups: tuple[Members, ...], k: int) -> Iterator[tuple[Members, ...]]:
    return product(*(combinations(group, k) for group in groups))


def least_overlapping(
    benchmarks: Sequence[Sequence[str]], overlap: OverlapMatrix, categories: Categories
) -> tuple[str, ...]:
    """The benchmark with the lowest mean overlap of same-category corruptions.

    This is how ImageNet-Syn2Nat was picked from the benchmarks of n = 6, k = 3. A benchmark with a masked pair of the
    same category is skipped; of ties the first is taken.
    """
    means = same_category_overlaps(benchmarks, overlap, categories)
    if np.isnan(means).all():
        raise BrittleError(
            f"none of {len(benchmarks)} benchmarks has two corruptions of a category whose overlaps are all known; "
            "take k of 2 or more and corruptions that are not masked"
        )
    return tuple(benchmarks[int(np.nanargmin(means))])


def same_category_overlaps(
    benchmarks: Sequence[Sequence[str]], overlap: OverlapMatrix, categories: Categories
) -> FloatArray:
    """The mean overlap of the same-category pairs of each benchmark; NaN if there are none or one is masked."""
    if not benchmarks:
        raise BrittleError("give at least one benchmark to choose from, got none")
    inside = np.zeros((len(benchmarks), len(overlap)))
    for row, benchmark in zip(inside, benchmarks, strict=True):
        row[overlap.positions(check_names(benchmark))] = 1
    used = inside.max(axis=0, initial=0)
    labels = np.array(
        [categories.of(name) if is_used else "" for name, is_used in zip(overlap.names, used, strict=True)]
    )
    same = (labels[:, np.newaxis] == labels) & (labels != "") & ~np.eye(len(overlap), dtype=bool)
    masked = same & np.isnan(overlap.scores)
    total, pairs, unknown = (
        np.einsum("bi,ij,bj->b", inside, weights.astype(np.float64), inside, optimize=True)
        for weights in (np.where(same, np.nan_to_num(overlap.scores), 0), same, masked)
    )
    is_defined = (pairs > 0) & (unknown == 0)
    return np.where(is_defined, total / np.where(is_defined, pairs, 1), np.nan)


class NoSubstitution(BrittleError):  # noqa: N818 - callers count it; it is not a failure
    """No corruption of a benchmark can be substituted so that it becomes less balanced."""


def substitute(benchmark: Sequence[str], categories: Categories, *, times: int = 1, seed: int = 0) -> Members:
    """Substitute corruptions of the benchmark by other candidates, `times` times, so that it gets less balanced.

    Each substitution is drawn from all that meet three conditions: the same categories stay represented, the standard
    deviation of `imbalance` strictly grows, and the new corruption is not in the benchmark yet. Raises
    `NoSubstitution` if there is none.
    """
    if times < 0:
        raise BrittleError(f"substitute 0 times or more, got times={times!r}")
    rng, current = generator(seed), tuple(sorted(benchmark))
    for done in range(times):
        changed = _substitute_once(current, categories, rng)
        if changed is None:
            counts = ", ".join(f"{n} of {name}" for name, n in representation(current, categories).items() if n)
            raise NoSubstitution(
                f"after {done} of {times} substitutions no further one makes the benchmark less balanced ({counts}): "
                "the largest categories have no further member; ask for fewer"
            )
        current = changed
    return current


def unbalanced(
    benchmarks: Iterable[Sequence[str]],
    categories: Categories,
    *,
    times: Iterable[int] = (1, 2, 3, 4, 5),
    seed: int = 0,
) -> list[Members]:
    """Each benchmark after 1, 2, … substitutions, drawn independently for every number; impossible ones are left out.

    From 1000 balanced benchmarks with n = 6 and k = 2 this gives the eight groups of Syn2Nat's Table 3, by
    `by_imbalance`. Their most unbalanced group, 2.2, is smaller than printed there: some dozens of benchmarks for
    plausible sizes of the categories, not more than 200.
    """
    rng, substituted = generator(seed), []
    numbers = list(times)
    for benchmark in benchmarks:
        for number in numbers:
            changed: Members | None = tuple(sorted(benchmark))
            for _ in range(number):
                changed = changed and _substitute_once(changed, categories, rng)
            if changed:
                substituted.append(changed)
    return substituted


def _substitute_once(benchmark: Members, categories: Categories, rng: np.random.Generator) -> Members | None:
    """One allowed substitution, all equally likely; None if there is none.

    Size and represented categories stay, so the standard deviation grows exactly if the sum of squared counts does:
    (a − 1)² + (b + 1)² > a² + b² for counts a and b of the old and the new category, that is b ≥ a.
    """
    counts, present = representation(benchmark, categories), set(benchmark)
    unused = {name: [c for c in group if c not in present] for name, group in categories.members.items()}
    pairs = [
        (old, new)
        for old in benchmark
        for name, candidates in unused.items()
        if name != categories.of(old) and counts[categories.of(old)] > 1 and counts[name] >= counts[categories.of(old)]
        for new in candidates
    ]
    if not pairs:
        return None
    old, new = pairs[int(rng.random() * len(pairs))]
    return tuple(sorted((present - {old}) | {new}))
