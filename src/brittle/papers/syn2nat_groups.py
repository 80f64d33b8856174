"""Groups of Syn2Nat's benchmarks, (n, k) and by imbalance, and their correlations beside the published ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import combinations
from typing import Any

import numpy as np

from brittle.design import (
    Categories,
    GroupMeans,
    OverlapMatrix,
    balanced,
    by_imbalance,
    imbalance,
    least_overlapping,
    possible_benchmarks,
    unbalanced,
)
from brittle.metrics import Estimate, published_table, spearman
from brittle.papers.experiments import Rows, Setting

COUPLES = ((2, 3), (3, 2), (6, 1), (4, 3), (6, 2), (6, 3))
"""The (n, k) of Table 2: k corruptions from each of n categories."""

LEAST = 3
"""Members that a category must have to be drawn from: the largest k."""

BENCHMARKS = 1000
GROUP = 20
"""Benchmarks that a group of one imbalance must have to be correlated."""

C, P, PICKED = "ImageNet-C", "ImageNet-P", "picked"
Groups = dict[str, list[tuple[str, ...]]]


def couples(count: int) -> list[tuple[int, int]]:
    """The (n, k) that are compared for so many categories: those of Table 2, or what is nearest to them."""
    if count >= 6:
        return list(COUPLES)
    fewer = [(2, 2), (4, 1), (2, 3), (3, 2), (count, 1), (count, 2), (count, 3)]
    return [pair for pair in dict.fromkeys(fewer) if pair[0] <= count]


def title_of(n: int, k: int) -> str:
    return f"({n},{k})"


def drawn_groups(found: Categories, seed: int) -> Groups:
    """A thousand benchmarks, or all there are, for each (n, k)."""
    return {
        title_of(n, k): balanced(found, n, k, count=min(BENCHMARKS, possible_benchmarks(found, n, k)), seed=seed)
        for n, k in couples(len(found))
    }


def picked_benchmark(found: Categories, overlap: OverlapMatrix, seed: int) -> tuple[str, ...]:
    """The benchmark of k = 3 whose same-category corruptions overlap least, as ImageNet-Syn2Nat was picked."""
    n = min(6, len(found))
    drawn = balanced(found, n, LEAST, count=min(BENCHMARKS, possible_benchmarks(found, n, LEAST)), seed=seed)
    return least_overlapping(drawn, overlap, found)


def same_size(pairs: Sequence[tuple[int, int]]) -> list[tuple[str, str]]:
    """Pairs of groups with the same number of corruptions and growing numbers of categories, the widest last."""
    contrasts = [(a, b) for a in pairs for b in pairs if a[0] * a[1] == b[0] * b[1] and a[0] < b[0]]
    contrasts.sort(key=lambda pair: pair[1][0] / pair[0][0])
    return [(title_of(*a), title_of(*b)) for a, b in contrasts]


def imbalance_groups(found: Categories, n: int, k: int, seed: int, *, least: int = GROUP) -> Groups:
    """Balanced benchmarks and what one to five substitutions make of them, by standard deviation (section 5.2)."""
    start = balanced(found, n, k, count=min(BENCHMARKS, possible_benchmarks(found, n, k)), seed=seed)
    grouped = by_imbalance([*start, *unbalanced(start, found, seed=seed)], found)
    return {f"std {std:.1f}": group for std, group in grouped.items() if len(group) >= least or std == 0}


def group_sizes(total: int = 12, parts: int = 6) -> list[float]:
    """All values of std that a benchmark of so many corruptions from so many categories can have."""
    found = Categories({str(part): tuple(f"{part}.{number}" for number in range(total)) for part in range(parts)})
    splits = combinations(range(1, total), parts - 1)
    counts = {tuple(sorted(np.diff((0, *cuts, total)).tolist())) for cuts in splits}
    return sorted(
        {
            imbalance([f"{part}.{number}" for part, count in enumerate(one) for number in range(count)], found)
            for one in counts
        }
    )


PLAUSIBLE = ((3, 7, 7, 7, 8, 8), (3, 5, 6, 7, 8, 11), (3, 4, 5, 8, 9, 11), (3, 3, 4, 7, 10, 13))
"""Sizes of six categories that fit what the paper says: forty corruptions, the smallest category has three."""


@lru_cache(maxsize=1)
def plausible_sizes(seed: int) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for sizes in PLAUSIBLE:
        found = Categories({str(i): tuple(f"{i}.{j}" for j in range(size)) for i, size in enumerate(sizes)})
        groups = imbalance_groups(found, 6, 2, seed, least=0)
        counts = {f"std {std:.1f}": len(groups.get(f"std {std:.1f}", ())) for std in group_sizes()}
        rows.append({"sizes of the categories": ", ".join(map(str, sizes)), **counts, "published each": "> 200"})
    return rows


PUBLISHED_GROUPS = {f"({n},{k})": f"n{n}_k{k}" for n, k in COUPLES} | {C: C, P: P, PICKED: "ImageNet-Syn2Nat"}


def published_mean(table: str, column: str, natural: str = "mean") -> float | None:
    printed = published_table(table)
    if column not in printed.columns or natural not in printed.text("natural_benchmark"):
        return None
    return float(printed.row(natural)[column])


def summary_row(
    means: GroupMeans, group: str, groups: Groups, printed: Mapping[str, str], table: str
) -> dict[str, Any]:
    estimate = means.estimate(group)
    return {
        "group": group,
        "corruptions": len(groups[group][0]),
        "benchmarks": len(groups[group]),
        "mean r": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "published mean r": published_mean(table, printed.get(group, "")),
    }


def beside_published(rows: Rows, printed: Mapping[str, str], table: str, setting: Setting) -> list[dict[str, Any]]:
    """The rows of a table, at the paper's scale with the published number behind each of ours."""
    if setting.small:
        return [dict(row) for row in rows]
    wide = []
    for row in rows:
        natural = str(row["natural"])
        beside: dict[str, Any] = {"natural": natural}
        for group, ours in row.items():
            if group != "natural":
                printed_mean = published_mean(table, printed.get(group, ""), natural)
                beside |= {group: ours, f"published {group}": printed_mean}
        wide.append(beside)
    return wide


