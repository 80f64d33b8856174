"""The overlapping score, against its formula written out, published tables and simulated samples."""

import numpy as np
import pytest

from brittle import BrittleError, metrics
from brittle.design import (
    VanishingGain,
    overlap_from_relative_errors,
    overlap_matrix,
    overlap_with_intervals,
    published_overlap,
)
from tests.errors import naming

NAMES = ["fog", "snow", "blur"]
ACCURACY = np.array(
    [
        [0.80, 0.40, 0.50, 0.30],
        [0.78, 0.70, 0.60, 0.28],
        [0.75, 0.55, 0.72, 0.20],
        [0.79, 0.42, 0.40, 0.65],
    ]
)
"""Rows: standard, trained with each. Columns: clean, tested on each."""


@pytest.mark.parametrize("averaging", ["ratios", "gains"])
@pytest.mark.parametrize("form", ["ratio", "accuracy"])
def test_the_formula_word_for_word(form: str, averaging: str) -> None:
    def gain(model: int, test: int) -> float:
        clean = ACCURACY[:, 0] if form == "ratio" else np.ones(4)
        return ACCURACY[model, test] / clean[model] - ACCURACY[0, test] / clean[0]

    overlap = overlap_matrix(ACCURACY, NAMES, form=form, averaging=averaging)
    for a in range(1, 4):
        for b in range(1, 4):
            expected = (gain(a, b) / gain(b, b) + gain(b, a) / gain(a, a)) / 2
            if averaging == "gains":
                expected = (gain(a, b) + gain(b, a)) / (gain(a, a) + gain(b, b))
            assert overlap[NAMES[a - 1], NAMES[b - 1]] == pytest.approx(max(0, expected))


def test_averaged_gains_are_less_noisy_where_a_native_gain_is_small() -> None:
    table = ACCURACY.copy()
    table[2, 2], table[2, 0] = 0.53, 0.80  # trained with snow, and hardly better on snow
    noisy = np.clip(table + np.random.default_rng(0).normal(0, 0.005, (200, 4, 4)), 0, 1)
    spread = {
        averaging: np.std([overlap_matrix(one, NAMES, averaging=averaging, floor=0)["fog", "snow"] for one in noisy])
        for averaging in ("ratios", "gains")
    }
    assert 5 * spread["gains"] < spread["ratios"]


def test_a_vanishing_gain_is_named_and_masked() -> None:
    table = ACCURACY.copy()
    table[2, 2] = 0.47  # trained with snow, and no better on snow
    with pytest.warns(VanishingGain, match=r"trained with snow is only \+0.002 better"):
        overlap = overlap_matrix(table, NAMES)
    assert overlap.masked() == [("fog", "snow"), ("snow", "blur")]
    assert overlap["snow", "snow"] == 1
    assert overlap["fog", "blur"] == overlap_matrix(ACCURACY, NAMES)["fog", "blur"]
    assert not overlap_matrix(table, NAMES, floor=0.001).masked()


@pytest.mark.parametrize(
    ("table", "options", "error", "values"),
    [
        (ACCURACY[1:], {}, ValueError, ("4 × 4", "(3, 4)")),
        (100 * ACCURACY, {}, ValueError, (100,)),
        (np.where(ACCURACY == 0.72, np.nan, ACCURACY), {}, ValueError, ("accuracy", 0, 1, "nan")),
        (ACCURACY * [0, 1, 1, 1], {}, ValueError, ("clean accuracy", 0)),
        (ACCURACY, {"form": "drop"}, ValueError, ("'ratio'", "'accuracy'", "'drop'")),
        (ACCURACY, {"averaging": "models"}, ValueError, ("'ratios'", "'gains'", "'models'")),
        (ACCURACY, {"floor": -1}, ValueError, ("floor", 0, -1)),
    ],
)
def test_bad_accuracies(table: np.ndarray, options: dict, error: type, values: tuple) -> None:
    with pytest.raises(error, match=naming(*values)):
        overlap_matrix(table, NAMES, **options)


@pytest.mark.parametrize(
    ("a", "b", "quoted"),
    [("gaussian_noise", "shot_noise", 0.97), ("fog", "contrast", 0.49), ("snow", "frost", 0.47)],
)
def test_overlaps_of_imagenet_c(a: str, b: str, quoted: float) -> None:
    overlap = published_overlap("noc-table7")
    assert round(overlap[a, b], 2) == quoted
    assert overlap.candidates is not None
    assert {entry.levels for entry in overlap.candidates.entries} == {(1, 2, 3, 4, 5)}
    assert overlap.names == tuple(entry.id for entry in overlap.candidates.entries)


def test_no_two_of_imagenet_noc_overlap() -> None:
    overlap = published_overlap("noc-table8")
    assert len(overlap) == 8
    assert overlap.scores[np.triu_indices(8, 1)].max() < 0.1


def test_relative_errors_give_the_overlaps_of_the_accuracies() -> None:
    """Whatever the reference model is; and the clean accuracies matter."""
    reference = np.array([0.7, 0.55, 0.9])
    errors = metrics.relative_corruption_errors(1 - ACCURACY[:, 1:], 1 - ACCURACY[:, 0], reference, 0.4)
    overlap = overlap_from_relative_errors(errors, NAMES, clean_errors=1 - ACCURACY[:, 0])
    assert overlap.scores == pytest.approx(overlap_matrix(ACCURACY, NAMES).scores)
    blind = overlap_from_relative_errors(errors, NAMES)
    assert np.abs(blind.scores - overlap.scores).max() > 0.01
    equal = ACCURACY.copy()
    equal[:, 0] = 0.8
    errors = metrics.relative_corruption_errors(1 - equal[:, 1:], 0.2, reference, 0.4)
    assert overlap_from_relative_errors(errors, NAMES).scores == pytest.approx(overlap_matrix(equal, NAMES).scores)


