"""Anybody's augmentation as a scheme: torchvision, albumentations, or a function of one's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.training.augmentation.fixed import check_shape
from brittle.training.augmentation.seeded import seeded

KINDS = ("array", "pil", "tensor", "named")
CHECKED = 8
"""Calls that are made twice, to see whether the same seed gives the same image."""


class FromCallable:
    """A callable on one image that draws random numbers by itself.

    Its randomness cannot be addressed, only seeded: before each call the global generators of Python, NumPy and torch
    are seeded from the draws, and a `set_random_seed` of its own, as albumentations has, is called; afterwards the
    global states are what they were. Calls therefore wait for each other. Do not train a network that itself draws
    random numbers, such as dropout, while a thread calls this. The first calls are made twice, and one that does not
    give the same image again raises.

    Args:
        function: the callable.
        name: what reports and stored features call it; change `version` when what it does changes, for nobody can see
            that from outside.
        takes: "array" for H×W×3 uint8, "pil" for a PIL image, "tensor" for a torch tensor 3×H×W of uint8, "named" for
            `function(image=array)["image"]` as in albumentations. What comes back may be any of these; a float
            tensor is on [0, 1], a float array on 0..255.
    """

    def __init__(self, function: Callable[..., Any], *, name: str, version: str = "1", takes: str = "array") -> None:
        if not callable(function):
            raise TypeError(f"an augmentation is a callable on one image, got {function!r} ({type(function).__name__})")
        if takes not in KINDS:
            raise ValueError(f"takes must be one of {', '.join(KINDS)}, got {takes!r}")
        self.function, self.name, self.version, self.takes = function, name, version, takes
        self._unchecked = CHECKED

    def __repr__(self) -> str:
        return f"FromCallable({self.name!r}, version={self.version!r})"

    def __call__(self, image: Image, draws: Draws) -> NDArray[Any]:
        """One augmented image."""
        seed = int(draws.key("seed")[0])
        changed = self._called(image, seed)
        check_shape(self, image.shape, changed.shape)
        if self._unchecked > 0:
            self._unchecked -= 1
            if not np.array_equal(changed, self._called(image, seed)):
                raise ValueError(
                    f"{self!r} gives another image when it is called again with the same seeds, so it is no fixed "
                    "transform; let it draw from random, numpy.random or torch, or give it a set_random_seed method"
                )
        return changed

    def _called(self, image: Image, seed: int) -> NDArray[Any]:
        with seeded(seed):
            if hasattr(self.function, "set_random_seed"):
                self.function.set_random_seed(seed % 2**32)
            if self.takes == "named":
                return _array(self.function(image=image.copy())["image"])
            return _array(self.function(_shown(image, self.takes)))


def _shown(image: Image, takes: str) -> Any:
    if takes == "pil":
        from PIL import Image as Pil

        return Pil.fromarray(image)
    if takes == "tensor":
        import torch

        return torch.from_numpy(np.ascontiguousarray(image.transpose(2, 0, 1)))
    return image.copy()


def _array(given: Any) -> NDArray[Any]:
    """What came back, as H×W×3 on 0..255."""
    if hasattr(given, "detach"):
        array: NDArray[Any] = given.detach().cpu().numpy()
        if array.ndim != 3:
            raise ValueError(f"a tensor image is 3×H×W, the augmentation gave shape {array.shape}")
        array = array.transpose(1, 2, 0)
        return array if array.dtype == np.uint8 else array * np.float32(255)
    return np.asarray(given)
