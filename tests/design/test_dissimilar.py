"""How C-bar is built: severity sets, sampled data sets, shifts and the final choice, against plain re-counting."""

from itertools import combinations, product

import numpy as np
import pytest

import brittle
from brittle import BrittleError
from brittle.benchmarks import Benchmark, Entry
from brittle.datasets import load_dataset
from brittle.design.dissimilarity import disjoint_pairs, dissimilar, sampled_halves, severity_sets
from brittle.design.scanning import Scan, nearest_distances, scan_candidates, scan_errors, scan_levels
from brittle.distance import feature_images
from brittle.models import demo_model
from tests.errors import naming

RNG = np.random.default_rng(4)


def scans(count: int = 8, levels: int = 10, *, far: tuple[int, ...] = (), noise: float = 0.0) -> list[Scan]:
    made = []
    for i in range(count):
        errors = np.sort(RNG.uniform(0.1, 0.6, levels))
        distances = np.full(levels, 3.0 if i in far else 1.0) + noise * RNG.random(levels)
        made.append(Scan(f"c{i}", tuple(range(1, levels + 1)), errors, distances))
    return made


def later_nearest(errors: np.ndarray, centre: int, places: range, wanted: float) -> int:
    off = {place: abs(errors[place - 1] / errors[centre - 1] - 1 - wanted) for place in places}
    return max(place for place in places if off[place] == min(off.values()))


def test_severity_sets_are_those_of_the_published_rule() -> None:
    errors, spread = np.array([0.05, 0.1, 0.14, 0.2, 0.24, 0.3, 0.33, 0.41, 0.5, 0.52]), 0.5
    sets = severity_sets(errors, spread)
    assert len(sets) == 6
    assert [one.error for one in sets] == sorted(one.error for one in sets)
    expected = {}
    for i in range(3, 9):  # numbered from 1, as the fact sheet has it
        s1 = later_nearest(errors, i, range(1, i - 1), -spread)
        s2 = later_nearest(errors, i, range(s1 + 1, i), -spread / 2)
        s5 = later_nearest(errors, i, range(i + 2, 11), spread)
        s4 = later_nearest(errors, i, range(i + 1, s5), spread / 2)
        expected[i - 1] = tuple(j - 1 for j in (s1, s2, i, s4, s5))
    assert {one.places[2]: one.places for one in sets} == expected
    for one in sets:
        assert one.error == pytest.approx(errors[list(one.places)].mean())


def test_of_two_levels_equally_near_the_later_is_taken() -> None:
    flat = severity_sets([0.2] * 5, 0.4)
    assert flat[0].places == (0, 1, 2, 3, 4)
    assert severity_sets([0.1, 0.1, 0.1, 0.2, 0.3, 0.4, 0.4], 0.5)[0].places[2] in (2, 3, 4)
    assert severity_sets([0.1, 0.1, 0.1, 0.2, 0.3, 0.3], 0.5)[-1].places == (1, 2, 3, 4, 5)


def test_one_choice_of_each_combination_has_the_target_error() -> None:
    errors = [list(RNG.uniform(0.1, 0.5, 3)) for _ in range(6)]
    halves = sampled_halves(errors, 0.3, 3, tolerance=0.05)
    possible = {}
    for members in combinations(range(6), 3):
        fitting = [
            choice
            for choice in product(range(3), repeat=3)
            if abs(np.mean([errors[m][c] for m, c in zip(members, choice, strict=True)]) / 0.3 - 1) < 0.05
        ]
        if fitting:
            possible[members] = fitting
    assert {tuple(row) for row in halves.members} == set(possible)
    for members, sets, error in zip(halves.members, halves.sets, halves.errors, strict=True):
        assert tuple(sets) in possible[tuple(members)]
        assert error == pytest.approx(np.mean([errors[m][c] for m, c in zip(members, sets, strict=True)]))
    drawn = {tuple(sampled_halves(errors, 0.3, 3, tolerance=0.05, seed=seed).sets[0]) for seed in range(200)}
    assert drawn == set(possible[tuple(halves.members[0])])  # each fitting choice comes up


def test_pairs_have_no_common_member() -> None:
    members = np.array(list(combinations(range(6), 2)))
    pairs = disjoint_pairs(members, 500, seed=1)
    assert pairs.shape == (500, 2)
    for a, b in members[pairs]:
        assert not set(a) & set(b)
    many = np.arange(80)[:, None]  # more candidates than a machine word has bits
    assert (np.diff(many[disjoint_pairs(many, 2000)][..., 0]) != 0).all()
    with pytest.raises(BrittleError, match=naming("2 halves", "2 corruptions")):
        disjoint_pairs(np.array([[0, 1], [1, 2]]), 5)


def test_the_farthest_are_picked_with_the_target_error() -> None:
    chosen = dissimilar(
        [scans(far=(1, 4, 5, 6)) for _ in range(3)], 0.32, spread=0.4, k=4, datasets=4000, tolerance=0.05
    )
    assert set(chosen.picked) == {"c1", "c4", "c5", "c6"}
    assert chosen.error == pytest.approx(0.32, rel=0.05)
    assert all(len(levels) == 5 and list(levels) == sorted(levels) for levels in chosen.picked.values())
    table = chosen.table()
    assert list(table["shift"]) == sorted(table["shift"], reverse=True)
    assert set(table.filter(table["picked"])["candidate"]) == set(chosen.picked)
    assert table["standard_error"].null_count() == 0


