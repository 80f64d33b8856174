"""Benchmarks that give every category they test the same weight (Syn2Nat, Algorithm 1)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import chain, combinations, product

import numpy as np

from brittle.design.categories import Categories
from brittle.design.draw import choose, generator

Members = tuple[str, ...]
"""The corruptions of a benchmark, sorted."""


def balanced(categories: Categories, n: int, k: int, *, count: int = 1000, seed: int = 0) -> list[Members]:
    """Different benchmarks, each with k representatives of n categories drawn at random.

    Syn2Nat's Algorithm 1, repeated until there are `count` different ones; the same seed draws the same ones.
    """
    possible = possible_benchmarks(categories, n, k)
    if not 1 <= count <= possible:
        raise ValueError(
            f"there are {possible} different benchmarks of {k} from each of {n} categories, so ask for 1 to "
            f"{possible}, got count={count!r}"
        )
    rng, groups = generator(seed), list(categories.members.values())
    if possible <= 4 * count:  # drawing until the last few turn up could take for ever
        return _weighed(groups, n, k, count, rng)
    found: dict[Members, None] = {}
    while len(found) < count:
        chosen = (choose(group, k, rng) for group in choose(groups, n, rng))
        found[tuple(sorted(chain.from_iterable(chosen)))] = None
    return list(found)


def possible_benchmarks(categories: Categories, n: int, k: int) -> int:
    """How many different benchmarks there are with k representatives of each of n categories."""
    if not 1 <= n <= len(categories):
        raise ValueError(
            f"there are {len(categories)} categories, so n lies between 1 and {len(categories)}, got {n!r}"
        )
    if not 1 <= k <= categories.smallest:
        small = min(categories.members, key=lambda name: len(categories.members[name]))
        raise ValueError(
            f"the smallest category, {small}, has {categories.smallest} members, so k lies between 1 and "
            f"{categories.smallest}, got {k!r}; take fewer representatives or leave that category out"
        )
    ways = [1] + [0] * n  # ways[j]: to choose from j of the categories so far
    for group in categories.members.values():
        for j in range(n, 0, -1):
            ways[j] += ways[j - 1] * math.comb(len(group), k)
    return ways[n]


def _weighed(groups: list[Members], n: int, k: int, count: int, rng: np.random.Generator) -> list[Members]:
    """As many of all benchmarks as asked for, as likely as if they were drawn one by one.

    Algorithm 1 draws a benchmark with probability 1 / (choices of categories × choices within these). The smallest of
    waiting times that are exponential with these rates are a draw without putting back (Efraimidis & Spirakis 2006).
    """
    everything, waits = [], []
    for chosen in combinations(groups, n):
        rate = 1 / math.prod(math.comb(len(group), k) for group in chosen)
        for parts in _each(chosen, k):
            everything.append(tuple(sorted(chain.from_iterable(parts))))
            waits.append(1 / rate)
    times = -np.log1p(-rng.random(len(everything))) * np.array(waits)
    return [everything[i] for i in np.argsort(times, kind="stable")[:count]]


def _each(groups: tuple[Members, ...], k: int) -> Iterator[tuple[Members, ...]]:
    return product(*(combinations(group, k) for group in groups))
