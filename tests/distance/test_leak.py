"""The leak check: what is trained on is found, what is neutral is not, and the statistics are the textbook's."""

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import mannwhitneyu

from brittle import BrittleError
from brittle.benchmarks import Cell
from brittle.datasets import arrays
from brittle.distance import (
    NEUTRAL,
    CorruptionFeatures,
    corruption_features,
    covered,
    leak_check,
    leak_scores,
    transform_features,
)
from brittle.distance.leakage import rank_test
from brittle.evaluation import evaluate
from brittle.metrics import holm
from brittle.training import Corrupted
from brittle.training.augmentation import FlipCrop, Mixture
from tests.distance.extractors import THREE, few_images, network
from tests.errors import naming

RNG = np.random.default_rng(3)


@pytest.mark.parametrize("shift", [-0.8, 0.0, 0.5])
def test_the_rank_test_is_mann_and_whitneys(shift: float) -> None:
    a, b = RNG.normal(shift, 1, 15), RNG.normal(0, 1, 18)
    expected = mannwhitneyu(a, b, alternative="less", method="exact").pvalue
    assert rank_test(a, b, permutations=20_000) == pytest.approx(expected, abs=0.01)


def test_the_rank_test_knows_ties_and_its_limits() -> None:
    assert rank_test(np.ones(10), np.ones(10)) == 1
    assert rank_test(np.arange(20), np.arange(20) + 100, permutations=999) == 1 / 1000
    with pytest.raises(BrittleError, match=naming(0, 3)):
        rank_test([], [1, 2, 3])


def test_holm_is_the_textbooks() -> None:
    np.testing.assert_allclose(holm([0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02])
    np.testing.assert_allclose(holm([0.9, 0.8]), [1, 1])


def test_a_trained_corruption_is_found_and_the_others_are_not() -> None:
    images, samples = few_images(), 200
    corruptions = corruption_features(network(), images, THREE, samples=30)

    def features(scheme: object, seed: int = 0) -> np.ndarray:
        return np.asarray(transform_features(network(), images, scheme, samples=samples, seed=seed))  # type: ignore[arg-type]

    references = {name: features(scheme) for name, scheme in NEUTRAL.items()}
    cheat = Mixture((FlipCrop(), Corrupted(THREE, ["imagenet-c/impulse_noise"], share=1.0)), (0.5, 0.5))
    found = leak_check(features(cheat), references, corruptions)
    assert found.leaked == ["imagenet-c/impulse_noise"]
    rows = {row["corruption"]: row for row in found.table().iter_rows(named=True)}
    noise = rows["imagenet-c/impulse_noise"]
    assert noise["covered"] > 0.75
    assert noise["msd"] < 0.5 * noise["reference_msd"]
    assert noise["reference"] in NEUTRAL
    honest = leak_check(features(FlipCrop(), seed=9), references, corruptions)
    assert honest.leaked == honest.nearer == []
    assert found.samples == samples


def test_the_check_blames_the_innocent_as_rarely_as_it_says() -> None:
    blamed = 0
    for _ in range(60):
        corruptions = CorruptionFeatures(
            tuple(Cell(f"c{i}", 1.0) for i in range(4)), RNG.normal(0, 1, (4, 10, 5)).astype(np.float32)
        )
        mine, theirs = RNG.normal(0, 1, (2, 200, 5))
        blamed += bool(leak_check(mine, {"same": theirs}, corruptions, permutations=499).nearer)
    assert blamed <= 8  # of 60 at 5 %; more than 8 come by chance once in 500


def test_scores_with_and_without_what_was_leaked(tmp_path: Path) -> None:
    images = RNG.integers(0, 256, (20, 32, 32, 3), np.uint8)
    dataset = arrays(images, np.arange(20) % 10, [str(i) for i in range(10)])
    results = evaluate(network(), dataset, THREE, tmp_path)
    table = leak_scores(results, THREE, ["imagenet-c/fog"], resamples=50)
    assert table["corruptions"].to_list() == ["all", "kept", "leaked"]
    assert table["count"].to_list() == [3, 2, 1]
    everything, kept, leaked = table["mean_accuracy"]
    assert everything == pytest.approx((2 * kept + leaked) / 3)
    accuracy = {(row[1], row[2]): row[4] for row in results.accuracy().rows()}
    fog = np.mean([accuracy["imagenet-c/fog", level] for level in (2.0, 4.0)])
    assert leaked == pytest.approx(fog)
    assert leak_scores(results, THREE, [], resamples=50)["corruptions"].to_list() == ["all", "kept"]
    with pytest.raises(BrittleError, match=naming("imagenet-c/fogg", "three")):
        leak_scores(results, THREE, ["imagenet-c/fogg"])


def test_a_corruption_that_moves_nothing_is_not_covered() -> None:
    values = np.stack([np.zeros((3, 5)), np.ones((3, 5))]).astype(np.float32)
    corruptions = CorruptionFeatures((Cell("nothing", 0.0), Cell("something", 1.0)), values)
    mine, theirs = RNG.normal(1, 0.1, (50, 5)), RNG.normal(0, 0.1, (50, 5))
    first, second = leak_check(mine, {"r": theirs}, corruptions, permutations=99).leaks
    assert (first.covered, first.reference_covered) == (0, 0)
    assert second.covered > 0.9 > second.reference_covered
    np.testing.assert_allclose(covered([0.5, 3, 0], [2, 2, 0]), [0.75, -0.5, 0])


@pytest.mark.parametrize(
    ("how", "values"),
    [
        ({"references": {}}, ("reference", "none")),
        ({"margin": 0}, ("margin", 0, 1)),
        ({"alpha": 1}, ("alpha", 0, 1)),
        ({"blocks": 500}, ("blocks", 2, 50, 500)),
        ({"blocks": 1}, ("blocks", 2, 50, 1)),
    ],
)
def test_bad_input_is_named(how: dict, values: tuple) -> None:
    corruptions = CorruptionFeatures((Cell("c", 1.0),), np.ones((1, 3, 5), np.float32))
    given = {"references": {"r": np.zeros((60, 5))}, **how}
    with pytest.raises(BrittleError, match=naming(*values)):
        leak_check(np.zeros((50, 5)), corruptions=corruptions, **given)
