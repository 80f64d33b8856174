"""Random words by counting: word i of a stream is a hash of its key and i (SplitMix64, Steele et al. 2014).

Nothing is consumed, so any element can be drawn alone, in any order. The generator is our own, so the pixels do
not depend on NumPy's version. Normal variates are looked up by 16 random bits in the 65,536 quantiles of the
normal distribution: mean 0 and variance 1 exactly, largest |z| 4.3.
"""

from __future__ import annotations

from functools import cache
from statistics import NormalDist

import numpy as np

from brittle._types import Field, Key
from brittle.corruptions.kernels.arithmetic import compiled, inlined


@inlined
def word(key, i):
    """The i-th random 64-bit word of a stream."""
    z = key[0] + np.uint64(i) * (key[1] | np.uint64(1))
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@inlined
def unit(bits):
    """A float32 on [0, 1) from the top 24 bits of a word."""
    return np.float32(np.int32(bits >> np.uint64(40))) * np.float32(2.0**-24)


@inlined
def quarter(bits, which):
    """One of the four 16-bit quarters of a word, as an index into the table of normals."""
    return (bits >> np.uint64(16 * which)) & np.uint64(0xFFFF)


@cache
def normal_table() -> Field:
    """The 65,536 equally likely values of a standard normal variate."""
    normal = NormalDist()
    lower = np.array([normal.inv_cdf((i + 0.5) / 65536) for i in range(32768)])
    table = np.concatenate([lower, -lower[::-1]])
    # Rounded to 2⁻²⁰ so that the last bit of a platform's logarithm cannot matter.
    return (np.rint(table / table.std() * 2**20) / 2**20).astype(np.float32)


def normals(key: Key, height: int, width: int) -> Field:
    """A field of standard normal variates."""
    out = np.empty(height * width, np.float32)
    _normals(key, normal_table(), out)
    return out.reshape(height, width)


def uniforms(key: Key, height: int, width: int) -> Field:
    """A field of variates uniform on [−1, 1)."""
    out = np.empty(height * width, np.float32)
    _uniforms(key, out)
    return out.reshape(height, width)


@compiled
def _normals(key, table, out):
    count = len(out)
    for block in range(count // 4):
        bits = word(key, block)
        for q in range(4):
            out[4 * block + q] = table[quarter(bits, q)]
    for i in range(count // 4 * 4, count):
        out[i] = table[quarter(word(key, i // 4), i % 4)]


@compiled
def _uniforms(key, out):
    for i in range(len(out)):
        out[i] = unit(word(key, i)) * np.float32(2) - np.float32(1)
