"""Categories: clustering against SciPy and brute force, and what is said about them."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from brittle import BrittleError
from brittle._random import generator
from brittle.design import Categories, OverlapMatrix, agreement, categories, hierarchical, published_overlap
from brittle.design.clustering import k_means
from tests.errors import naming


def grouped(sizes: tuple[int, ...], seed: int = 0) -> OverlapMatrix:
    """Corruptions a0, a1, …, b0, … that overlap within their letter, in random order."""
    rng = np.random.default_rng(seed)
    names = rng.permutation(
        [f"{letter}{i}" for letter, size in zip("abcdef", sizes, strict=False) for i in range(size)]
    )
    letters = np.array([name[0] for name in names])
    noise = np.triu(rng.uniform(0, 0.15, (len(names), len(names))), 1)
    scores = np.where(letters[:, None] == letters, 0.6, 0.05) + noise + noise.T
    np.fill_diagonal(scores, 1)
    return OverlapMatrix(tuple(map(str, names)), scores)


def partition(grouping: Categories) -> set[frozenset[str]]:
    return {frozenset(group) for group in grouping.members.values()}


def letters(overlap: OverlapMatrix) -> set[frozenset[str]]:
    return {frozenset(n for n in overlap.names if n[0] == letter) for letter in {name[0] for name in overlap.names}}


def merged_by_hand(far: np.ndarray, count: int) -> set[frozenset[int]]:
    """Average linkage word for word: merge the two clusters whose members are nearest on average."""
    clusters = [frozenset([i]) for i in range(len(far))]
    while len(clusters) > count:
        pairs = [
            (far[np.ix_(list(a), list(b))].mean(), i, j)
            for i, a in enumerate(clusters)
            for j, b in enumerate(clusters)
            if i < j
        ]
        _, i, j = min(pairs)
        clusters[i] |= clusters.pop(j)
    return set(clusters)


@pytest.mark.parametrize("count", [2, 3, 5, 7])
def test_hierarchical_merges_the_nearest_on_average(count: int) -> None:
    overlap = published_overlap("noc-table7")
    by_hand = merged_by_hand(1 - np.asarray(overlap.scores), count)
    assert partition(hierarchical(overlap, count=count)) == {frozenset(overlap.names[i] for i in c) for c in by_hand}


@pytest.mark.parametrize("count", [2, 3, 4])
def test_k_means_finds_the_best_partition(count: int) -> None:
    points = np.random.default_rng(count).normal(size=(8, 3))

    def cost(labels: np.ndarray) -> float:
        return sum(((points[labels == k] - points[labels == k].mean(0)) ** 2).sum() for k in set(labels))

    best = min(cost(np.array(labels)) for labels in product(range(count), repeat=8) if len(set(labels)) == count)
    clusters = k_means(points, count, starts=100, rng=generator(0))
    assert cost(clusters) == pytest.approx(best)
    assert list(dict.fromkeys(clusters)) == list(range(count))


def test_growing_k_stops_at_the_groups() -> None:
    overlap = grouped((9, 8, 7, 6, 6, 4))
    grouping = categories(overlap)
    assert grouping == categories(overlap)
    assert [step.count for step in grouping.path] == list(range(2, len(grouping) + 1))
    assert grouping.path[-1].scc == grouping.scc > 0.5 >= max(step.scc for step in grouping.path[:-1])
    six = categories(overlap, count=6)
    assert partition(six) == letters(overlap) == partition(hierarchical(overlap, count=6))
    assert categories(overlap, count=1).members == {"1": overlap.names}


def test_the_correlations_word_for_word() -> None:
    overlap = published_overlap("noc-table7")
    for grouping in (categories(overlap), hierarchical(overlap, min_correlation=0.5)):
        same, different = [], []
        for i, a in enumerate(overlap.names):
            for j, b in enumerate(overlap.names):
                if a != b:
                    r = stats.pearsonr(overlap.scores[i], overlap.scores[j]).statistic
                    (same if grouping.of(a) == grouping.of(b) else different).append(r)
        assert grouping.scc == pytest.approx(np.mean(same))
        assert grouping.dcc == pytest.approx(np.mean(different))
        assert grouping.scc > 0.5 > grouping.dcc
        assert len({grouping.of(noise) for noise in ("gaussian_noise", "shot_noise", "impulse_noise")}) == 1


def test_agreement_with_models(rng: np.random.Generator) -> None:
    """Models have one skill a category, so their drops agree within categories and not across."""
    overlap = grouped((4, 4, 4))
    grouping = categories(overlap, count=3)
    skill = {letter: rng.normal(size=400) for letter in "abc"}
    drops = np.column_stack([skill[name[0]] + rng.normal(size=400) for name in overlap.names])
    agreed = agreement(grouping, drops, overlap.names)
    assert agreed.scc == pytest.approx(0.5, abs=0.1)
    assert agreed.dcc == pytest.approx(0, abs=0.1)
    assert agreed.models == 400
    with pytest.raises(BrittleError, match=naming("'c1'", "c0", "c2")):
        agreement(grouping, drops[:, 1:], overlap.names[1:])
    with pytest.raises(BrittleError, match=naming("c1")):
        agreement(grouping, np.zeros((5, 12)), overlap.names)


@pytest.mark.parametrize("ending", ["toml", "csv"])
def test_to_disk_and_back(tmp_path: Path, ending: str) -> None:
    grouping = categories(grouped((5, 4, 3))).renamed({"1": 'blurs "soft"'})
    again = Categories.load(grouping.save(tmp_path / "new" / f"categories.{ending}"))
    assert again.members == grouping.members
    if ending == "toml":
        assert again == grouping
    else:
        assert np.isnan(again.scc)
    by_hand = Categories({"x": ("fog",), "y": ("snow", "frost")})
    assert Categories.load(by_hand.save(tmp_path / f"by_hand.{ending}")).members == by_hand.members


@pytest.mark.parametrize(
    ("name", "text", "values"),
    [
        ("a.toml", "", ("a.toml", "category", "nothing")),
        ("a.toml", "category = 3", ("a.toml", "[[category]]")),
        ("a.toml", '[[category]]\nname = "x"\nmembers = []', ("a.toml", "'x'")),
        ("a.toml", '[[category]]\nname = "x"\nmembers = ["a"]\n' * 2, ("a.toml", "[[category]]", "'x'")),
        ("a.csv", "corruption,group\nfog,1\n", ("a.csv", "corruption", "category", "group")),
        ("a.csv", "corruption,category\nfog,1\nfog,2\n", ("a.csv", "'fog'")),
        ("a.txt", "", (".toml", ".csv", "a.txt")),
    ],
)
def test_bad_files(tmp_path: Path, name: str, text: str, values: tuple) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(BrittleError, match=naming(*values)):
        Categories.load(tmp_path / name)


def masked() -> OverlapMatrix:
    return OverlapMatrix(("a", "b", "c"), np.array([[1, 0.1, np.nan], [0.1, 1, 0.2], [np.nan, 0.2, 1]]))


@pytest.mark.parametrize(
    ("call", "values"),
    [
        (lambda o: categories(o, count=13), (12, 1, 13)),
        (lambda o: categories(o, min_correlation=1), ("min_correlation", 1, "0.929")),
        (lambda o: categories(o, starts=0), ("start", 0)),
        (lambda o: hierarchical(o), ("count", "min_correlation")),
        (lambda o: hierarchical(o, count=2, min_correlation=0.5), ("count", "min_correlation")),
        (lambda o: hierarchical(o, count=0), (12, 1, 0)),
        (lambda _: categories(masked()), ("a", "c", "overlap.subset")),
        (lambda _: hierarchical(masked(), count=2), ("a", "c", "overlap.subset")),
        (lambda o: categories(o).of("a00"), ("'a00'", "'a0'")),
        (lambda o: categories(o, count=2).renamed(["x"]), (2, 1)),
        (lambda o: categories(o, count=2).renamed(["x", "x"]), ("x, x",)),
        (lambda o: categories(o, count=2).renamed({"7": "x"}), ("'7'", "1, 2")),
    ],
)
def test_bad_input(call, values: tuple) -> None:
    with pytest.raises(BrittleError, match=naming(*values)):
        call(grouped((5, 4, 3)))


def test_categories_keep_the_levels_that_were_measured(tmp_path: Path) -> None:
    overlap = published_overlap("noc-table8")
    grouping = Categories.load(categories(overlap, count=2).save(tmp_path / "two.toml"))
    assert grouping.candidates == overlap.candidates
    assert "correlation_within = " in (tmp_path / "two.toml").read_text()
    assert grouping == categories(overlap, count=2)
    assert grouping.of("rain") == grouping.of("noc/rain")
    assert grouping.renamed({"1": "first"}).candidates == overlap.candidates
    with pytest.raises(BrittleError, match=naming("imagenet-c/rain")):
        grouping.of("imagenet-c/rain")
