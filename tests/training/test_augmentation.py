"""Augmentation schemes: fixed transforms of many images, as Pillow and the published tables have them."""

import random
from collections.abc import Callable

import numpy as np
import pytest
import torch
from PIL import Image as Pil
from PIL import ImageEnhance, ImageOps
from PIL.Image import Resampling
from PIL.Image import Transform as Kind
from scipy.stats import entropy

from brittle.benchmarks import Benchmark, Entry
from brittle.corruptions.draws import Draws
from brittle.datasets import load_dataset
from brittle.training import Corrupted, Recipe
from brittle.training.augmentation import (
    BASES,
    AugMix,
    AutoAugment,
    FlipCrop,
    FromCallable,
    Mixture,
    PatchGaussian,
    RandomAffine,
    enhance,
    fixed,
    grey_levels,
    jsd_loss,
    scheme_by_name,
    warp,
)
from brittle.training.batches import _moved

RNG = np.random.default_rng(0)
PHOTOS = np.stack([load_dataset("demo").image(i) for i in range(12)])
STACK = np.concatenate(
    [
        PHOTOS,
        np.zeros((1, 32, 32, 3), np.uint8),
        np.full((1, 32, 32, 3), 255, np.uint8),
        RNG.integers(0, 256, (1, 32, 32, 3), np.uint8),
        RNG.integers(100, 103, (1, 32, 32, 3), np.uint8),
    ]
)
WIDE = RNG.integers(0, 256, (3, 20, 45, 3), np.uint8)
BENCHMARK = Benchmark("two", (Entry("imagenet-c/fog", (3.0,)), Entry("imagenet-c/gaussian_noise", (3.0,))))


def affine(*matrix: float) -> tuple[Callable, Callable]:
    return (
        lambda images: warp.affine(images, matrix),
        lambda p: p.transform(p.size, Kind.AFFINE, matrix, resample=Resampling.BILINEAR),
    )


def enhanced(ours: Callable, theirs: type, factor: float) -> tuple[Callable, Callable]:
    return lambda images: ours(images, factor), lambda picture: theirs(picture).enhance(factor)


OPERATIONS: dict[str, tuple[Callable, Callable]] = {
    "autocontrast": (grey_levels.autocontrast, ImageOps.autocontrast),
    "equalize": (grey_levels.equalize, ImageOps.equalize),
    "invert": (grey_levels.invert, ImageOps.invert),
    "posterize": (lambda images: grey_levels.posterize(images, 3), lambda p: ImageOps.posterize(p, 3)),
    "solarize": (lambda images: grey_levels.solarize(images, 204.8), lambda p: ImageOps.solarize(p, 204.8)),
    "shear x": affine(1, 0.07, 0, 0, 1, 0),
    "shear y": affine(1, 0, 0, -0.05, 1, 0),
    "translate x": affine(1, 0, 2.3, 0, 1, 0),
    "translate y": affine(1, 0, 0, 0, 1, -2.9),
    **{
        f"rotate {angle}": (
            lambda images, angle=angle: warp.rotate(images, angle),
            lambda p, angle=angle: p.rotate(angle, resample=Resampling.BILINEAR),
        )
        for angle in (0.3, -9.0, 27.0)
    },
    **{
        f"{ours.__name__} {factor}": enhanced(ours, theirs, factor)
        for factor in (0.19, 0.73, 1.0, 1.81)
        for ours, theirs in (
            (grey_levels.brightness, ImageEnhance.Brightness),
            (enhance.contrast, ImageEnhance.Contrast),
            (enhance.colour, ImageEnhance.Color),
            (enhance.sharpness, ImageEnhance.Sharpness),
        )
    },
}


@pytest.mark.parametrize("name", OPERATIONS)
def test_every_operation_on_a_stack_is_pillows_on_each_image(name: str) -> None:
    ours, theirs = OPERATIONS[name]
    for stack in (STACK, WIDE):
        expected = np.stack([np.asarray(theirs(Pil.fromarray(image))) for image in stack])
        np.testing.assert_array_equal(ours(stack), expected)
        np.testing.assert_array_equal(ours(stack[0]), expected[0])


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
    assert " at 0x" not in repr(scheme)


def test_the_nine_bases_follow_their_table() -> None:
    level, side = 2.7, 32
    for name, matrix in {
        "shear_x": (1, 0.03 * level, 0, 0, 1, 0),
        "shear_y": (1, 0, 0, -0.03 * level, 1, 0),
        "translate_x": (1, 0, level * side / 30, 0, 1, 0),
        "translate_y": (1, 0, 0, 0, 1, -level * side / 30),
    }.items():
        _, pillow = affine(*matrix)
        sign = -1.0 if min(matrix) < 0 else 1.0
        np.testing.assert_array_equal(BASES[name](PHOTOS[0], level, sign), np.asarray(pillow(Pil.fromarray(PHOTOS[0]))))
    turned = Pil.fromarray(PHOTOS[0]).rotate(3 * level, resample=Resampling.BILINEAR)
    np.testing.assert_array_equal(BASES["rotate"](PHOTOS[0], level, 1.0), np.asarray(turned))


