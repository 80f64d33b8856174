"""The largest sets of corruptions that do not overlap, by an exact clique search."""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
import polars as pl
from numpy.typing import NDArray

from brittle._errors import BrittleError
from brittle._types import FloatArray
from brittle.design.matrix import OverlapMatrix

Graph = list[int]
"""For each vertex the set of its neighbours, bit v for vertex v."""


def graph_of(edges: NDArray[np.bool_]) -> tuple[Graph, list[int]]:
    """A graph of bitsets from a symmetric matrix, and for each vertex its row in the matrix.

    Vertices are in degeneracy order, those of low degree last: greedy colouring from the first bit upwards then needs
    few colours, and branching from the last downwards starts with few candidates.
    """
    remaining = np.array(edges, dtype=bool)
    np.fill_diagonal(remaining, False)
    edges, degree = remaining.copy(), remaining.sum(axis=1)
    peeled: list[int] = []
    for _ in range(len(remaining)):
        v = int(np.where(degree < 0, len(remaining), degree).argmin())
        peeled.append(v)
        degree -= remaining[v]
        remaining[v], remaining[:, v] = False, False
        degree[v] = -1
    order = peeled[::-1]
    ranked = edges[np.ix_(order, order)]
    return [sum(1 << int(j) for j in np.flatnonzero(row)) for row in ranked], order


def members(vertices: int) -> list[int]:
    """The vertices of a bitset, ascending."""
    indices = []
    while vertices:
        low = vertices & -vertices
        indices.append(low.bit_length() - 1)
        vertices ^= low
    return indices


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
    """The candidates that can end a clique of more than `enough` vertices, each with a bound on its size.

    The candidates are coloured greedily, no two neighbours alike. A clique has one vertex a colour at most, so the
    vertices up to some vertex in this order hold no clique larger than that vertex's colour; vertices of the first
    `enough` colours need no branch.
    """
    branching: list[tuple[int, int]] = []
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
                branching.append((v, colour))
    return branching


def lightest_cliques(graph: Graph, weights: FloatArray, size: int, limit: int) -> list[int]:
    """The `limit` cliques of the largest size with the lowest sums of edge weights, the lightest first.

    Branch and bound: r more vertices add at least the sum, over the r cheapest colours, of a colour's cheapest vertex,
    where a vertex costs its edges to the clique so far and half of its r − 1 lightest edges to anything.
    """
    count = len(graph)
    joined = np.array([[graph[i] >> j & 1 for j in range(count)] for i in range(count)], dtype=bool)
    sorted_edges = np.sort(np.where(joined, weights, np.inf), axis=1)
    half = np.concatenate([np.zeros((count, 1)), np.cumsum(sorted_edges, axis=1)], axis=1).T / 2
    heap: list[tuple[float, int]] = []  # the best so far, the heaviest on top: (−weight, −clique)

    def grow(clique: int, weight: float, missing: int, candidates: int, costs: FloatArray) -> None:
        if missing == 0:
            entry = (-weight, -clique)
            if len(heap) < limit:
                heapq.heappush(heap, entry)
            else:
                heapq.heappushpop(heap, entry)
            return
        bounds = costs + half[missing - 1]
        cheapest: list[float] = []  # of each colour so far
        open_branches: list[tuple[int, float]] = []
        colour = 0
        for v, vertex_colour in branches(graph, candidates, 0):
            if vertex_colour > colour:
                colour = vertex_colour
                cheapest.append(float(bounds[v]))
            else:
                cheapest[-1] = min(cheapest[-1], float(bounds[v]))
            if vertex_colour >= missing:
                others = heapq.nsmallest(missing - 1, cheapest[:-1])
                open_branches.append((v, weight + sum(others) + float(bounds[v])))
        for v, bound in reversed(open_branches):
            if len(heap) < limit or bound < -heap[0][0]:
                grow(
                    clique | 1 << v,
                    weight + float(costs[v]),
                    missing - 1,
                    candidates & graph[v],
                    costs + weights[v],
                )
            candidates ^= 1 << v

    grow(0, 0.0, size, (1 << count) - 1, np.zeros(count))
    return [-clique for _, clique in sorted(heap, reverse=True)]


