"""Waves and the light under them."""

from __future__ import annotations

import numpy as np

from brittle._types import Field, Pixels
from brittle.corruptions.kernels.arithmetic import angle, compiled, cosine, level, sine
from brittle.corruptions.kernels.resampling import bilinear_or_black


def plane_wave(height: int, width: int, *, across: float, down: float, phase: float) -> Field:
    """sin(across·x + down·y + phase), frequencies in radians per pixel."""
    return _plane_wave(height, width, across, down, phase)


@compiled
def _plane_wave(height, width, across, down, phase):
    sines, cosines = np.empty(width), np.empty(width)
    for x in range(width):
        sines[x], cosines[x] = sine(across * x), cosine(across * x)
    out = np.empty((height, width), np.float32)
    for y in range(height):
        row = out[y]
        s, c = sine(down * y + phase), cosine(down * y + phase)
        for x in range(width):
            row[x] = sines[x] * c + cosines[x] * s
    return out


def bent_rings(
    height: int, width: int, *, centre: tuple[float, float], spacing: float, bend: float, lobes: float
) -> Field:
    """Sawtooth rings on [−½, ½): frac((r + bend·sin(lobes·θ)) / spacing) − ½ around the centre (x, y)."""
    return _bent_rings(height, width, centre[0], centre[1], spacing, bend, lobes)


@compiled
def _bent_rings(height, width, x0, y0, spacing, bend, lobes):
    out = np.empty((height, width), np.float32)
    for y in range(height):
        row = out[y]
        dy = y - y0
        for x in range(width):
            dx = x - x0
            rings = (np.sqrt(dx * dx + dy * dy) + bend * sine(lobes * angle(dx, dy))) / spacing
            row[x] = rings - np.floor(rings) - 0.5
    return out


TURN = 6.28318530718
REFRACTION = 4.0
"""The index of refraction of the published water."""


def caustics(height: int, width: int, *, time: float, size: float) -> Field:
    """Brightness on [0, 1] of the light on the ground; the pattern repeats every `size` pixels."""
    return _caustics(height, width, time, size)


@compiled
def _caustics(height, width, time, size):
    out = np.empty((height, width), np.float32)
    columns = np.empty(width)
    for x in range(width):
        columns[x] = TURN * (x / size - np.floor(x / size)) - 250
    iys, ixs, light = np.empty(width), np.empty(width), np.empty(width)
    for y in range(height):
        py = TURN * (y / size - np.floor(y / size)) - 250
        for x in range(width):
            iys[x], ixs[x], light[x] = py, columns[x], 1.0
        for n in range(5):
            _fold(iys, ixs, light, py, columns, time * (1 - 3.5 / (n + 1)))
        row = out[y]
        for x in range(width):
            dark = abs(1.17 - (light[x] / 5) ** 1.4)
            dark *= dark
            dark *= dark
            row[x] = min(dark * dark, 1.0)
    return out


@compiled
def _fold(iys, ixs, light, py, columns, t):
    """One more wave on the water, and the light that it throws."""
    for x in range(len(light)):
        iy, ix, px = iys[x], ixs[x], columns[x]
        ny = py + cosine(t - iy) + sine(t + ix)
        nx = px + sine(t - ix) + cosine(t + iy)
        iys[x], ixs[x] = ny, nx
        s, c = sine(ny + t), cosine(nx + t)
        a, b = 0.005 * py * c, 0.005 * px * s
        light[x] += abs(s * c) / np.sqrt(a * a + b * b + 1e-300)


def slopes(surface: Field) -> Field:
    """How much higher the next pixel is than the one before, down and across (2×H×W); 0 outside the frame."""
    out = np.zeros((2, *surface.shape), np.float32)
    out[0, :-1] = surface[1:]
    out[0, 1:] -= surface[:-1]
    out[1, :, :-1] = surface[:, 1:]
    out[1, :, 1:] -= surface[:, :-1]
    return out


def refract(image: Pixels, slope: Field, *, lens: float, light: float) -> Pixels:
    """See the image through a surface with these slopes: it is displaced by up to `lens` pixels, and lit."""
    return _refract(image, slope, lens, np.float32(255 * light))


@compiled
def _refract(image, slope, lens, light):
    height, width, channels = image.shape
    out = np.empty(image.shape, image.dtype)
    for y in range(height):
        down, across, target = slope[0, y], slope[1, y], out[y]
        for x in range(width):
            gy, gx = np.float64(down[x]), np.float64(across[x])
            cosines = 1 / np.sqrt(gy * gy + gx * gx + 1)
            sy, sx = float(y), float(x)
            if cosines < 1 - 1e-3:
                bent = np.sqrt(1 - (1 - cosines * cosines) / (REFRACTION * REFRACTION))
                reach = lens * (bent - cosines / REFRACTION) * cosines
                sy += np.rint(reach * gy * 1000) / 1000
                sx += np.rint(reach * gx * 1000) / 1000
            glow = light * (down[x] - across[x])
            for c in range(channels):
                target[x, c] = level(bilinear_or_black(image, sy, sx, c) + glow)
    return out
