"""The largest sets of corruptions that do not measure the same thing (NOC, Algorithm 1)."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

import numpy as np
import polars as pl

from brittle.design.cliques import clique_number, cliques_of_size, graph_of, members
from brittle.design.lightest import lightest_cliques
from brittle.design.overlap_matrix import OverlapMatrix

MOST = 20_000
"""How many largest subsets are counted one by one before only the best are searched for."""


@dataclass(frozen=True)
class NonOverlapping:
    """The largest subsets with every pair under the threshold, and among them the one with the lowest mean overlap.

    `ties` are subsets of the largest size, the lowest mean first, so the first is `members`; `count` is how many there
    are in all, or at least that many if it is not `counted`. `notes` say what else a reader must know.
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
        """How many corruptions there are in a largest subset."""
        return len(self.members)


def non_overlapping(overlap: OverlapMatrix, threshold: float = 0.1, *, limit: int = 20) -> NonOverlapping:
    """The largest subsets of corruptions with every pair strictly under the threshold, up to `limit` of them listed.

    Steps 2 and 3 of NOC's Algorithm 1, solved exactly: corruptions are joined if they overlap less than the threshold,
    and the largest cliques are compared by their mean overlap. A masked pair is never put together. The mean of a
    subset of one is NaN. Hundreds of candidates take seconds unless nearly every pair is under the threshold.
    """
    if not math.isfinite(threshold):
        raise ValueError(f"the threshold is a finite overlap, such as 0.1, got {threshold!r}")
    if limit < 1:
        raise ValueError(f"list at least one subset, got limit={limit!r}")
    graph, order = graph_of(overlap.scores < threshold)  # NaN is not less
    size = clique_number(graph)
    found = list(islice(cliques_of_size(graph, size), MOST + 1))
    counted = len(found) <= MOST
    if not counted:
        weights = np.nan_to_num(overlap.scores[np.ix_(order, order)])
        listed = lightest_cliques(graph, weights, size, limit)
    else:
        listed = found
    subsets = [sorted(order[v] for v in members(clique)) for clique in listed]
    ranked = sorted((_mean(overlap, subset), subset) for subset in subsets)[:limit]
    ties = tuple(tuple(overlap.names[i] for i in subset) for _, subset in ranked)
    mean = ranked[0][0] if size > 1 else math.nan
    return NonOverlapping(float(threshold), ties[0], mean, len(found), counted, ties, _notes(overlap, counted))


def sweep(overlap: OverlapMatrix, thresholds: Iterable[float]) -> pl.DataFrame:
    """The best subset at each threshold: threshold, size, mean_overlap, count (of that size), counted, members."""
    found = [non_overlapping(overlap, threshold, limit=1) for threshold in thresholds]
    if not found:
        raise ValueError("give at least one threshold, such as 0.1")
    columns = {
        "threshold": [one.threshold for one in found],
        "size": [one.size for one in found],
        "mean_overlap": [one.mean_overlap for one in found],
        "count": [one.count for one in found],
        "counted": [one.counted for one in found],
        "members": [list(one.members) for one in found],
    }
    return pl.DataFrame(columns)


def _mean(overlap: OverlapMatrix, subset: list[int]) -> float:
    """The mean overlap of the pairs; 0 for one corruption, so that it can be sorted."""
    pairs = overlap.scores[np.ix_(subset, subset)][np.triu_indices(len(subset), 1)]
    return math.fsum(pairs) / len(pairs) if len(pairs) else 0.0


def _notes(overlap: OverlapMatrix, counted: bool) -> tuple[str, ...]:
    notes = []
    masked = overlap.masked()
    if masked:
        a, b = masked[0]
        notes.append(f"{len(masked)} masked pairs, such as {a} and {b}, were never put together")
    if not counted:
        notes.append(f"there are more than {MOST} subsets of this size; the lowest means are exact")
    return tuple(notes)