PRINTED = {
    ("cifar10", 32): {
        1: (("invert", 0.1, None, 0), ("contrast", 0.2, 1, 0.54)),
        2: (("rotate", 0.7, 0, 6), ("translate_x", 0.3, 0, 13.0514)),
        6: (("shear_y", 0.2, 0, 0.21), ("posterize", 0.3, None, 6)),
        11: (("colour", 0.7, 1, 0.63), ("translate_x", 0.5, 0, 11.6012)),
        13: (("translate_y", 0.4, 0, 4.3505), ("sharpness", 0.2, 1, 0.54)),
        15: (("solarize", 0.5, None, 204.8), ("invert", 0, None, 0)),
        22: (("translate_y", 0.9, None, 13.0514), ("translate_y", 0.7, 0, 13.0514)),  # the slip: no sign
        25: (("translate_y", 0.7, 0, 13.0514), ("autocontrast", 0.9, None, 0)),
    },
    ("imagenet", 224): {
        1: (("posterize", 0.4, None, 7), ("rotate", 0.6, 0, 27)),
        9: (("rotate", 0.2, 0, 9), ("solarize", 0.6, None, 51.2)),
        15: (("colour", 0.6, 1, 0.36), ("contrast", 1, 1, 0.72)),
        18: (("sharpness", 0.4, 1, 0.63), ("invert", 0.6, None, 0)),
        19: (("shear_x", 0.6, 1, 0.45), ("equalize", 1, None, 0)),  # the slip: 1 ± 0.45
        25: (("equalize", 0.8, None, 0), ("equalize", 0.6, None, 0)),
    },
}


@pytest.mark.parametrize(("policy", "side"), PRINTED)
def test_autoaugment_has_the_printed_policies(policy: str, side: int) -> None:
    found = AutoAugment(policy).sub_policies
    assert len(found) == 25
    assert all(len(pair) == 2 for pair in found)
    for number, printed in PRINTED[policy, side].items():
        for operation, (name, probability, base, value) in zip(found[number - 1], printed, strict=True):
            assert (operation.name, operation.probability, operation.base) == (name, probability, base)
            scale = side if name.startswith("translate") else 1
            assert operation.value * scale == pytest.approx(value, abs=5e-5)
    with pytest.raises(ValueError, match="no policy 'imagnet'; did you mean 'imagenet'"):
        AutoAugment("imagnet")


def test_autoaugment_applies_each_operation_as_often_as_it_says() -> None:
    grey = np.tile(np.arange(256, dtype=np.uint8).reshape(16, 16, 1), 3)
    inverted = sum(
        np.array_equal(AutoAugment("imagenet")(grey, Draws(0, "augmentation", i)), 255 - grey) for i in range(4000)
    )
    # sub-policies 14 and 23 (invert 0.6, then equalize) and 18 (sharpness 0.4, invert 0.6); equalize keeps this ramp
    assert abs(inverted / 4000 - (0.6 + 0.6 + 0.6 * 0.6) / 25) < 0.015


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
        with pytest.raises(ValueError, match=r"width is|sigma must"):
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
    for bad, message in (((), "at least one"), (((1,),), "2 schemes need as many"), (((0, 0),), "not all 0")):
        with pytest.raises(ValueError, match=message):
            Mixture(parts if bad else (), *bad)


def test_flip_and_crop_are_the_trainers() -> None:
    for i in range(20):
        draws = Draws(3, "epoch 1", i)
        np.testing.assert_array_equal(FlipCrop()(PHOTOS[0], draws), _moved(PHOTOS[0], draws, Recipe(crop=4)))


def test_random_affines_are_small_and_leave_nothing_out() -> None:
    np.testing.assert_array_equal(RandomAffine(0, 0, 0)(PHOTOS, Draws(0, "a", 0)), PHOTOS)
    white = np.full((64, 64, 3), 255, np.uint8)
    kept = [(RandomAffine()(white, Draws(0, "a", i)) > 0).mean() for i in range(50)]
    assert min(kept) > 0.85
    assert len(set(kept)) > 30


def jitter(image: np.ndarray) -> np.ndarray:
    shift = random.uniform(-20, 20) + np.random.normal(0, 5) + torch.randn(()).item()  # noqa: NPY002
    return np.clip(image.astype(np.float32) + shift, 0, 255)


