"""The types of all signatures, and checks of seeds and of arrays of fractions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brittle._errors import BrittleError, BrittleTypeError

Image = NDArray[np.uint8]
"""An 8-bit image, H×W×C with C = 1 (grey) or 3 (RGB) wherever a corruption sees it."""

Progress = Callable[[str, int, int], None]
"""Called with (what is being done, how much of it is done, how much there is)."""

Field = NDArray[np.float32]
"""A real-valued picture: a layer, a displacement, an image before its final truncation to 8 bit."""

Key = NDArray[np.uint64]
"""Two words that address one stream of random numbers."""


FloatArray = NDArray[np.float64]
"""An array of real numbers; a 0-dimensional one prints and computes like a float."""


def check_seed(seed: object) -> int:
    """The seed as a plain int."""
    if isinstance(seed, int | np.integer) and not isinstance(seed, bool):
        return int(seed)
    raise BrittleTypeError(f"seed must be a whole number, got {seed!r} ({type(seed).__name__})")


def check_fractions(values: ArrayLike, what: str) -> FloatArray:
    """The values as float64, or one sentence if any lies outside 0 … 1 or is not a number."""
    array = np.asarray(values, dtype=np.float64)
    if array.size == 0:
        raise BrittleError(f"{what} is empty; give at least one number")
    good = (array >= 0) & (array <= 1)
    if not good.all():
        odd = float(array[~good].flat[0])
        raise BrittleError(f"{what} must lie between 0 and 1, got {odd:g}; divide percents by 100")
    return array


def as_bool_array(correct: ArrayLike, what: str = "correct") -> NDArray[np.bool_]:
    """The rows as booleans, or one sentence if they are anything but True/False or 1/0."""
    array: NDArray[Any] = np.asarray(correct)
    if array.size == 0:
        raise BrittleError(f"{what} is empty; give at least one sample")
    if array.dtype != np.bool_ and not np.isin(array, (0, 1)).all():
        raise BrittleError(f"{what} holds True or False (1 or 0) for each sample, got values such as {array.flat[0]!r}")
    return array.astype(np.bool_)


def check_level(level: float) -> float:
    """A confidence level strictly between 0 and 1."""
    if not 0 < level < 1:
        raise BrittleError(f"a confidence level lies between 0 and 1, such as 0.95, got {level!r}")
    return float(level)


def divide(numerator: ArrayLike, denominator: ArrayLike, what: str) -> FloatArray:
    """The ratio, or one sentence where it would divide by zero."""
    below = np.asarray(denominator, dtype=np.float64)
    if (below == 0).any():
        raise BrittleError(f"{what} is 0, so the ratio is undefined; leave that cell out or choose another baseline")
    return np.asarray(np.asarray(numerator, dtype=np.float64) / below)
