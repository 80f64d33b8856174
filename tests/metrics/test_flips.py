"""Flip probability and rank distances against loops written from the definition."""

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np
import pytest

from brittle import BrittleError, metrics
from tests.errors import naming


def pairs(frames: int, noise: bool, difficulty: int) -> Iterator[tuple[int, int]]:
    step = 1 if noise else difficulty
    for phase in range(step):
        sequence = list(range(frames))[phase::step]
        for before, after in pairwise(sequence):
            yield (0 if noise else before), after


def rank(scores: np.ndarray) -> dict[int, int]:
    ordered = sorted(range(len(scores)), key=lambda i: (-scores[i], i))
    return {c: i + 1 for i, c in enumerate(ordered)}


def top5(before: dict[int, int], after: dict[int, int]) -> float:
    return sum(abs(min(i - 1, 5) - min(after[c] - 1, 5)) for c, i in before.items() if i <= 5)


def zipf(before: dict[int, int], after: dict[int, int]) -> float:
    return sum(abs(1 / i - 1 / after[c]) / i for c, i in before.items())


@pytest.mark.parametrize("noise", [False, True])
@pytest.mark.parametrize("difficulty", [1, 2, 3])
def test_all_three_against_the_definition(noise: bool, difficulty: int, rng: np.random.Generator) -> None:
    scores = np.round(rng.normal(size=(6, 16, 12)).cumsum(axis=1), 1)  # rounded, so that there are ties
    predictions = scores.argmax(-1)
    how = {"noise": noise, "difficulty": difficulty}
    two = list(pairs(16, noise, difficulty))
    flips = [np.mean([sequence[a] != sequence[b] for a, b in two]) for sequence in predictions]
    assert metrics.flips(predictions, **how) == pytest.approx(flips)
    assert metrics.flip_probability(predictions, **how) == pytest.approx(np.mean(flips))
    for measure, distance in ((metrics.top5_distances, top5), (metrics.zipf_distances, zipf)):
        expected = [np.mean([distance(rank(sequence[a]), rank(sequence[b])) for a, b in two]) for sequence in scores]
        assert measure(scores, **how) == pytest.approx(expected)
    assert metrics.top5_distance(scores, **how) == pytest.approx(metrics.top5_distances(scores, **how).mean())
    assert metrics.zipf_distance(scores, **how) == pytest.approx(metrics.zipf_distances(scores, **how).mean())


def test_the_ends_of_the_scale() -> None:
    still = np.tile(np.arange(12.0), (1, 4, 1))
    assert metrics.top5_distance(still) == metrics.zipf_distance(still) == 0
    upside_down = np.stack([np.arange(12.0), -np.arange(12.0)])[np.newaxis]
    assert metrics.top5_distance(upside_down) == 15
    assert metrics.flip_probability([[0, 1, 0, 1]]) == 1
    assert metrics.flip_probability([[0, 1, 0, 1]], difficulty=2) == 0
    assert metrics.flip_probability([[0, 1, 0, 1]], noise=True) == pytest.approx(2 / 3)


def test_rates_are_means_of_ratios() -> None:
    assert metrics.mfr([0.1, 0.3], [0.2, 0.3]) == pytest.approx(0.75)
    assert metrics.mt5d([[1.0, 3.0], [2.0, 3.0]], [2.0, 3.0]) == pytest.approx([0.75, 1.0])


@pytest.mark.parametrize(
    ("wrong", "values"),
    [
        (lambda: metrics.flips([1, 2]), ("sequences × frames", "(2,)")),
        (lambda: metrics.flips([[1, 2]], difficulty=4), ("difficulty", 1, 2, 3, 4)),
        (lambda: metrics.flips([[1, 2]], difficulty=2), ("2 frames", 2)),
        (lambda: metrics.top5_distances(np.zeros((1, 3, 4))), (5, "(1, 3, 4)")),
        (lambda: metrics.mfr([0.1], [0.1, 0.2]), ("(1,)", "(2,)")),
        (lambda: metrics.mfr([0.1], [0.0]), ("baseline", 0)),
    ],
)
def test_what_cannot_be_compared_is_refused(wrong: Callable[[], object], values: tuple) -> None:
    with pytest.raises(BrittleError, match=naming(*values)):
        wrong()
