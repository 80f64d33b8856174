"""How evenly a benchmark weighs its parts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True)
class Balance:
    """Largest minus smallest value, and the population standard deviation: both 0 if perfectly balanced."""

    range: float
    std: float

    def __str__(self) -> str:
        return f"range {self.range:.3g}, standard deviation {self.std:.3g}"


def balance(values: ArrayLike) -> Balance:
    """The dispersion of one score a part, as NOC's Table 2: scores of models, each trained with one corruption.

    Syn2Nat takes the same standard deviation of the numbers of corruptions in each represented category.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not array.size or not np.isfinite(array).all():
        raise ValueError(f"balance is of a vector of finite numbers, got shape {array.shape}")
    return Balance(float(np.ptp(array)), float(array.std()))
