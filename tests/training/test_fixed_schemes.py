"""Augmentation schemes as fixed transforms of many images: windows of noise, mixtures, flips and crops."""

import copy

import numpy as np
import pytest

from brittle import BrittleError
from brittle._identity import digest
from brittle.benchmarks import Benchmark, Entry
from brittle.corruptions import Draws
from brittle.training import Corrupted, TrainingConfig
from brittle.training.augmentation import AugMix, AutoAugment, FlipCrop, Mixture, PatchGaussian, RandomAffine, fixed
from brittle.training.loading import moved
from tests.errors import naming
from tests.training.augmented_images import PHOTOS, STACK

BENCHMARK = Benchmark("two", (Entry("imagenet-c/fog", (3.0,)), Entry("imagenet-c/gaussian_noise", (3.0,))))


SCHEMES = {
    "augmix": AugMix(),
    "autoaugment cifar10": AutoAugment("cifar10"),
    "autoaugment imagenet": AutoAugment("imagenet"),
    "patch gaussian": PatchGaussian.cifar(),
    "flip crop": FlipCrop(),
    "affine": RandomAffine(),
    "mixture": Mixture((AugMix(), Corrupted(BENCHMARK, share=1.0)), (0.5, 0.5)),
    "corruptions": Corrupted(BENCHMARK),
}


@pytest.mark.parametrize("name", SCHEMES)
def test_a_fixed_transform_does_to_a_stack_what_it_does_to_each_image(name: str) -> None:
    scheme = SCHEMES[name]
    changed = 0
    for index in range(30):
        together = fixed(scheme, 7, index)(STACK)
        alone = np.stack([scheme(image, Draws(7, "augmentation", index)) for image in STACK])
        np.testing.assert_array_equal(together, alone)
        np.testing.assert_array_equal(together, fixed(scheme, 7, index)(STACK))
        changed += bool((together != STACK).any())
    assert changed > 10
    assert digest(scheme) == digest(copy.deepcopy(scheme))


def test_patch_gaussian_is_noise_in_a_window() -> None:
    grey = np.full((32, 32, 3), 128, np.uint8)
    areas, spreads = [], []
    for i in range(200):
        noisy = PatchGaussian.cifar()(grey, Draws(0, "augmentation", i))
        changed = (noisy != 128).any(-1)
        rows, columns = np.flatnonzero(changed.any(1)), np.flatnonzero(changed.any(0))
        areas.append((np.ptp(rows) + 1, np.ptp(columns) + 1))
        assert changed[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1].mean() > 0.9
        spreads.append(np.std(noisy[changed] - 128))
    assert np.max(areas) == 25  # cut at the border, so 13 to 25 pixels
    assert np.min(areas) >= 12
    assert 0 <= noisy.min() <= noisy.max() <= 255
    assert min(spreads) < 10
    assert max(spreads) > 90
    whole = PatchGaussian(None, 0.1)(grey, Draws(0, "augmentation", 1))
    assert (whole != 128).mean() > 0.99
    assert PatchGaussian.imagenet().width == (0, 250)
    for bad in ({"width": -1}, {"width": (5, 2)}, {"sigma": -0.1}):
        with pytest.raises(BrittleError, match=naming(*bad, *bad.values())):
            PatchGaussian(**bad)


def test_mixtures_pick_by_weight_and_keep_each_schemes_own_samples() -> None:
    parts = FlipCrop(), PatchGaussian.cifar()
    few, many = Mixture(parts, (0.9, 0.1)), Mixture(parts, (0.2, 0.8))
    draws = [Draws(0, "augmentation", i) for i in range(1000)]
    noisy = [np.array([mix.picked(one) is parts[1] for one in draws]) for mix in (few, many)]
    assert abs(noisy[0].mean() - 0.1) < 0.03
    assert abs(noisy[1].mean() - 0.8) < 0.04
    assert noisy[1][noisy[0]].all()
    i = int(np.flatnonzero(noisy[0])[0])
    np.testing.assert_array_equal(few(PHOTOS, draws[i]), parts[1](PHOTOS, draws[i]))
    nested = Mixture((few, AugMix()), (1, 3))
    assert nested.schemes == (*parts, AugMix())
    assert nested.weights == pytest.approx((0.225, 0.025, 0.75))
    assert Mixture(parts, (0, 2)).picked(draws[0]) is parts[1]
    for bad, values in (((), ("scheme", "none")), (((1,),), ("weights", 2, 1)), (((0, 0),), ("weights", 0, "(0, 0)"))):
        with pytest.raises(BrittleError, match=naming(*values)):
            Mixture(parts if bad else (), *bad)


def test_flip_and_crop_are_the_trainers() -> None:
    for i in range(20):
        draws = Draws(3, "epoch 1", i)
        np.testing.assert_array_equal(FlipCrop()(PHOTOS[0], draws), moved(PHOTOS[0], draws, TrainingConfig(crop=4)))


def test_random_affines_are_small_and_leave_nothing_out() -> None:
    np.testing.assert_array_equal(RandomAffine(0, 0, 0)(PHOTOS, Draws(0, "a", 0)), PHOTOS)
    white = np.full((64, 64, 3), 255, np.uint8)
    kept = [(RandomAffine()(white, Draws(0, "a", i)) > 0).mean() for i in range(50)]
    assert min(kept) > 0.85
    assert len(set(kept)) > 30
