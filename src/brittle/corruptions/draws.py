"""Addressed randomness: every draw has a name, and no draw depends on another."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np

from brittle._errors import BrittleTypeError
from brittle._types import Key

Sample = int | str
"""The id of an image: its index in a dataset, or its file name."""


UINT64 = np.dtype("<u8")


class Draws:
    """The random numbers of one (seed, corruption, sample), each stream addressed by a name.

    Severity, batch, order, thread, process and machine are not part of the address, so the same flakes fall at
    every severity and on every machine. Large fields come from `key`, which a kernel turns into any
    number of random words by counting (see kernels/random_words.py); NumPy's generators are never used.
    """

    __slots__ = ("_address",)

    def __init__(self, seed: int, corruption: str, sample: Sample) -> None:
        kind = "s" if isinstance(sample, str) else "i"
        self._address = f"{seed}\0{corruption}\0{kind}{sample}\0"

    @property
    def name(self) -> str:
        """A unique name of these draws, usable as a sample id."""
        return self._address.replace("\0", "/")

    def _digest(self, name: str) -> bytes:
        address = (self._address + name).encode("utf-8", "surrogateescape")  # file names may be any bytes
        return blake2b(address, digest_size=16).digest()

    def key(self, name: str) -> Key:
        """The two words that address one stream inside a compiled kernel."""
        return np.frombuffer(bytearray(self._digest(name)), dtype=UINT64)

    def uniform(self, name: str, low: float = 0.0, high: float = 1.0) -> float:
        """One number, uniform on [low, high)."""
        fraction = (int.from_bytes(self._digest(name)[:8], "little") >> 11) * 2.0**-53
        return low + (high - low) * fraction

    def integer(self, name: str, count: int) -> int:
        """One whole number, uniform on 0 … count−1."""
        return int(self.uniform(name) * count)


def check_sample(sample: object) -> Sample:
    """The sample id as a plain int or str."""
    if isinstance(sample, str):
        return str(sample)
    if isinstance(sample, int | np.integer) and not isinstance(sample, bool):
        return int(sample)
    raise BrittleTypeError(f"a sample id is a whole number or a string, got {sample!r} ({type(sample).__name__})")
