"""Noise with a given spectrum and random phases, by the inverse Fourier transform."""

from __future__ import annotations

import numpy as np

from brittle.arrays import Field, Key
from brittle.corruptions.kernels.compiled import compiled, inlined
from brittle.corruptions.kernels.enlarge import enlarge
from brittle.corruptions.kernels.trigonometry import PI, cosine, sine
from brittle.corruptions.kernels.words import unit, word

LARGEST = 1024
"""The longest side of a field that is drawn as it is, which is what keeps 12 megapixels below a second."""


def blue_noise(key: Key, height: int, width: int) -> Field:
    """Amplitude ∝ frequency. Longer images see a tile again: the field is periodic, and has no large structure."""
    tile = _draw(key, min(height, LARGEST), min(width, LARGEST), True)
    repeats = (-(-height // LARGEST), -(-width // LARGEST))
    return tile if repeats == (1, 1) else np.ascontiguousarray(np.tile(tile, repeats)[:height, :width])


def brown_noise(key: Key, height: int, width: int) -> Field:
    """Amplitude 1/(1 + frequency²). Larger images see it enlarged: it has next to no fine structure."""
    field = _draw(key, min(height, LARGEST), min(width, LARGEST), False)
    if field.shape == (height, width):
        return field
    return enlarge(field, height, width)


def _draw(key: Key, height: int, width: int, blue: bool) -> Field:
    """One field, divided by its standard deviation; its mean is not removed."""
    field = np.fft.irfft2(_spectrum(key, height, width, blue), s=(height, width))
    return _standardise(np.asarray(field, np.float32))


@compiled
def _spectrum(key, height, width, blue):
    """The Hermitian part of the published spectrum, columns 0 … W/2: its transform is the real part of theirs.

    The published array holds the phases with frequency 0 in its middle, and its right half is the left half turned
    by 180° about the middle of the *array*, with the same sign. So it is not Hermitian, nor is a phase shared
    by opposite frequencies.
    """
    half, middle = width // 2, height // 2
    columns = half + width % 2
    real, imaginary = np.empty((height, columns)), np.empty((height, columns))
    for y in range(height):
        for x in range(columns):
            real[y, x] = 2 * PI * unit(word(key, y * columns + x))
    if width % 2:
        real[middle, half] = 0 if height % 2 else real[middle, half]
        for y in range(height - middle, height):
            real[y, half] = real[height - 1 - y, half]
    for y in range(height):
        phases, heights = real[y], imaginary[y]
        for x in range(columns):
            heights[x] = sine(phases[x])
            phases[x] = cosine(phases[x])
    out = np.empty((height, half + 1), np.complex64)
    for ky in range(height):
        y = (ky + middle) % height
        dy = y - middle
        opposite_y = (2 * middle - y) % height
        for kx in range(half + 1):
            x = (kx + half) % width
            dx = x - half
            opposite_x = (2 * half - x) % width
            square = float(dy * dy + dx * dx)
            size = np.sqrt(square) if blue else 1 / (square + 1)
            a, b = _at(y, x, height, width, columns)
            p, q = _at(opposite_y, opposite_x, height, width, columns)
            out[ky, kx] = complex(size * (real[a, b] + real[p, q]), size * (imaginary[a, b] - imaginary[p, q]))
    return out


@inlined
def _at(y, x, height, width, columns):
    """Where the left half, with the middle column of an odd width, holds the phase of an element."""
    return (y, x) if x < columns else (height - 1 - y, width - 1 - x)


@compiled
def _standardise(field):
    height, width = field.shape
    total = 0.0
    for y in range(height):
        part = 0.0
        for x in range(width):
            part += field[y, x]
        total += part
    mean = total / (height * width)
    total = 0.0
    for y in range(height):
        part = 0.0
        for x in range(width):
            part += (field[y, x] - mean) ** 2
        total += part
    deviation = np.sqrt(total / (height * width))
    scale = np.float32(1 / deviation) if deviation > 0 else np.float32(0)
    for y in range(height):
        row = field[y]
        for x in range(width):
            row[x] *= scale
    return field