class Albumentations:
    """A stand-in: named arguments and a generator of its own."""

    def set_random_seed(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def __call__(self, image: np.ndarray) -> dict[str, np.ndarray]:
        return {"image": np.roll(image, int(self.rng.integers(1, 30)), 1)}


@pytest.mark.parametrize(
    ("function", "takes"),
    [
        (jitter, "array"),
        (lambda picture: picture.rotate(random.uniform(0, 90)), "pil"),
        (lambda tensor: tensor.float() / 255 * torch.rand(()), "tensor"),
        (lambda tensor: torch.roll(tensor, int(torch.randint(1, 30, ())), 2), "tensor"),
        (Albumentations(), "named"),
    ],
)
def test_anybodys_callable_becomes_a_fixed_transform(function: Callable, takes: str) -> None:
    scheme = FromCallable(function, name="mine", takes=takes)
    before = random.getstate(), np.random.get_state()[1].tobytes(), torch.random.get_rng_state()  # noqa: NPY002
    first, again, other = (fixed(scheme, 0, i)(PHOTOS) for i in (0, 0, 1))
    assert random.getstate() == before[0]
    assert np.random.get_state()[1].tobytes() == before[1]  # noqa: NPY002
    assert (torch.random.get_rng_state() == before[2]).all()
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()
    assert first.shape == PHOTOS.shape
    assert first.max() > 2  # on 0..255
    assert repr(scheme) == "FromCallable('mine', version='1')"


def test_what_cannot_be_a_fixed_transform_says_so() -> None:
    rng = np.random.default_rng()
    with pytest.raises(ValueError, match="gives another image when it is called again"):
        fixed(FromCallable(lambda image: np.roll(image, rng.integers(1, 99), 0), name="free"), 0, 0)(PHOTOS)
    with pytest.raises(ValueError, match=r"shape \(28, 28, 3\) from one of shape \(32, 32, 3\)"):
        fixed(FromCallable(lambda image: image[2:-2, 2:-2], name="crop"), 0, 0)(PHOTOS)
    with pytest.raises(ValueError, match="takes must be one of array, pil, tensor, named, got 'jpeg'"):
        FromCallable(jitter, name="x", takes="jpeg")
    with pytest.raises(TypeError, match="a callable on one image, got 3"):
        FromCallable(3, name="x")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="takes a stack"):
        fixed(AugMix(), 0, 0)(PHOTOS[0])


def test_the_jsd_loss_is_the_entropy_of_the_mean_minus_the_mean_entropy() -> None:
    logits = [torch.from_numpy(RNG.normal(0, 2, (5, 7))) for _ in range(3)]
    shares = [torch.softmax(one, 1).numpy() for one in logits]
    divergence = entropy(np.mean(shares, 0), axis=1) - np.mean([entropy(one, axis=1) for one in shares], 0)
    assert jsd_loss(*logits).item() == pytest.approx(12 * divergence.mean())
    labels = torch.tensor([0, 1, 2, 3, 4])
    clean = torch.nn.functional.cross_entropy(logits[0], labels).item()
    assert jsd_loss(*logits, labels).item() == pytest.approx(12 * divergence.mean() + clean)
    assert jsd_loss(logits[0], logits[0], logits[0]).item() == pytest.approx(0, abs=1e-12)
    sure = torch.tensor([[1000.0, 0.0]]).requires_grad_()
    jsd_loss(sure, -sure, sure).backward()
    assert torch.isfinite(sure.grad).all()
    with pytest.raises(ValueError, match=r"one shape, got \(5, 7\), \(5, 7\) and \(4, 7\)"):
        jsd_loss(logits[0], logits[1], logits[2][:4])


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("none", AugMix(())),
        ("flip-crop", FlipCrop()),
        ("augmix", AugMix()),
        ("augmix:rotate+shear_x", AugMix(("shear_x", "rotate"))),
        ("autoaugment-cifar10", AutoAugment("cifar10")),
        ("autoaugment-imagenet", AutoAugment("imagenet")),
        ("patch-gaussian", PatchGaussian(25, 1.0)),
    ],
)
def test_schemes_by_name(spec: str, expected: object) -> None:
    assert scheme_by_name(spec) == expected


def test_corruptions_by_name() -> None:
    scheme = scheme_by_name("corruptions:cifar10-c:fog+snow")
    assert isinstance(scheme, Corrupted)
    assert [entry.id for entry in scheme.entries] == ["imagenet-c/fog", "imagenet-c/snow"]
    assert len(scheme_by_name("corruptions:cifar10-c").entries) == 15  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("augmx", "there is no augmentation 'augmx'; did you mean 'augmix'"),
        ("augmix:rotat", "no base 'rotat'; did you mean 'rotate'"),
        ("augmix:", "names nothing after the colon"),
        ("corruptions:cifar10", "did you mean 'cifar10-c'"),
        ("something else", "An augmentation is one of none, flip-crop"),
    ],
)
def test_a_wrong_name_gets_a_hint(spec: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        scheme_by_name(spec)
