"""The reference model of mCE: its mean error on each corruption."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from brittle.metrics.fraction import Floats, fractions
from brittle.metrics.tables import Table, published

BASELINES = {
    "alexnet-imagenet-c": (
        "imagenet-c-alexnet",
        ("corruption", "error", 0.435),
        "AlexNet on the released ImageNet-C (Hendrycks & Dietterich 2019)",
    ),
    "alexnet-imagenet-noc": (
        "noc-candidates",
        ("name", "alexnet_error", 0.435),
        "AlexNet on ImageNet-NOC (Laugros et al. 2020)",
    ),
    "reference-cifar10-c": (
        "cifar10-c-reference",
        ("corruption", "error", 0.05334),
        "CIFAR-10 reference network of the code of C-bar (Mintun et al. 2021)",
    ),
}
"""Each published baseline: its table, the columns of names and errors with the clean error, and what it is."""


@dataclass(frozen=True)
class Baseline:
    """A reference model: its clean error, and its error on each corruption, averaged over severities.

    `about` says which network it is and who measured it. The clean error is NaN if no clean images were run: then there
    is an mCE, but no relative mCE.
    """

    name: str
    clean_error: float
    errors: Mapping[str, float]
    about: str = ""

    def __post_init__(self) -> None:
        known = [] if math.isnan(self.clean_error) else [self.clean_error]
        fractions([*known, *self.errors.values()], f"an error of the baseline {self.name!r}")

    @property
    def title(self) -> str:
        """What a reader is told: the name, and which network that is."""
        return f"{self.name}: {self.about}" if self.about else self.name

    def of(self, corruptions: Sequence[str]) -> Floats:
        """The errors in the order of these corruptions, named with or without their source."""
        names = [name if name in self.errors else name.rpartition("/")[2] for name in corruptions]
        missing = [name for name in names if name not in self.errors]
        if missing:
            raise ValueError(
                f"the baseline {self.name!r} has no error for {', '.join(missing)}; it has: {', '.join(self.errors)}"
            )
        return np.array([self.errors[name] for name in names])


def baseline(name: str = "alexnet-imagenet-c") -> Baseline:
    """A published baseline by its name."""
    if name not in BASELINES:
        raise ValueError(f"there is no baseline {name!r}; there are: {', '.join(BASELINES)}")
    table, (key, column, clean), about = BASELINES[name]
    read: Table = published(table)
    return Baseline(name, clean, dict(zip(read.text(key), map(float, read.numbers(column)), strict=True)), about)