def test_shifts_are_mean_distances_in_standard_deviations() -> None:
    """Against a recount over all data sets of two candidates, each of which has one severity set."""
    errors = np.array([0.2, 0.25, 0.3, 0.35, 0.4])
    distances = RNG.uniform(1, 2, 5)
    candidates = [Scan(f"c{i}", (1, 2, 3, 4, 5), errors, np.full(5, d)) for i, d in enumerate(distances)]
    chosen = dissimilar([candidates], 0.3, spread=0.3, k=2, datasets=60_000)
    sets = np.array([[distances[i], distances[j]] for i in range(5) for j in range(5) if i != j]).mean(1)
    which = [(i, j) for i in range(5) for j in range(5) if i != j]
    for i in range(5):
        with_it = np.mean([value for value, pair in zip(sets, which, strict=True) if i in pair])
        assert chosen.shifts[0, i] == pytest.approx((with_it - sets.mean()) / sets.std(), abs=0.03)


def test_if_all_are_equally_far_none_moves_a_data_set() -> None:
    chosen = dissimilar([scans(4)], 0.32, spread=0.4, k=4, datasets=200, tolerance=0.2)
    assert set(chosen.picked) == {"c0", "c1", "c2", "c3"}
    np.testing.assert_array_equal(chosen.shifts, 0)


def test_distances_are_to_the_nearest_cell() -> None:
    ours, theirs = RNG.normal(size=(3, 4)), RNG.normal(size=(7, 4))
    expected = [min(np.linalg.norm(a - b) for b in theirs) for a in ours]
    np.testing.assert_allclose(nearest_distances(ours, theirs), expected)


@pytest.mark.parametrize(
    ("how", "values"),
    [
        ({"k": 12}, ("k", 2, 8, 12)),
        ({"k": 3}, ("k", 2, 8, 3)),
        ({"count": 1}, ("candidates", 1)),
        ({"target_error": 0.99}, (2, 8, "1 %", "0.990")),
        ({"target_error": 30}, ("target", 0, 1, 30)),
    ],
)
def test_what_cannot_be_built_is_told(how: dict, values: tuple) -> None:
    given = {"target_error": 0.3, "spread": 0.4, "k": 4, "datasets": 100, **how}
    with pytest.raises(BrittleError, match=naming(*values)):
        dissimilar([scans(given.pop("count", 8))], given.pop("target_error"), **given)


def test_a_candidate_that_is_never_hard_enough_is_left_out() -> None:
    errors = np.linspace(0.15, 0.6, 10)
    candidates = [Scan(f"c{i}", tuple(range(1, 11)), errors, np.full(10, 1.0 + (i < 3))) for i in range(7)]
    easy = Scan("easy", tuple(range(1, 11)), np.linspace(0.001, 0.01, 10), np.full(10, 9.0))
    chosen = dissimilar([[*candidates, easy]], 0.4, spread=0.4, k=2, datasets=2000, tolerance=0.1)
    assert chosen.unfit == ["easy"]
    assert set(chosen.picked) <= {"c0", "c1", "c2"}
    assert chosen.table()["candidate"][-1] == "easy"
    with pytest.raises(BrittleError, match=naming("1 halves", "1 corruptions")):
        dissimilar([[candidates[0], easy]], 0.4, spread=0.4, k=2, datasets=50, tolerance=0.1)


def test_runs_must_agree_and_errors_must_be_there() -> None:
    with pytest.raises(BrittleError, match=naming("run 0", "c7", "run 1")):
        dissimilar([scans(8), scans(7)], 0.3, spread=0.4)
    with pytest.raises(BrittleError, match=naming("five", "(2,)")):
        severity_sets([0.1, 0.2], 0.4)
    with pytest.raises(BrittleError, match=naming(0)):
        severity_sets([0.0] * 6, 0.4)
    with pytest.raises(BrittleError, match=naming("c", "2, 1 and 2")):
        Scan("c", (1, 2), np.array([0.1]), np.array([0.1, 0.2]))


def test_a_scan_measures_errors_and_distances(tmp_path) -> None:
    data, model = load_dataset("demo").subset(range(0, 1000, 25)), demo_model("standard", device="cpu")
    candidates = Benchmark(
        "few",
        (
            Entry("imagenet-c/gaussian_noise", (1, 2, 3, 4, 5)),
            Entry("imagenet-c/fog", (2, 1, 3, 5, 4)),
            Entry("imagenet-c/contrast", (3,)),
        ),
        table=32,
    )
    baseline = Benchmark("base", (Entry("imagenet-c/gaussian_noise", (1, 2, 3, 4, 5)),), table=32)
    levelled = scan_levels(candidates, model, data)
    assert [len(entry.levels) for entry in levelled.entries] == [5, 5, 10]
    results, target, spread = scan_errors(model, data, levelled, baseline, tmp_path / "run")
    assert 0 < target < 1
    assert spread > 0
    few = feature_images(data, 6)
    how = {"samples": 3, "folder": tmp_path / "features"}
    scanned = scan_candidates(model, few, results, model.name, levelled, baseline, **how)
    assert [scan.candidate for scan in scanned] == [entry.id for entry in levelled.entries]
    np.testing.assert_allclose(scanned[0].distances, 0, atol=1e-6)  # it is the benchmark itself
    assert (scanned[1].distances > 0).all()
    assert scanned[1].severities == (1, 2, 3, 4, 5)
    assert scanned[0].errors[-1] > scanned[0].errors[0]


def test_the_published_ten_are_among_the_bundled_candidates() -> None:
    for data in ("cifar10", "imagenet"):
        listed = brittle.load_benchmark(f"{data}-c-bar-candidates")
        assert len(listed.entries) == 30
        for entry in brittle.load_benchmark(f"{data}-c-bar").entries:
            assert set(entry.levels) <= set(listed.entry(entry.id).levels)
