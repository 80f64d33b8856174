"""The lightest of very many largest cliques, exactly, without listing them all."""

from __future__ import annotations

import heapq

import numpy as np

from brittle.design.cliques import Graph, branches, members
from brittle.metrics.fraction import Floats


def lightest_cliques(graph: Graph, weights: Floats, size: int, limit: int) -> list[int]:
    """The `limit` cliques of the largest size with the lowest sums of edge weights, the lightest first.

    Branch and bound: what r more vertices add is at least the sum, over the r cheapest colours, of a colour's cheapest
    vertex, where a vertex costs its edges to the clique so far and half of its r − 1 lightest edges to anything.
    """
    count = len(graph)
    joined = np.array([[graph[i] >> j & 1 for j in range(count)] for i in range(count)], dtype=bool)
    sorted_edges = np.sort(np.where(joined, weights, np.inf), axis=1)
    half = np.concatenate([np.zeros((count, 1)), np.cumsum(sorted_edges, axis=1)], axis=1).T / 2
    heap: list[tuple[float, int]] = []  # of the best so far, the heaviest on top: (−weight, −clique)

    def grow(clique: int, weight: float, missing: int, candidates: int, costs: Floats) -> None:
        if missing == 0:
            found = (-weight, -clique)
            if len(heap) < limit:
                heapq.heappush(heap, found)
            else:
                heapq.heappushpop(heap, found)
            return
        bounds = costs + half[missing - 1]
        cheapest: list[float] = []  # of each colour so far
        todo: list[tuple[int, float]] = []
        colour = 0
        for v, shade in branches(graph, candidates, 0):
            if shade > colour:
                colour = shade
                cheapest.append(float(bounds[v]))
            else:
                cheapest[-1] = min(cheapest[-1], float(bounds[v]))
            if shade >= missing:
                others = heapq.nsmallest(missing - 1, cheapest[:-1])
                todo.append((v, weight + sum(others) + float(bounds[v])))
        for v, bound in reversed(todo):
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


def weight_of(clique: int, weights: Floats) -> float:
    """The sum of the weights of a clique's edges."""
    at = members(clique)
    return float(weights[np.ix_(at, at)][np.triu_indices(len(at), 1)].sum())
