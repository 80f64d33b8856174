"""Anybody's callable as a fixed transform."""

import random
from collections.abc import Callable

import numpy as np
import pytest
import torch

from brittle import BrittleError
from brittle.corruptions import Draws
from brittle.training.augmentation import AugMix, FromCallable, Mixture, fixed
from brittle.training.augmentation.user_schemes import FromFile
from brittle.training.loading import batches
from brittle.training.trainer import TrainingConfig as TrainingRecipe
from tests.errors import naming
from tests.training.augmented_images import PHOTOS


def jitter(image: np.ndarray) -> np.ndarray:
    shift = random.uniform(-20, 20) + np.random.normal(0, 5) + torch.randn(()).item()  # noqa: NPY002
    return np.clip((image.astype(np.float32) + shift) / 255, 0, 1)


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
    with pytest.raises(BrittleError, match=naming("default_rng")):
        fixed(FromCallable(lambda image: np.roll(image, rng.integers(1, 99), 0), name="free"), 0, 0)(PHOTOS)
    with pytest.raises(BrittleError, match=naming(28, 3, 32)):
        fixed(FromCallable(lambda image: image[2:-2, 2:-2], name="crop"), 0, 0)(PHOTOS)
    with pytest.raises(BrittleError, match=naming("jpeg")):
        FromCallable(jitter, name="x", takes="jpeg")
    with pytest.raises(TypeError, match=naming(3)):
        FromCallable(3, name="x")  # type: ignore[arg-type]
    with pytest.raises(BrittleError, match=naming("N×H×W×3", "(32, 32, 3)")):
        fixed(AugMix(), 0, 0)(PHOTOS[0])


def one_float_image(image: np.ndarray, _: Draws) -> np.ndarray:
    """The image in [0, 1], with the rounding errors of somebody's resizing."""
    return image / 255 + np.linspace(-1e-4, 1e-4, image.size).reshape(image.shape)


def schemes(function: Callable) -> list[Callable]:
    """The same function in every way in which somebody's code comes in."""
    return [
        FromCallable(lambda image: function(image, None), name="mine"),
        FromFile(function, "mine", "1"),
        function,
        Mixture((function,)),
    ]


@pytest.mark.parametrize("way", range(4))
def test_floats_are_in_0_to_1_whichever_way_they_come_in(way: int) -> None:
    np.testing.assert_allclose(fixed(schemes(one_float_image)[way], 0, 0)(PHOTOS), PHOTOS, atol=0.05)


@pytest.mark.parametrize("way", range(4))
@pytest.mark.parametrize(
    ("function", "values"),
    [
        (lambda image, _: image.astype(np.float32), (255, "[0, 1]", "uint8")),
        (lambda image, _: image / 255 * 2 - 1, ("-0.898039", 1, "[0, 1]")),
        (lambda image, _: image.astype(np.int32) - 300, (-287, -45, 0, 255)),
        (lambda image, _: image // 255, ("black", 255, "[0, 1]")),
        (lambda image, _: (image / 255).astype(np.uint8), ("black", 255, "[0, 1]")),
        (lambda image, _: image / 255 * 0, ("black", 255, "[0, 1]")),
        (lambda image, _: np.full(image.shape, np.nan), ("not numbers", "[0, 1]")),
    ],
)
def test_other_values_are_refused_by_the_augmentations_name(function: Callable, values: tuple, way: int) -> None:
    with pytest.raises(BrittleError, match=naming("lambda" if way > 1 else "'mine'", *values)):
        fixed(schemes(function)[way], 0, 0)(PHOTOS)


def test_a_black_image_may_stay_black() -> None:
    black = np.zeros_like(PHOTOS)
    assert not fixed(FromCallable(lambda image: image, name="same"), 0, 0)(black).any()


def test_training_reads_floats_in_0_to_1_too() -> None:
    recipe = TrainingRecipe(batch_size=len(PHOTOS), flip=False, crop=0)
    (_, plain), (_, floats) = (next(batches(PHOTOS, recipe, augment, epoch=0)) for augment in (None, one_float_image))
    np.testing.assert_allclose(plain, floats, atol=0.01)
    with pytest.raises(BrittleError, match=naming("lambda", 255, "[0, 1]", "uint8")):
        next(batches(PHOTOS, recipe, lambda image, _: image * 1.0, epoch=0))