def weight_of(clique: int, weights: FloatArray) -> float:
    """The sum of the weights of a clique's edges."""
    vertices = members(clique)
    return float(weights[np.ix_(vertices, vertices)][np.triu_indices(len(vertices), 1)].sum())


MOST = 20_000
"""The number of largest subsets that are enumerated; beyond it only the best are searched for."""


@dataclass(frozen=True)
class NonOverlapping:
    """The largest subsets with every pair under the threshold, and among them the one with the lowest mean overlap.

    `ties` are subsets of the largest size, the lowest mean first, so the first is `members`; `count` is the number of
    such subsets, or a lower bound if `counted` is false. `notes` are remarks for the reader.
    """

    threshold: float
    members: tuple[str, ...]
    mean_overlap: float
    count: int
    counted: bool
    ties: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """The number of corruptions in a largest subset."""
        return len(self.members)


def non_overlapping(overlap: OverlapMatrix, threshold: float = 0.1, *, limit: int = 20) -> NonOverlapping:
    """The largest subsets of corruptions with every pair strictly under the threshold, up to `limit` of them listed.

    Steps 2 and 3 of NOC's Algorithm 1, solved exactly: corruptions are joined if they overlap less than the threshold,
    and the largest cliques are compared by their mean overlap. A masked pair is never joined. The mean of a
    subset of one is NaN. Hundreds of candidates take seconds unless nearly every pair is under the threshold. It
    does not use networkx: 112 nodes at a density of 0.6 take 0.02 s here and 1.9 s there.
    """
    if not math.isfinite(threshold):
        raise BrittleError(f"the threshold is a finite overlap, such as 0.1, got {threshold!r}")
    if limit < 1:
        raise BrittleError(f"list at least one subset, got limit={limit!r}")
    graph, order = graph_of(overlap.scores < threshold)  # NaN is not less
    size = clique_number(graph)
    largest = list(islice(cliques_of_size(graph, size), MOST + 1))
    counted = len(largest) <= MOST
    if not counted:
        weights = np.nan_to_num(overlap.scores[np.ix_(order, order)])
        listed = lightest_cliques(graph, weights, size, limit)
    else:
        listed = largest
    subsets = [sorted(order[v] for v in members(clique)) for clique in listed]
    ranked = sorted((_mean(overlap, subset), subset) for subset in subsets)[:limit]
    ties = tuple(tuple(overlap.names[i] for i in subset) for _, subset in ranked)
    mean = ranked[0][0] if size > 1 else math.nan
    return NonOverlapping(float(threshold), ties[0], mean, len(largest), counted, ties, _notes(overlap, counted))


def sweep(overlap: OverlapMatrix, thresholds: Iterable[float]) -> pl.DataFrame:
    """The best subset at each threshold: threshold, size, mean_overlap, count (of that size), counted, members."""
    subsets = [non_overlapping(overlap, threshold, limit=1) for threshold in thresholds]
    if not subsets:
        raise BrittleError("give at least one threshold, such as 0.1")
    columns = {
        "threshold": [subset.threshold for subset in subsets],
        "size": [subset.size for subset in subsets],
        "mean_overlap": [subset.mean_overlap for subset in subsets],
        "count": [subset.count for subset in subsets],
        "counted": [subset.counted for subset in subsets],
        "members": [list(subset.members) for subset in subsets],
    }
    return pl.DataFrame(columns)


def _mean(overlap: OverlapMatrix, subset: list[int]) -> float:
    """The mean overlap of the pairs; 0 for a single corruption, so that it can be sorted."""
    pairs = overlap.scores[np.ix_(subset, subset)][np.triu_indices(len(subset), 1)]
    return math.fsum(pairs) / len(pairs) if len(pairs) else 0.0


def _notes(overlap: OverlapMatrix, counted: bool) -> tuple[str, ...]:
    notes = []
    masked = overlap.masked()
    if masked:
        a, b = masked[0]
        notes.append(f"{len(masked)} masked pairs, such as {a} and {b}, are never joined")
    if not counted:
        notes.append(f"there are more than {MOST} subsets of this size; the lowest means are exact")
    return tuple(notes)
