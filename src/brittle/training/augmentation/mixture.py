"""A mixture of schemes: each sample is one of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, ClassVar

from numpy.typing import NDArray

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.training.augmentation.fixed import Scheme, augmented, on_stack


@dataclass(frozen=True)
class Mixture:
    """One of several schemes, picked with probability proportional to its weight; equal weights if none are given.

    The pick is sample i's own, and the scheme that is picked gives the same transform i as it would alone. So mixtures
    of the same schemes in other proportions differ only in what is picked. A mixture in a mixture is taken apart.
    """

    takes_stacks: ClassVar[bool] = True

    schemes: tuple[Scheme, ...]
    weights: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not self.schemes:
            raise ValueError("a mixture needs at least one scheme, got none")
        weights = self.weights or (1.0,) * len(self.schemes)
        if len(weights) != len(self.schemes):
            raise ValueError(f"{len(self.schemes)} schemes need as many weights, got {len(weights)}")
        if not all(math.isfinite(weight) and weight >= 0 for weight in weights) or not sum(weights) > 0:
            raise ValueError(f"weights are numbers from 0 upwards and not all 0, got {weights}")
        parts = [
            (part, weight / sum(weights) * share)
            for scheme, weight in zip(self.schemes, weights, strict=True)
            for part, share in (
                zip(scheme.schemes, scheme.weights, strict=True) if isinstance(scheme, Mixture) else [(scheme, 1.0)]
            )
        ]
        object.__setattr__(self, "schemes", tuple(part for part, _ in parts))
        object.__setattr__(self, "weights", tuple(share for _, share in parts))

    def __call__(self, image: Image, draws: Draws) -> NDArray[Any]:
        """An image, or a stack of images, augmented by the scheme that these draws pick."""
        scheme = self.picked(draws)
        return augmented(scheme, image, draws) if image.ndim == 3 else on_stack(scheme, image, draws)

    def picked(self, draws: Draws) -> Scheme:
        """The scheme that these draws pick."""
        place = draws.uniform("scheme")
        possible = [(scheme, weight) for scheme, weight in zip(self.schemes, self.weights, strict=True) if weight]
        for (scheme, _), reached in zip(possible, accumulate(weight for _, weight in possible), strict=True):
            if place < reached:
                return scheme
        return possible[-1][0]  # the weights may add up to a little less than 1
