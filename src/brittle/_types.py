"""Types shared by all signatures, and checks of seeds, fractions, booleans and confidence levels; names of classes."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brittle._errors import BrittleError, BrittleTypeError

Image = NDArray[np.uint8]
"""An 8-bit image, H×W×C with C = 1 (grey) or 3 (RGB) in every corruption."""

Pixels = NDArray[Any]
"""An image in grey levels 0 … 255: 8-bit, or float32 with fractions where a corruption keeps the full depth."""

Progress = Callable[[str, int, int], None]
"""Called with (task, steps done, steps in all)."""

Field = NDArray[np.float32]
"""A real-valued image: a layer, a displacement field, an image before its truncation to 8 bit."""

Key = NDArray[np.uint64]
"""Two 64-bit words that address one stream of random numbers."""


FloatArray = NDArray[np.float64]
"""An array of real numbers; a 0-dimensional one prints and computes like a float."""


def check_seed(seed: object) -> int:
    """The seed as a plain int."""
    if type(seed) is int:
        return seed
    if isinstance(seed, int | np.integer) and not isinstance(seed, bool):
        return int(seed)
    raise BrittleTypeError(f"seed must be a whole number, got {seed!r} ({type(seed).__name__})")


def check_fractions(values: ArrayLike, name: str) -> FloatArray:
    """The values as float64; raise if any lies outside 0 … 1 or is NaN."""
    array = np.asarray(values, dtype=np.float64)
    if array.size == 0:
        raise BrittleError(f"{name} is empty; give at least one number")
    valid = (array >= 0) & (array <= 1)
    if not valid.all():
        invalid = float(array[~valid].flat[0])
        hint = "; divide percents by 100" if 1 < invalid <= 100 else ""
        raise BrittleError(f"{name} must lie between 0 and 1, got {invalid:g}{hint}")
    return array


def as_bool_array(correct: ArrayLike, name: str = "correct") -> NDArray[np.bool_]:
    """The values as booleans; raise if any is not True/False or 1/0."""
    array: NDArray[Any] = np.asarray(correct)
    if array.size == 0:
        raise BrittleError(f"{name} is empty; give at least one sample")
    if array.dtype != np.bool_ and not np.isin(array, (0, 1)).all():
        raise BrittleError(f"{name} holds True or False (1 or 0) for each sample, got values such as {array.flat[0]!r}")
    return array.astype(np.bool_)


def check_level(level: float) -> float:
    """The confidence level as a float; raise unless it lies strictly between 0 and 1."""
    if not 0 < level < 1:
        raise BrittleError(f"a confidence level lies between 0 and 1, such as 0.95, got {level!r}")
    return float(level)


def check_counts(**counts: int | None) -> None:
    """Raise if a number of things is given and below 1; a name with _ is also an option of the command line."""
    for name, count in counts.items():
        if count is not None and count < 1:
            raise BrittleError(f"{name} (--{name.replace('_', '-')}) must be at least 1, got {count}")


def divide(numerator: ArrayLike, denominator: ArrayLike, name: str) -> FloatArray:
    """The ratio; raise if any denominator is 0."""
    denominators = np.asarray(denominator, dtype=np.float64)
    if (denominators == 0).any():
        raise BrittleError(f"{name} is 0, so the ratio is undefined; leave that cell out or choose another baseline")
    return np.asarray(np.asarray(numerator, dtype=np.float64) / denominators)


def class_name(index: int, names: Sequence[str]) -> str:
    """The name of a class, or its number where it has none; a negative one is an output outside the data's classes."""
    if index < 0:
        return "none of the classes"
    return names[index] if index < len(names) else f"class {index}"


def printable(name: str) -> str:
    r"""A name as text that can be stored: bytes of a file name that are not UTF-8 are escaped, as in caf\xe9.png."""
    if name.isascii() or _is_text(name):
        return name
    try:
        return os.fsencode(name).decode("utf-8", "backslashreplace")
    except UnicodeEncodeError:  # half of a surrogate pair, which no file name gives
        return name.encode("utf-8", "backslashreplace").decode("utf-8")


def _is_text(name: str) -> bool:
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