def agreements(summary: Sequence[Mapping[str, Any]], setting: Setting) -> list[Estimate]:
    """How the means of the groups that both have agree: in their order, and at the paper's scale in their values."""
    both = [(row["mean r"], row["published mean r"]) for row in summary if row["published mean r"] is not None]
    if len(both) < 3:
        return []
    ours, printed = np.array(both).T
    found: list[Estimate] = [spearman(ours, printed)]
    if not setting.small:
        found.append(
            Estimate("mean absolute difference", float(np.abs(ours - printed).mean()), n=len(both), percent=False)
        )
    return found


def fewer_categories(found: Categories) -> list[str]:
    if len(found) >= 6:
        return []
    listed = ", ".join(title_of(n, k) for n, k in couples(len(found)))
    return [f"{len(found)} categories have {LEAST} members or more, not six, so the groups are {listed}"]


def published_change(first: str, second: str) -> float | None:
    values = []
    for group in (first, second):
        std = group.startswith("std ")
        table, column = (
            ("syn2nat-table3", group.replace("std ", "std_"))
            if std
            else ("syn2nat-table2", PUBLISHED_GROUPS.get(group, ""))
        )
        values.append(published_mean(table, column))
    return None if values[0] is None or values[1] is None else values[1] - values[0]


def _end(value: float | None) -> float:
    assert value is not None
    return value


def says(change: Estimate) -> str:
    """What an interval of a gain says about a finding."""
    return "holds" if _end(change.low) > 0 else "is reversed" if _end(change.high) < 0 else "cannot be told"


def shared_pairs(found: Categories, published: Categories) -> tuple[Estimate, Estimate]:
    """The shares of published same-category and different-category pairs that are together in what was found."""
    names = [name for name in published.names if name in found.names]
    same: dict[bool, list[bool]] = {True: [], False: []}
    for a, b in combinations(names, 2):
        same[published.of(a) == published.of(b)].append(found.of(a) == found.of(b))
    titles = {True: "published pairs that are together", False: "separated pairs that are together"}
    return tuple(  # type: ignore[return-value]
        Estimate(titles[kind], float(np.mean(pairs)) if pairs else 0.0, n=len(pairs)) for kind, pairs in same.items()
    )
