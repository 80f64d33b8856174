"""Anybody's augmentation as a scheme: torchvision, albumentations, or a function of one's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.training.augmentation.fixed import check_shape, grey_levels_of
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
        name: what reports and stored features call it; change `version` when what it does changes.
        takes: "array" for H×W×3 uint8, "pil" for a PIL image, "tensor" for a torch tensor 3×H×W of uint8, "named" for
            `function(image=array)["image"]` as in albumentations. What comes back may be any of these; floats are
            in [0, 1], and other values are refused.
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
                    "transform; let it draw from the global generators (random.random, np.random.normal, torch.rand), "
                    "not from one that it makes itself (np.random.default_rng()), or let it take the draws as a second "
                    "argument: def augment(image, draws), draws.uniform('angle', -30, 30)"
                )
        return changed

    def _called(self, image: Image, seed: int) -> NDArray[Any]:
        with seeded(seed):
            if hasattr(self.function, "set_random_seed"):
                self.function.set_random_seed(seed % 2**32)
            if self.takes == "named":
                given = self.function(image=image.copy())["image"]
            else:
                given = self.function(_shown(image, self.takes))
            return grey_levels_of(_array(given), image, repr(self.name))


def _shown(image: Image, takes: str) -> Any:
    if takes == "pil":
        from PIL import Image as Pil

        return Pil.fromarray(image)
    if takes == "tensor":
        import torch

        return torch.from_numpy(np.ascontiguousarray(image.transpose(2, 0, 1)))
    return image.copy()


def _array(given: Any) -> Any:
    """What came back, with its channels last."""
    if not hasattr(given, "detach"):
        return given
    array: NDArray[Any] = given.detach().cpu().numpy()
    if array.ndim != 3:
        raise ValueError(f"a tensor image is 3×H×W, the augmentation gave shape {array.shape}")
    return array.transpose(1, 2, 0)
