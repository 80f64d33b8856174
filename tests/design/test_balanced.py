"""Balanced and unbalanced benchmarks: counted exactly, drawn fairly, and never for ever."""

from collections import Counter
from itertools import chain, combinations, product
from math import comb
from pathlib import Path

import numpy as np
import pytest

from brittle import BrittleError, metrics
from brittle.design import (
    Categories,
    NoSubstitution,
    OverlapMatrix,
    balanced,
    benchmark_groups,
    by_imbalance,
    imbalance,
    least_overlapping,
    possible_benchmarks,
    representation,
    same_category_overlaps,
    substitute,
    unbalanced,
)
from tests.errors import naming


def made_up(*sizes: int) -> Categories:
    """Categories a, b, … with members a0, a1, …, b0, …"""
    return Categories({c: tuple(f"{c}{i}" for i in range(n)) for c, n in zip("abcdef", sizes, strict=False)})


FORTY = made_up(3, 5, 6, 7, 8, 11)
SMALL = made_up(2, 3, 4)


def every(categories: Categories, n: int, k: int) -> set[tuple[str, ...]]:
    chosen = chain.from_iterable(
        product(*(combinations(group, k) for group in groups))
        for groups in combinations(categories.members.values(), n)
    )
    return {tuple(sorted(chain.from_iterable(parts))) for parts in chosen}


@pytest.mark.parametrize(("n", "k"), [(1, 1), (2, 1), (3, 1), (2, 2), (3, 2)])
def test_all_benchmarks_there_are(n: int, k: int) -> None:
    expected = every(SMALL, n, k)
    assert possible_benchmarks(SMALL, n, k) == len(expected)
    assert set(balanced(SMALL, n, k, count=len(expected))) == expected
    with pytest.raises(BrittleError, match=naming(len(expected), f"count={len(expected) + 1}")):
        balanced(SMALL, n, k, count=len(expected) + 1)


@pytest.mark.parametrize(("n", "k"), [(2, 3), (3, 2), (6, 1), (4, 3), (6, 2), (6, 3)])
def test_the_groups_of_syn2nat(n: int, k: int) -> None:
    benchmarks = balanced(FORTY, n, k)
    assert len(set(benchmarks)) == len(benchmarks) == 1000
    assert benchmarks == balanced(FORTY, n, k) != balanced(FORTY, n, k, seed=1)
    for benchmark in benchmarks:
        assert list(benchmark) == sorted(benchmark)
        assert sorted(representation(benchmark, FORTY).values()) == [0] * (6 - n) + [k] * n
        assert imbalance(benchmark, FORTY) == 0


@pytest.mark.parametrize("count", [1, 3])
def test_categories_are_drawn_evenly(count: int) -> None:
    """Algorithm 1 draws categories first, so the two benchmarks of a are as likely together as the four of c."""
    first = Counter(balanced(SMALL, 1, 1, count=count, seed=seed)[0] for seed in range(3000))
    by_category = Counter({c: sum(n for (name,), n in first.items() if name[0] == c) for c in "abc"})
    assert all(abs(n - 1000) < 5 * np.sqrt(1000 * 2 / 3) for n in by_category.values())
    assert len(first) == 9


@pytest.mark.parametrize(
    ("n", "k", "values"),
    [
        (7, 1, ("n", 1, 6, 7)),
        (0, 1, ("n", 1, 6, 0)),
        (2, 4, ("k", "a", 1, 3, 4)),
        (2, 0, ("k", 1, 3, 0)),
    ],
)
def test_impossible_benchmarks(n: int, k: int, values: tuple) -> None:
    with pytest.raises(BrittleError, match=naming(*values)):
        balanced(FORTY, n, k)


def test_count_of_six_times_three() -> None:
    assert possible_benchmarks(FORTY, 6, 3) == np.prod([comb(n, 3) for n in (3, 5, 6, 7, 8, 11)])


def test_std_groups_of_syn2nat() -> None:
    """Substitution turns (6, 2) benchmarks into exactly the eight groups of Table 3."""
    start = balanced(FORTY, 6, 2)
    groups = by_imbalance(unbalanced(start, FORTY), FORTY)
    columns = list(metrics.published_table("syn2nat-table3").columns)[2:]
    assert list(groups) == [float(name.removeprefix("std_")) for name in columns]
    assert list(groups) == [0.6, 0.8, 1.0, 1.2, 1.4, 1.5, 1.8, 2.2]
    assert list(by_imbalance(start, FORTY)) == [0]


