"""AugMix: chains of base augmentations, mixed with each other and with the image."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from brittle.arrays import Image
from brittle.corruptions.draws import Draws, check_seed
from brittle.training.augmentation.base import BASES, COLOUR, GEOMETRIC, LOWEST, Base

WIDTH, DEPTH = 3, 3


@dataclass(frozen=True)
class AugMix:
    """(1−m)·x + m·Σ wᵢ·chainᵢ(x), with w ~ Dirichlet(1, 1, 1), m ~ U(0, 1), and chains of one to three steps.

    Each step is one of `bases`, at a level uniform from 0.1 to `severity`. Without bases images stay as they are. The
    mix is float32 on 0..255 and not rounded, as in the authors' code.
    """

    takes_stacks: ClassVar[bool] = True

    bases: tuple[str, ...] = tuple(BASES)
    severity: float = 3.0

    def __post_init__(self) -> None:
        unknown = [name for name in self.bases if name not in BASES]
        if unknown:
            raise ValueError(f"there is no augmentation {', '.join(unknown)}; there are: {', '.join(BASES)}")
        if not self.severity > LOWEST:
            raise ValueError(f"severity must be above {LOWEST}, got {self.severity}")

    def __call__(self, image: Image, draws: Draws) -> NDArray[np.float32]:
        """One augmented image; equal draws give the same transform of any image, and of a stack of them."""
        if not self.bases:
            return image.astype(np.float32)
        weights = _dirichlet([draws.uniform(f"weight {i}") for i in range(WIDTH)])
        share = draws.uniform("share")
        mixed = image * np.float32(1 - share)
        for i, weight in enumerate(weights):
            mixed += np.float32(share * weight) * self._chain(image, draws, i)
        return mixed

    def _chain(self, image: Image, draws: Draws, i: int) -> Image:
        for step in range(1 + draws.integer(f"depth {i}", DEPTH)):
            where = f"{i}.{step}"
            base: Base = BASES[self.bases[draws.integer(f"base {where}", len(self.bases))]]
            level = draws.uniform(f"level {where}", LOWEST, self.severity)
            image = base(image, level, 1.0 if draws.integer(f"sign {where}", 2) else -1.0)
        return image


def powerset() -> list[AugMix]:
    """The 512 schemes of the paper: every subset of the nine bases, at severity 3, the empty one first."""
    names = list(BASES)
    return [AugMix(tuple(_chosen(names, bits))) for bits in range(2 ** len(names))]


def some_schemes(count: int, *, seed: int = 0) -> dict[str, AugMix]:
    """So many schemes of the powerset by name: none, all geometric bases, all colours and all; the others are drawn."""
    rest = powerset()
    always = [AugMix(()), AugMix(tuple(GEOMETRIC)), AugMix(tuple(COLOUR)), AugMix()]
    if not len(always) <= count <= len(rest):
        raise ValueError(f"take {len(always)} to {len(rest)} schemes of the powerset, got {count}")
    known = {frozenset(scheme.bases) for scheme in always}
    drawn = [scheme for scheme in rest if frozenset(scheme.bases) not in known]
    places = {scheme: Draws(check_seed(seed), "powerset", "+".join(scheme.bases)).uniform("place") for scheme in drawn}
    chosen = [*always, *sorted(drawn, key=places.__getitem__)[: count - len(always)]]
    return {"+".join(scheme.bases) or "none": scheme for scheme in chosen}


def _chosen(names: Collection[str], bits: int) -> list[str]:
    return [name for i, name in enumerate(names) if bits >> i & 1]


def _dirichlet(uniforms: list[float]) -> list[float]:
    """Dirichlet(1, …, 1): exponential draws, over their sum."""
    exponentials = [-math.log1p(-u) for u in uniforms]
    return [e / sum(exponentials) for e in exponentials]
