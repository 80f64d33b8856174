"""Largest cliques of a graph, exactly: branch and bound on bitsets, bounded by greedy colouring."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Graph = list[int]
"""For each vertex the set of its neighbours, bit v for vertex v."""


def graph_of(edges: NDArray[np.bool_]) -> tuple[Graph, list[int]]:
    """A graph of bitsets from a symmetric matrix, and which vertex of the matrix each of its vertices is.

    Vertices are renumbered so that the ones of low degree, peeled off one after the other, come last: colouring from
    the first bit upwards then needs few colours, and branching from the last downwards starts with few candidates.
    """
    left = np.array(edges, dtype=bool)
    np.fill_diagonal(left, False)
    edges, degree = left.copy(), left.sum(axis=1)
    peeled: list[int] = []
    for _ in range(len(left)):
        v = int(np.where(degree < 0, len(left), degree).argmin())
        peeled.append(v)
        degree -= left[v]
        left[v], left[:, v] = False, False
        degree[v] = -1
    order = peeled[::-1]
    ranked = edges[np.ix_(order, order)]
    return [sum(1 << int(j) for j in np.flatnonzero(row)) for row in ranked], order


def members(vertices: int) -> list[int]:
    """The vertices of a bitset, ascending."""
    found = []
    while vertices:
        low = vertices & -vertices
        found.append(low.bit_length() - 1)
        vertices ^= low
    return found


def clique_number(graph: Graph) -> int:
    """The size of the largest cliques."""
    best = 1 if graph else 0

    def grow(size: int, candidates: int) -> None:
        nonlocal best
        for v, colours in reversed(branches(graph, candidates, best - size)):
            if size + colours <= best:
                return
            inside = candidates & graph[v]
            if inside:
                grow(size + 1, inside)
            else:
                best = max(best, size + 1)
            candidates ^= 1 << v

    grow(0, (1 << len(graph)) - 1)
    return best


def cliques_of_size(graph: Graph, size: int) -> Iterator[int]:
    """All cliques of the largest size, or of any size that no clique exceeds, each once, as bitsets."""

    def grow(clique: int, missing: int, candidates: int) -> Iterator[int]:
        if missing == 1:
            for v in members(candidates):
                yield clique | 1 << v
            return
        for v, _ in reversed(branches(graph, candidates, missing - 1)):
            yield from grow(clique | 1 << v, missing - 1, candidates & graph[v])
            candidates ^= 1 << v

    if size > 0:
        yield from grow(0, size, (1 << len(graph)) - 1)


def branches(graph: Graph, candidates: int, enough: int) -> list[tuple[int, int]]:
    """The candidates that can end a clique of more than `enough` of them, each with a bound on its size.

    The candidates are coloured greedily, no two neighbours alike. A clique has one vertex a colour at most, so the
    vertices up to some vertex in this order hold none larger than that vertex's colour; vertices of the first `enough`
    colours need no branch of their own.
    """
    found: list[tuple[int, int]] = []
    colour = 0
    while candidates:
        colour += 1
        free = candidates
        while free:
            low = free & -free
            v = low.bit_length() - 1
            candidates ^= low
            free = (free ^ low) & ~graph[v]
            if colour > enough:
                found.append((v, colour))
    return found