def test_the_three_conditions() -> None:
    for seed, start in enumerate(balanced(FORTY, 4, 3, count=50)):
        before = start
        for times in (1, 2, 3):
            after = substitute(start, FORTY, times=times, seed=seed)
            assert len(set(before) - set(after)) == len(set(after) - set(before)) == 1
            counts = [representation(b, FORTY) for b in (before, after)]
            assert {c for c, n in counts[0].items() if n} == {c for c, n in counts[1].items() if n}
            std = [np.std([n for n in count.values() if n]) for count in counts]
            assert std[1] > std[0]
            before = after
    assert substitute(start, FORTY, times=0) == start


def test_no_substitution_is_possible() -> None:
    with pytest.raises(NoSubstitution, match=naming(0, 1)):
        substitute(["a0", "b0"], SMALL)
    with pytest.raises(NoSubstitution, match=naming(1, 9, 3)):
        substitute(["b0", "b1", "c0", "c1"], made_up(2, 2, 4), times=9)
    assert unbalanced([["a0", "b0"]], SMALL) == []
    with pytest.raises(BrittleError, match=naming(0, "times=-1")):
        substitute(["a0"], SMALL, times=-1)


@pytest.mark.parametrize(
    ("benchmark", "values"), [(["a0", "z9"], ("'z9'", "a0", "c3")), (["a0", "a0"], ("'a0'",)), ([], ("[]",))]
)
def test_bad_benchmarks(benchmark: list[str], values: tuple) -> None:
    with pytest.raises(BrittleError, match=naming(*values)):
        imbalance(benchmark, SMALL)


def test_the_least_overlapping(rng: np.random.Generator) -> None:
    upper = np.triu(rng.random((9, 9)), 1)
    scores = upper + upper.T + np.eye(9)
    overlap = OverlapMatrix(SMALL.names, scores)
    benchmarks = sorted(every(SMALL, 3, 2))
    expected = [np.mean([overlap[p] for p in combinations(b, 2) if p[0][0] == p[1][0]]) for b in benchmarks]
    assert same_category_overlaps(benchmarks, overlap, SMALL) == pytest.approx(expected)
    best = benchmarks[int(np.argmin(expected))]
    assert least_overlapping(benchmarks, overlap, SMALL) == best
    i, j = overlap.positions([name for name in best if name[0] == "b"])
    scores[i, j] = scores[j, i] = np.nan
    assert least_overlapping(benchmarks, OverlapMatrix(SMALL.names, scores), SMALL) != best
    with pytest.raises(BrittleError, match=naming(2)):
        least_overlapping(sorted(every(SMALL, 3, 1)), overlap, SMALL)
    with pytest.raises(BrittleError, match=naming("benchmark", "none")):
        least_overlapping([], overlap, SMALL)
    with pytest.raises(BrittleError, match=naming("z")):
        least_overlapping([["a0", "z"]], overlap, SMALL)
    with pytest.raises(BrittleError, match=naming("c0")):
        least_overlapping([["a0", "c0"]], overlap, made_up(2, 3))


def test_groups_of_substituted_benchmarks_by_name(tmp_path: Path) -> None:
    FORTY.save(tmp_path / "forty.csv")
    groups = benchmark_groups(FORTY.names, categories=tmp_path / "forty.csv", nk=[(6, 2)], count=200, substitutions=5)
    assert next(iter(groups)) == "(6,2)"
    printed = {"0.6", "0.8", "1.0", "1.2", "1.4", "1.5", "1.8", "2.2"}
    assert {title.removeprefix("(6,2) std ") for title in list(groups)[1:]} <= printed
    for title, group in list(groups.items())[1:]:
        assert {imbalance(one, FORTY) for one in group} == {float(title.rpartition(" ")[2])}
    with pytest.raises(BrittleError, match=naming("--substitutions", -1)):
        benchmark_groups(FORTY.names, categories=tmp_path / "forty.csv", nk=[(6, 2)], substitutions=-1)
