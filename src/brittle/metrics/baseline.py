"""The reference model of mCE: its mean error on each corruption."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from brittle.metrics.fraction import Floats, fractions
from brittle.metrics.tables import Table, published

BASELINES = {
    "alexnet-imagenet-c": ("imagenet-c-alexnet", "corruption", "error", 0.435),
    "alexnet-imagenet-noc": ("noc-candidates", "name", "alexnet_error", 0.435),
    "reference-cifar10-c": ("cifar10-c-reference", "corruption", "error", 0.05334),
}


@dataclass(frozen=True)
class Baseline:
    """A reference model: its clean error, and its error on each corruption, averaged over severities."""

    name: str
    clean_error: float
    errors: Mapping[str, float]

    def __post_init__(self) -> None:
        fractions([self.clean_error, *self.errors.values()], f"an error of the baseline {self.name!r}")

    def of(self, corruptions: Sequence[str]) -> Floats:
        """The errors in the order of these corruptions, named with or without their source."""
        names = [name.rpartition("/")[2] for name in corruptions]
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
    table, key, column, clean = BASELINES[name]
    read: Table = published(table)
    return Baseline(name, clean, dict(zip(read.text(key), map(float, read.numbers(column)), strict=True)))
