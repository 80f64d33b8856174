"""MSD and MMD against their definitions, and what must hold for any model."""

from itertools import combinations

import numpy as np
import pytest

from brittle import BrittleError
from brittle.benchmarks import Cell
from brittle.corruptions import Draws
from brittle.distance import (
    CorruptionFeatures,
    corruption_features,
    distances,
    expected_minimum,
    mmd,
    msd,
    sample_distances,
    transform_features,
)
from brittle.training import Corrupted
from brittle.training.augmentation import FlipCrop, Mixture, Scheme
from tests.distance.extractors import THREE, few_images, network
from tests.errors import naming

RNG = np.random.default_rng(2)
AUGMENTATIONS = RNG.normal(0, 1, (730, 6)).astype(np.float32)
CELLS = (Cell("noise", 1.0), Cell("noise", 2.0), Cell("blur", 1.0))
CORRUPTIONS = CorruptionFeatures(
    CELLS, (RNG.normal(0, 0.4, (3, 25, 6)) + RNG.normal(0, 1, (3, 1, 6))).astype(np.float32)
)


def test_msd_and_mmd_are_what_the_paper_says() -> None:
    for corruption in CORRUPTIONS.values:
        mean = corruption.mean(0)
        assert msd(AUGMENTATIONS, corruption) == pytest.approx(
            min(np.linalg.norm(a - mean) for a in AUGMENTATIONS), 1e-5
        )
        assert mmd(AUGMENTATIONS, corruption) == pytest.approx(np.linalg.norm(AUGMENTATIONS.mean(0) - mean), 1e-5)
    assert msd(CORRUPTIONS.means, CORRUPTIONS.means[1:2]) == 0
    with pytest.raises(BrittleError, match=naming(6)):
        sample_distances(AUGMENTATIONS, np.zeros((2, 5)))
    with pytest.raises(BrittleError, match=naming(6, 1, 5)):
        mmd(AUGMENTATIONS, np.zeros((2, 5)))
    with pytest.raises(BrittleError, match=naming(0, 5)):
        msd(np.zeros((0, 5)), np.zeros((2, 5)))


def test_what_is_not_a_number_is_told() -> None:
    holes = AUGMENTATIONS.copy()
    holes[205, 3] = np.nan
    for call in (
        lambda: msd(holes, AUGMENTATIONS),
        lambda: mmd(holes, AUGMENTATIONS),
        lambda: distances(holes, CORRUPTIONS),
    ):
        with pytest.raises(BrittleError, match=naming(205)):
            call()
    with pytest.raises(BrittleError, match=naming(24)):
        CorruptionFeatures(CELLS, np.full((3, 2, 4), np.inf, np.float32))
    with pytest.raises(BrittleError, match=naming(1, 2, "NaN")):
        expected_minimum([1.0, np.nan], [1])
    with pytest.raises(BrittleError, match=naming("resample", -1)):
        distances(AUGMENTATIONS, CORRUPTIONS, resamples=-1)


def test_the_curve_is_the_mean_over_all_subsets() -> None:
    values = RNG.normal(0, 1, (7, 2))
    sizes = range(1, 8)
    expected = [np.mean([values[list(some)].min(0) for some in combinations(range(7), m)], 0) for m in sizes]
    np.testing.assert_allclose(expected_minimum(values, list(sizes)), expected)
    many = -np.log1p(-(np.arange(100_000) + 0.5) / 100_000)  # the minimum of m exponentials has mean 1/m
    np.testing.assert_allclose(expected_minimum(many, [10, 1000]), [0.1, 0.001], rtol=0.01)
    for bad in (0, 8):
        with pytest.raises(BrittleError, match=naming(1, 7, bad)):
            expected_minimum(values, [bad])


def test_the_table_has_a_row_a_cell_and_a_row_a_corruption() -> None:
    found = distances(AUGMENTATIONS, CORRUPTIONS, augmentation="mine", resamples=100)
    table = found.table()
    assert table["corruption"].to_list() == ["noise", "noise", "blur"]
    for row, corruption in zip(table.iter_rows(named=True), CORRUPTIONS.values, strict=True):
        assert row["msd"] == pytest.approx(msd(AUGMENTATIONS, corruption), 1e-5)
        assert row["mmd"] == pytest.approx(mmd(AUGMENTATIONS, corruption), 1e-5)
        assert row["clean"] == pytest.approx(np.linalg.norm(corruption.mean(0)), 1e-5)
        assert row["msd_low"] < row["msd"] < row["msd_high"]
        assert row["mmd_low"] < row["mmd"] < row["mmd_high"]
        gap = np.linalg.norm(AUGMENTATIONS[row["nearest"]] - corruption.mean(0))
        assert row["msd"] == pytest.approx(gap, 1e-5)
    means = found.by_corruption()
    assert means["corruption"].to_list() == ["noise", "blur"]
    assert means["msd"][0] == pytest.approx(table["msd"][:2].mean())
    assert found.mean()["mmd"].item() == pytest.approx(means["mmd"].mean())
    assert found.sizes[-1] == len(AUGMENTATIONS)
    np.testing.assert_allclose(found.curve[-1], found.msd)
    assert (np.diff(found.curve, axis=0) < 0).all()
    again = distances(AUGMENTATIONS, CORRUPTIONS, augmentation="mine", resamples=100)
    assert again.table().equals(table)


