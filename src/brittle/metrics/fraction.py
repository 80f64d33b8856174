"""Accuracies and errors are fractions between 0 and 1 here; percents are for printing."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
"""An array of real numbers; a 0-dimensional one prints and computes like a float."""


def fractions(values: ArrayLike, what: str) -> Floats:
    """The values as float64, or one sentence if any lies outside 0 … 1 or is not a number."""
    array = np.asarray(values, dtype=np.float64)
    if array.size == 0:
        raise ValueError(f"{what} is empty; give at least one number")
    good = (array >= 0) & (array <= 1)
    if not good.all():
        odd = float(array[~good].flat[0])
        raise ValueError(f"{what} must lie between 0 and 1, got {odd:g}; divide percents by 100")
    return array


def right_or_wrong(correct: ArrayLike, what: str = "correct") -> NDArray[np.bool_]:
    """The rows as booleans, or one sentence if they are anything but True/False or 1/0."""
    array: NDArray[Any] = np.asarray(correct)
    if array.size == 0:
        raise ValueError(f"{what} is empty; give at least one sample")
    if array.dtype != np.bool_ and not np.isin(array, (0, 1)).all():
        raise ValueError(f"{what} holds True or False (1 or 0) for each sample, got values such as {array.flat[0]!r}")
    return array.astype(np.bool_)


def check_level(level: float) -> float:
    """A confidence level strictly between 0 and 1."""
    if not 0 < level < 1:
        raise ValueError(f"a confidence level lies between 0 and 1, such as 0.95, got {level!r}")
    return float(level)


def divide(numerator: ArrayLike, denominator: ArrayLike, what: str) -> Floats:
    """The ratio, or one sentence where it would divide by zero."""
    below = np.asarray(denominator, dtype=np.float64)
    if (below == 0).any():
        raise ValueError(f"{what} is 0, so the ratio is undefined; leave that cell out or choose another baseline")
    return np.asarray(np.asarray(numerator, dtype=np.float64) / below)
