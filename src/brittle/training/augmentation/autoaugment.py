"""AutoAugment: one of 25 sub-policies of two operations (Cubuk et al. 2019, as the MSD paper uses it)."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import ClassVar

import numpy as np

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.datasets.near import nearest
from brittle.training.augmentation import enhance, grey_levels, warp

POLICIES = Path(__file__).parent / "policies"

OPERATIONS: dict[str, Callable[[Image, float], Image]] = {
    "invert": lambda images, _: grey_levels.invert(images),
    "autocontrast": lambda images, _: grey_levels.autocontrast(images),
    "equalize": lambda images, _: grey_levels.equalize(images),
    "posterize": lambda images, bits: grey_levels.posterize(images, int(bits)),
    "solarize": grey_levels.solarize,
    "brightness": grey_levels.brightness,
    "contrast": enhance.contrast,
    "colour": enhance.colour,
    "sharpness": enhance.sharpness,
    "rotate": warp.rotate,
    "shear_x": lambda images, by: warp.affine(images, (1, by, 0, 0, 1, 0)),
    "shear_y": lambda images, by: warp.affine(images, (1, 0, 0, by, 1, 0)),
    "translate_x": lambda images, by: warp.affine(images, (1, 0, by * np.shape(images)[-2], 0, 1, 0)),
    "translate_y": lambda images, by: warp.affine(images, (1, 0, 0, 0, 1, by * np.shape(images)[-3])),
}
"""From images and a magnitude to images; those without a magnitude ignore it."""


@dataclass(frozen=True)
class Operation:
    """What is done, how often, and how strongly: base ± value by a fair coin, or value alone where base is None."""

    name: str
    probability: float
    base: float | None
    value: float


@dataclass(frozen=True)
class AutoAugment:
    """One sub-policy of "cifar10" or "imagenet", each of its two operations applied with its own probability.

    Two slips of the published code are kept: one CIFAR translation has no sign, and one ImageNet shear is 1 ± 0.45.
    Cutout, which the authors of AutoAugment add, is left out as in the MSD paper. Geometry is bilinear, black outside.
    """

    takes_stacks: ClassVar[bool] = True

    policy: str = "cifar10"

    def __post_init__(self) -> None:
        known = sorted(path.stem for path in POLICIES.glob("*.csv"))
        if self.policy not in known:
            raise ValueError(f"AutoAugment has no policy {self.policy!r}; {nearest(self.policy, known)}")

    @property
    def sub_policies(self) -> tuple[tuple[Operation, ...], ...]:
        """The 25 pairs of operations."""
        return read_policy(self.policy)

    def __call__(self, image: Image, draws: Draws) -> Image:
        """An image, or a stack of images, under one sampled sub-policy."""
        chosen = self.sub_policies[draws.integer("policy", len(self.sub_policies))]
        for i, operation in enumerate(chosen):
            if draws.uniform(f"apply {i}") < operation.probability:
                image = OPERATIONS[operation.name](image, _magnitude(operation, draws, i))
        return image


def _magnitude(operation: Operation, draws: Draws, i: int) -> float:
    if operation.base is None:
        return operation.value
    return operation.base + (operation.value if draws.integer(f"sign {i}", 2) else -operation.value)


@cache
def read_policy(name: str) -> tuple[tuple[Operation, ...], ...]:
    """The sub-policies of a bundled table."""
    found: dict[int, list[Operation]] = {}
    with (POLICIES / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            base = float(row["base"]) if row["base"] else None
            one = Operation(row["operation"], float(row["probability"]), base, float(row["value"] or 0))
            found.setdefault(int(row["policy"]), []).append(one)
    return tuple(tuple(found[number]) for number in sorted(found))