def test_the_intervals_hold_what_other_samples_would_give() -> None:
    rng = np.random.default_rng(0)
    spread = np.linspace(1, 0.1, 10)

    def drawn() -> tuple[np.ndarray, CorruptionFeatures]:
        corruption = np.r_[2.0, np.zeros(9)] + 0.5 * spread * rng.normal(size=(1, 60, 10))
        return spread * rng.normal(size=(1000, 10)), CorruptionFeatures(
            (Cell("c", 1.0),), corruption.astype(np.float32)
        )

    expected = np.mean([(msd(a, c.values[0]), mmd(a, c.values[0])) for a, c in (drawn() for _ in range(100))], 0)
    held = np.zeros(2)
    for i in range(40):
        row = distances(*drawn(), resamples=100, seed=i).table().row(0, named=True)
        held += [row["msd_low"] <= expected[0] <= row["msd_high"], row["mmd_low"] <= expected[1] <= row["mmd_high"]]
    assert held[0] >= 36
    assert held[1] >= 32


def test_resamples_measure_only_what_can_be_nearest_and_miss_nothing() -> None:
    from brittle.distance.measures import _present, resampled_distances
    from brittle.metrics import resampled_means

    many = RNG.normal(0, 1, (5000, 6)).astype(np.float32)
    gaps = sample_distances(many, CORRUPTIONS.means)
    minimal, _ = resampled_distances(many, CORRUPTIONS, gaps, resamples=20, seed=4)
    there = _present(5000, 20, 4)
    for cell, samples in enumerate(CORRUPTIONS.values):
        for b, mean in enumerate(resampled_means(samples, seed=4, resamples=20)):
            expected = np.linalg.norm(many[there[b]] - mean, axis=1).min()
            assert minimal[b, cell] == pytest.approx(expected, rel=1e-4)


@pytest.fixture(scope="module")
def three() -> CorruptionFeatures:
    return corruption_features(network(), few_images(), THREE, samples=30)


def test_a_scheme_that_contains_the_corruption_is_near_and_others_are_not(three: CorruptionFeatures) -> None:
    def found(scheme: Scheme) -> np.ndarray:
        return sample_distances(transform_features(network(), few_images(), scheme, samples=200), three.means).min(0)

    neutral, clean = found(FlipCrop()), np.linalg.norm(three.means, axis=1)
    noise = found(Corrupted(THREE, ["imagenet-c/impulse_noise"], share=1.0))[2:4]
    assert (noise < 0.25 * clean[2:4]).all()
    assert (noise < 0.4 * neutral[2:4]).all()
    brightness = found(Corrupted(THREE, ["imagenet-c/brightness"]))[4]
    assert brightness < 1e-5 * clean[4]  # nothing about it is random, so the very same transform is met
    assert neutral[4] > 0.9 * clean[4]


def test_mmd_of_a_mixture_is_between_and_msd_stays_low(three: CorruptionFeatures) -> None:
    noise, other = Corrupted(THREE, ["imagenet-c/impulse_noise"], share=1.0), FlipCrop()
    mixed = Mixture((noise, other), (0.5, 0.5))
    samples = 300
    pure = [
        np.asarray(transform_features(network(), few_images(), scheme, samples=samples)) for scheme in (noise, other)
    ]
    both = np.asarray(transform_features(network(), few_images(), mixed, samples=samples))
    picked = np.array([mixed.picked(Draws(0, "augmentation", i)) is noise for i in range(samples)])
    np.testing.assert_allclose(both, np.where(picked[:, None], *pure), atol=1e-5)  # each sample is one of the two
    halfway = (pure[0].mean(0) + pure[1].mean(0)) / 2
    apart = np.linalg.norm(pure[0].mean(0) - pure[1].mean(0))
    assert np.linalg.norm(both.mean(0) - halfway) < 0.1 * apart
    target = three.values[3]
    near, far, between = (mmd(rows, target) for rows in (pure[0], pure[1], both))
    assert near < between < far
    assert msd(both, target) < 1.5 * msd(pure[0], target) < 0.5 * msd(pure[1], target)