@pytest.mark.parametrize(
    ("shape", "value", "clean", "values"),
    [
        ((3, 3), 0.5, None, ("4 × 3", "(3, 3)")),
        ((4, 3), np.nan, None, ("fog", "row 0", "nan")),
        ((4, 3), 87, None, (100,)),
        ((4, 3), 0.5, [0.2, 0.2], (4, "(2,)")),
        ((4, 3), 0.5, [0.2, 1, 0.2, 0.2], ("clean error", 1)),
    ],
)
def test_bad_relative_errors(shape: tuple, value: float, clean: list | None, values: tuple) -> None:
    with pytest.raises(BrittleError, match=naming(*values)):
        overlap_from_relative_errors(np.full(shape, value), NAMES, clean_errors=clean)
    with pytest.raises(BrittleError, match=naming("noc-table5", "noc-table7", "noc-table8")):
        published_overlap("noc-table5")


def samples(count: int, seed: int) -> np.ndarray:
    """Right or wrong with the accuracies above: hard samples are hard in all cells."""
    hardness = np.random.default_rng(seed).random(count)
    return hardness < ACCURACY[:, :, None]


def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    truth = overlap_matrix(ACCURACY, NAMES)["fog", "snow"]
    held = 0
    for seed in range(60):
        overlap = overlap_with_intervals(samples(500, seed), NAMES, resamples=200, seed=seed, level=0.9)
        i, j = overlap.positions(["fog", "snow"])
        held += overlap.low[i, j] <= truth <= overlap.high[i, j]
    assert 48 <= held <= 60


@pytest.mark.parametrize("averaging", ["ratios", "gains"])
def test_intervals_belong_to_the_same_scores(averaging: str) -> None:
    correct = samples(2000, 1)
    overlap = overlap_with_intervals(correct, NAMES, averaging=averaging, seed=3)
    assert overlap.scores == pytest.approx(overlap_matrix(correct.mean(-1), NAMES, averaging=averaging).scores)
    assert overlap.formula == f"ratio, {averaging}"
    assert (overlap.low <= overlap.scores).all()
    assert (overlap.scores <= overlap.high).all()
    assert (np.diagonal(overlap.low) == 1).all()
    again = overlap_with_intervals(correct, NAMES, averaging=averaging, seed=3)
    assert np.array_equal(overlap.high, again.high)
    wider = overlap_with_intervals(correct, NAMES, averaging=averaging, seed=3, level=0.99)
    assert (wider.high >= overlap.high).all()


def trainings(count: int, repetitions: int, seed: int, noise: float = 0.02) -> np.ndarray:
    """The same samples shown to models whose accuracies differ from training to training."""
    rng = np.random.default_rng([seed, 1])
    accuracy = np.clip(ACCURACY + rng.normal(0, noise, (repetitions, *ACCURACY.shape)), 0, 1)
    return np.random.default_rng(seed).random(count) < accuracy[..., None]


@pytest.mark.parametrize("repetitions", [2, 3])
def test_intervals_of_repeated_trainings_cover_the_training(repetitions: int) -> None:
    truth, held, held_before = overlap_matrix(ACCURACY, NAMES).scores, [], []
    for seed in range(60):
        cubes = trainings(4000, repetitions, seed)
        for found, cube in ((held, cubes), (held_before, cubes.mean(axis=0))):
            overlap = overlap_with_intervals(cube, NAMES, resamples=200, seed=seed, level=0.9)
            found.append(((overlap.low <= truth) & (truth <= overlap.high))[np.triu_indices(3, 1)])
    assert 0.86 <= np.mean(held) <= 0.97
    assert np.mean(held_before) < 0.75  # test images alone: too narrow


def test_repeated_trainings_are_averaged_before_gains_are_divided() -> None:
    cubes = trainings(500, 3, 0)
    overlap = overlap_with_intervals(cubes, NAMES, resamples=50)
    assert overlap.scores == pytest.approx(overlap_matrix(cubes.mean(axis=(0, -1)), NAMES).scores)
    alone = overlap_with_intervals(cubes[:1], NAMES, resamples=50)
    assert np.array_equal(alone.high, overlap_with_intervals(cubes[0], NAMES, resamples=50).high)


def test_a_gain_that_may_vanish_bounds_nothing() -> None:
    correct = samples(300, 0)
    correct[2, 2] = correct[0, 2]
    correct[2, 2, np.flatnonzero(~correct[2, 2])[:15]] = True  # 5 points better: some resamples see none
    overlap = overlap_with_intervals(correct, NAMES, form="accuracy", floor=0.04)
    assert np.isfinite(overlap["fog", "snow"])
    assert overlap.high[0, 1] == np.inf
    assert np.isfinite(overlap.high[0, 2])
    with pytest.raises(BrittleError, match=naming(4, 3, 300)):
        overlap_with_intervals(correct[1:], NAMES)
