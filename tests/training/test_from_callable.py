"""Anybody's callable as a fixed transform."""

import random
from collections.abc import Callable

import numpy as np
import pytest
import torch
from augmented_images import PHOTOS

from brittle.training.augmentation import AugMix, FromCallable, fixed


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
