"""How loops are compiled, and the arithmetic that gives the same bits on every machine."""

from __future__ import annotations

import gc
import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numba import njit
from numba.core import event
from numpy.typing import NDArray

from brittle._parallel import cores
from brittle._types import Field, Image, Pixels

HOW: dict[str, Any] = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
"""No loop is called from C, so none needs the code for it, which would have to be compiled too."""


class _WithoutGarbageCollection(event.Listener):
    """Pause the search for garbage while a loop is compiled: it finds next to none, and takes an eighth of the time."""

    def __init__(self) -> None:
        self.running = 0
        self.enabled = False

    def on_start(self, event: event.Event) -> None:  # noqa: ARG002
        if not self.running:
            self.enabled = gc.isenabled()
            gc.disable()
        self.running += 1

    def on_end(self, event: event.Event) -> None:  # noqa: ARG002
        self.running -= 1
        if not self.running and self.enabled:
            gc.enable()


event.register("numba:compile", _WithoutGarbageCollection())


def _compiler(**options: Any) -> Callable[[Any], Any]:
    """A compiling decorator that caches machine code on disk, if a cache folder is writable."""

    def decorate(function: Any) -> Any:
        try:
            return njit(cache=True, **HOW, **options)(function)
        except RuntimeError:  # neither the package, nor the home folder, nor NUMBA_CACHE_DIR can be written to
            return njit(**HOW, **options)(function)

    return decorate


compiled = _compiler()
inlined = _compiler(inline="always")


LARGE = 1 << 22
"""From so many pixels on, one picture is worth all processors; many smaller ones are better drawn side by side."""


def in_bands(draw: Callable[[int, int], object], height: int, pixels: int) -> None:
    """Call draw(first, end) for all rows of a picture, in as many bands as there are processors if it is large.

    Rows must not depend on each other; then neither do the pixels on the number of bands.
    """
    count = min(cores(), height) if pixels >= LARGE else 1
    if count == 1:
        draw(0, height)
        return
    ends = [height * i // count for i in range(count + 1)]
    with ThreadPoolExecutor(count) as threads:
        list(threads.map(draw, ends[:-1], ends[1:]))


@inlined
def level(value):
    """A grey level, clipped to 0…255; an array of bytes truncates it, as the published code does."""
    return min(max(value, np.float32(0)), np.float32(255))


@inlined
def rounding(out):
    """What is added to a level so that an array of bytes rounds it, halves up; nothing for floats."""
    return np.float32(0.5) if out.itemsize == 1 else np.float32(0)


@inlined
def to_byte(value):
    """Clip to 0…255 and truncate, as the published code does everywhere; it never rounds."""
    return np.uint8(np.int32(min(max(value, np.float32(0)), np.float32(255))))


def truncate(field: Field, like: Pixels) -> Pixels:
    """A whole float32 array as an image of the type of another: bytes, or clipped grey levels with their fractions."""
    if like.dtype != np.uint8:
        return np.clip(field, 0, 255)
    out = np.empty(field.shape, np.uint8)
    _truncate(field.reshape(-1), out.reshape(-1))
    return out


@compiled
def _truncate(source, target):
    for i in range(len(source)):
        target[i] = to_byte(source[i])


def rounded(field: Field, like: Pixels) -> Pixels:
    """Likewise, of grey levels within 0…255; bytes are rounded, halves to even, and nothing is clipped."""
    if like.dtype != np.uint8:
        return field
    out = np.empty(field.shape, np.uint8)
    _round(field.reshape(-1), out.reshape(-1))
    return out


@compiled
def _round(source, target):
    for i in range(len(source)):
        target[i] = np.uint8(np.int32(np.rint(source[i])))


def rounded_to(values: NDArray[Any], like: Pixels) -> Pixels:
    """Any array of grey levels within 0…255 as an image of the type of another; bytes are rounded, halves to even."""
    return (np.rint(values) if like.dtype == np.uint8 else values).astype(like.dtype)


@inlined
def to_nearest_byte(value):
    """Clip to 0…255 and round to nearest, halves up."""
    return np.uint8(np.int32(min(max(value, np.float32(0)), np.float32(255)) + np.float32(0.5)))


def nearest_bytes(values: NDArray[np.floating[Any]]) -> Image:
    """Clip an array of grey levels and round it to nearest, halves up."""
    return np.asarray(np.floor(np.clip(values, 0, 255) + 0.5), np.uint8)


def mix(image: Pixels, other: NDArray[Any], weight: float) -> Pixels:
    """(1−w)·image + w·other; `other` is uint8 or float32 of the same shape, in grey levels. Bytes are rounded."""
    return _mix(image, other, np.float32(weight))


@compiled
def _mix(image, other, weight):
    out = np.empty(image.shape, image.dtype)
    a, b, target = image.reshape(-1), other.reshape(-1), out.reshape(-1)
    kept = np.float32(1) - weight
    half = rounding(target)
    for i in range(target.size):
        target[i] = level(kept * np.float32(a[i]) + weight * np.float32(b[i])) + half
    return out


@compiled
def add_scaled(target, factor, source):
    """target += factor·source, for rows."""
    for i in range(len(target)):
        target[i] += factor * np.float32(source[i])


PI = math.pi
PER_HALF_TURN = 1 / math.pi
S3, S5, S7, S9, S11, S13, S15 = ((-1) ** (n // 2) / math.factorial(n) for n in range(3, 16, 2))
C2, C4, C6, C8, C10, C12, C14, C16 = ((-1) ** (n // 2) / math.factorial(n) for n in range(2, 17, 2))
T3, T5, T7, T9, T11, T13, T15, T17, T19, T21 = ((-1) ** (n // 2) / n for n in range(3, 22, 2))
TAN_EIGHTH = math.tan(math.pi / 8)


@inlined
def sine(x):
    """sin x, from its Taylor series within a quarter turn of 0."""
    half_turns = np.floor(x * PER_HALF_TURN + 0.5)
    sign = 1.0 - 2.0 * (half_turns - 2.0 * np.floor(0.5 * half_turns))
    r = x - half_turns * PI
    q = r * r
    tail = S9 + q * (S11 + q * (S13 + q * S15))
    return sign * (r + r * (q * (S3 + q * (S5 + q * (S7 + q * tail)))))


@inlined
def cosine(x):
    """cos x."""
    half_turns = np.floor(x * PER_HALF_TURN + 0.5)
    sign = 1.0 - 2.0 * (half_turns - 2.0 * np.floor(0.5 * half_turns))
    r = x - half_turns * PI
    q = r * r
    tail = C10 + q * (C12 + q * (C14 + q * C16))
    return sign * (1.0 + q * (C2 + q * (C4 + q * (C6 + q * (C8 + q * tail)))))


@inlined
def angle(across, along):
    """atan2(across, along), in radians on [−π, π]; 0 where both are 0."""
    a, b = abs(across), abs(along)
    large, small = max(a, b), min(a, b)
    steep = small > TAN_EIGHTH * large  # then it is measured from the diagonal
    t = ((small - large) if steep else small) / (((small + large) if steep else large) + 1e-300)
    q = t * t
    tail = T11 + q * (T13 + q * (T15 + q * (T17 + q * (T19 + q * T21))))
    turn = t + t * (q * (T3 + q * (T5 + q * (T7 + q * (T9 + q * tail)))))
    turn += 0.25 * PI if steep else 0.0
    turn = 0.5 * PI - turn if a > b else turn
    turn = PI - turn if along < 0.0 else turn
    return -turn if across < 0.0 else turn
