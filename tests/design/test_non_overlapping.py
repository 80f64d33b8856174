"""The largest non-overlapping subsets, against brute force and the published benchmark."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brittle import BrittleError
from brittle.design import OverlapMatrix, non_overlapping, published_overlap, sweep
from brittle.design.cliques import cliques_of_size, graph_of, lightest_cliques, weight_of
from tests.errors import naming


def matrix(scores: np.ndarray) -> OverlapMatrix:
    upper = np.triu(scores, 1)
    return OverlapMatrix(tuple(f"c{i:03}" for i in range(len(upper))), upper + upper.T + np.eye(len(upper)))


@st.composite
def overlaps(draw: st.DrawFn) -> OverlapMatrix:
    """Up to nine corruptions; few different values, so that there are ties, and some masked entries."""
    count = draw(st.integers(1, 9))
    entries = st.sampled_from([0.0, 0.05, 0.1, 0.3, 1.2, float("nan")])
    return matrix(np.array(draw(st.lists(entries, min_size=count**2, max_size=count**2))).reshape(count, count))


def by_force(overlap: OverlapMatrix, threshold: float) -> dict[tuple[str, ...], float]:
    """Every largest subset with all pairs under the threshold, and its mean overlap."""
    for size in range(len(overlap), 0, -1):
        sets = {
            names: float(np.mean([overlap[pair] for pair in combinations(names, 2)] or [0]))
            for names in combinations(overlap.names, size)
            if all(overlap[pair] < threshold for pair in combinations(names, 2))
        }
        if sets:
            return sets
    raise AssertionError


@settings(max_examples=150, deadline=None)
@given(overlaps(), st.sampled_from([0.05, 0.1, 0.2, 2.0]))
def test_against_brute_force(overlap: OverlapMatrix, threshold: float) -> None:
    expected = by_force(overlap, threshold)
    sets = non_overlapping(overlap, threshold, limit=1000)
    assert sets.counted
    assert sets.count == len(expected)
    assert set(sets.ties) == set(expected)
    assert sets.members == sets.ties[0]
    means = [expected[names] for names in sets.ties]
    assert means == pytest.approx(sorted(expected.values()))
    assert sets.size == 1 or sets.mean_overlap == pytest.approx(means[0])
    assert bool(sets.notes) == bool(overlap.masked())


@settings(max_examples=100, deadline=None)
@given(overlaps(), st.integers(1, 5))
def test_the_lightest_of_many_against_all_of_them(overlap: OverlapMatrix, limit: int) -> None:
    """The search that takes over when there are too many subsets to list."""
    graph, order = graph_of(overlap.scores < 0.2)
    weights = np.nan_to_num(overlap.scores[np.ix_(order, order)])
    size = non_overlapping(overlap, 0.2).size
    expected = sorted(weight_of(clique, weights) for clique in cliques_of_size(graph, size))
    cliques = lightest_cliques(graph, weights, size, limit)
    assert [weight_of(clique, weights) for clique in cliques] == pytest.approx(expected[:limit])
    assert len(set(cliques)) == len(cliques)


def test_imagenet_noc_does_not_overlap() -> None:
    overlap = published_overlap("noc-table8")
    sets = non_overlapping(overlap, 0.1)
    assert sets.members == overlap.names
    assert (sets.size, sets.count, sets.counted, sets.notes) == (8, 1, True, ())
    assert sets.mean_overlap == pytest.approx(overlap.mean_pair())


def test_imagenet_c_overlaps() -> None:
    """Its noises, blurs, weathers and digital artifacts overlap: at 0.1 little is left, and of each kind one."""
    overlap = published_overlap("noc-table7")
    table = sweep(overlap, [0.05, 0.1, 0.2, 0.5, 2])
    assert table.columns == ["threshold", "size", "mean_overlap", "count", "counted", "members"]
    assert table["size"].is_sorted()
    assert table["size"][-1] == 15
    best = non_overlapping(overlap, 0.1)
    assert by_force(overlap, 0.1)[best.members] == min(by_force(overlap, 0.1).values())
    assert len({"gaussian_noise", "shot_noise", "impulse_noise"} & set(best.members)) <= 1


def test_more_subsets_than_anyone_can_list() -> None:
    """Twenty pairs of twins: any of 2²⁰ choices is largest, and the best is still exact."""
    rng = np.random.default_rng(0)
    better = rng.integers(0, 2, 20)
    worse = np.arange(40) % 2 != np.repeat(better, 2)
    scores = 0.03 + 0.02 * (worse[:, None].astype(float) + worse) + rng.uniform(0, 0.001, (40, 40))
    twins = np.arange(40) // 2
    overlap = matrix(np.where(twins[:, None] == twins, 0.9, scores))
    sets = non_overlapping(overlap, 0.1)
    assert sets.members == tuple(f"c{2 * i + side:03}" for i, side in enumerate(better))
    assert not sets.counted
    assert sets.count > 20_000
    assert "more than 20000" in sets.notes[0]
    assert len(sets.ties) == 20


def test_two_hundred_candidates() -> None:
    sets = non_overlapping(matrix(np.random.default_rng(1).random((200, 200))), 0.4)
    assert sets.size in (9, 10)  # C(200, 9) · 0.4³⁶ = 5.6 are expected
    assert not sets.notes


@pytest.mark.parametrize(
    ("options", "values"),
    [({"threshold": float("nan")}, ("threshold", "0.1", "nan")), ({"limit": 0}, ("limit=0",))],
)
def test_bad_options(options: dict, values: tuple) -> None:
    with pytest.raises(BrittleError, match=naming(*values)):
        non_overlapping(published_overlap("noc-table8"), **options)
    with pytest.raises(BrittleError, match=naming("threshold", "0.1")):
        sweep(published_overlap("noc-table8"), [])
