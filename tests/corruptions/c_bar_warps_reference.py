# ruff: noqa: ARG001 - every reading takes the same arguments, also those that draw nothing
"""A slow, plain reading of eighteen C-bar definitions: blurs, colours, warps, cutout and lines.

Written from the formulas with NumPy, SciPy and Pillow, sharing no code with the kernels. Drawn numbers come from
the same `Draws` under the same names, so both sides see the same draw. Images are square, H×W×3 uint8.
"""

from __future__ import annotations

import colorsys
import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
from PIL import Image as Pil
from PIL import ImageEnhance
from scipy import ndimage

from brittle.corruptions import Draws

Array = np.ndarray
MASK = 2**64 - 1


def words(rng: Draws, name: str, count: int) -> list[int]:
    """The first random words of a stream, in Python's own whole numbers."""
    start, step = (int(half) for half in rng.key(name))

    def word(i: int) -> int:
        z = (start + i * (step | 1)) & MASK
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)

    return [word(i) for i in range(count)]


def units(rng: Draws, name: str, count: int) -> list[float]:
    return [(word >> 40) / 2**24 for word in words(rng, name, count)]


def clip8(x: Array) -> Array:
    return np.clip(x, 0, 255).astype(np.uint8)


def bil(x: Array, rows: Array, columns: Array) -> Array:
    """Bilinear, each neighbour outside the frame black."""
    padded = np.pad(x.astype(float), ((1, 1), (1, 1), (0, 0)))
    where = np.stack([np.clip(rows, -1, x.shape[0]) + 1, np.clip(columns, -1, x.shape[1]) + 1])
    return np.stack([ndimage.map_coordinates(padded[..., c], where, order=1) for c in range(x.shape[2])], -1)


def grid(image: Array) -> tuple[Array, Array]:
    rows, columns = np.mgrid[: image.shape[0], : image.shape[1]].astype(float)
    return rows, columns


def luma(image: Array) -> Array:
    return (image @ [0.2126, 0.7152, 0.0722])[..., None] / 255


def smoothstep(u: Array) -> Array:
    v = np.clip(u, 0, 1)
    return 3 * v**2 - 2 * v**3


def scatter(image: Array, rng: Draws, *, radius_px: float) -> Array:
    y, x = grid(image)
    seed = rng.uniform("seed", 0, 10)

    def h(a: Array, b: Array) -> Array:
        return 43758.5453 * np.sin(12.9898 * np.sin(a * seed) + 78.233 * np.cos(b * seed)) % 1

    last = len(image) - 1
    rows = np.clip(y + radius_px * (2 * h(y, x) - 1), 0, last)
    columns = np.clip(x + radius_px * (2 * h(x, y) - 1), 0, last)
    return bil(image, rows, columns).astype(np.uint8)


def chromatic_abberation(image: Array, rng: Draws, *, shift_px: float) -> Array:
    out = np.empty_like(image)
    for c, channel in enumerate("rgb"):
        angle = rng.uniform(f"angle {channel}", 0, 2 * math.pi)
        shift = shift_px * math.cos(angle), shift_px * math.sin(angle)
        out[..., c] = ndimage.shift(image[..., c], shift, order=3, prefilter=False)
    return out


def transverse_chromatic_abberation(image: Array, rng: Draws, *, mid_zoom: float, max_zoom: float) -> Array:
    orders = list(itertools.permutations([1, mid_zoom, max_zoom]))
    side = len(image)
    out = np.empty_like(image)
    for c, factor in enumerate(orders[rng.integer("order", 6)]):
        large = ndimage.zoom(image[..., c], factor, order=3, prefilter=False)
        start = (len(large) - side) // 2
        out[..., c] = large[start : start + side, start : start + side]
    return out


def circular_motion_blur(image: Array, rng: Draws, *, max_angle_deg: float) -> Array:
    turns = np.linspace(-1, 1, 21)
    weights = np.exp(-2 * turns**2)
    copies = [ndimage.rotate(image, turn * max_angle_deg, reshape=False, order=3) for turn in turns]
    return clip8(np.tensordot(weights / weights.sum(), copies, 1))


def bleach_bypass(image: Array, rng: Draws, *, amount: float) -> Array:
    x, y = image / 255, luma(image)
    light = np.clip(10 * (y - 0.45), 0, 1)
    doubled = image * np.uint8(2)  # wraps
    overlay = (1 - light) * doubled / 255 * y + light * (1 - 2 * (1 - y) * (1 - x))
    return ((1 - amount) * image + 255 * amount * overlay).astype(np.int64).astype(np.uint8)


def technicolor(image: Array, rng: Draws, *, amount: float) -> Array:
    x = image / 255
    matte = 1 - (x - (x.sum(-1, keepdims=True) - x) / 2)
    others = np.stack([matte[..., 1] * matte[..., 2], matte[..., 0] * matte[..., 2], matte[..., 0] * matte[..., 1]], -1)
    return ((1 - amount) * image + 255 * amount * others * x).astype(np.int64).astype(np.uint8)


def pseudocolor(image: Array, rng: Draws, *, amount: float) -> Array:
    q = rng.uniform("smoothness", 0.25, 0.75)
    colours = np.array([[rng.integer(f"colour {k} {c}", 255) for c in "rgb"] for k in range(5)], np.uint8)
    y = luma(image)[..., 0]
    band = np.minimum(np.floor(4 * y), 3).astype(int)
    u = (4 * (y - band / 4))[..., None]
    low, high = colours[band], colours[band + 1]
    linear = (1 - u) * low + u * high
    smooth = low + (high - low) * smoothstep(u)  # the difference of two bytes wraps
    return clip8((1 - amount) * image + amount * ((1 - q) * linear + q * smooth))


def hue_shift(image: Array, rng: Draws, *, abs_hue_turns: float) -> Array:
    turn = abs_hue_turns if rng.integer("sign", 2) else -abs_hue_turns

    def shifted(pixel: Array) -> Array:
        hue, saturation, value = colorsys.rgb_to_hsv(*(pixel / 255))
        return np.array(colorsys.hsv_to_rgb((hue + turn) % 1, saturation, value)) * 255

    return clip8(np.apply_along_axis(shifted, 2, image))


def color_dither(image: Array, rng: Draws, *, levels: float) -> Array:
    count = math.ceil(levels)
    out = image.copy()
    height, width, _ = image.shape
    for y in range(height):
        for x in range(width):
            value = out[y, x].astype(float)
            new = np.trunc(255 * np.floor(count * value / 256) / (count - 1))
            out[y, x] = new
            if x + 1 < width and y > 0:
                out[y, x + 1] = clip8(out[y, x + 1] + 7 / 16 * (value - new))
            if x + 1 < width and y < height - 1:
                out[y, x + 1] = clip8(out[y, x + 1] + 1 / 16 * (value - new))
    return out


def color_balance(image: Array, rng: Draws, *, abs_factor_shift: float) -> Array:
    factor = 1 + abs_factor_shift if rng.integer("sign", 2) else 1 - abs_factor_shift
    return np.array(ImageEnhance.Color(Pil.fromarray(image)).enhance(factor))


def _without_bars(image: Array, method: Pil.Transform, data: tuple[float, ...]) -> Array:
    def warp(each: Array) -> Array:
        size = each.shape[1], each.shape[0]
        return np.array(Pil.fromarray(each).transform(size, method, data, Pil.Resampling.BILINEAR))

    mask = warp(np.full_like(image, 255)) / 255
    return (mask * warp(image) + (1 - mask) * image).astype(np.uint8)


def perspective_no_bars(image: Array, rng: Draws, **p: float) -> Array:
    def sign(name: str) -> int:
        return 1 if rng.integer(name, 2) else -1

    a, e = (2 ** (sign(name) * p["abs_log2_factor"]) for name in "ae")
    b, d = (sign(name) * p["abs_offset"] for name in "bd")
    c, f = (sign(name) * p["abs_shift_px"] for name in "cf")
    g = h = p["denominator"]
    return _without_bars(image, Pil.Transform.PERSPECTIVE, (a, b, c, d, e, f, g, h))


def quadrilateral_no_bars(image: Array, rng: Draws, *, max_corner_shift_px: float) -> Array:
    side = len(image)
    corners = {"nw": (0, 0), "sw": (0, side), "se": (side, side), "ne": (side, 0)}
    moved = [
        place + max_corner_shift_px * rng.uniform(f"{name} {axis}", -1, 1)
        for name, corner in corners.items()
        for axis, place in zip("xy", corner, strict=True)
    ]
    return _without_bars(image, Pil.Transform.QUAD, tuple(moved))


def pinch_and_twirl(image: Array, rng: Draws, *, abs_angle_rad: float, amount: float) -> Array:
    side = len(image)
    n = 5 if side == 224 else 3
    cell = side // n
    signs = words(rng, "signs", n * n)
    x = image.astype(float)
    y_grid, x_grid = grid(image)
    for column, row in itertools.product(range(n), range(n)):
        angle = abs_angle_rad if signs[column * n + row] & 1 else -abs_angle_rad
        centre = row * cell + cell / 2, column * cell + cell / 2
        dy, dx = y_grid - centre[0], x_grid - centre[1]
        d = np.hypot(dy, dx) / (cell / 2)
        inside = (d > 0) & (d <= 1) & (y_grid < (row + 1) * cell) & (x_grid < (column + 1) * cell)
        phi = angle * (1 - d[inside]) ** 2
        pinch = np.sin(np.pi * d[inside] / 2) ** -amount
        rows = centre[0] + pinch * (np.cos(phi) * dy[inside] - np.sin(phi) * dx[inside])
        columns = centre[1] + pinch * (np.sin(phi) * dy[inside] + np.cos(phi) * dx[inside])
        x[inside] = bil(x, rows, columns)
    return clip8(x)


def fish_eye(image: Array, rng: Draws, *, eta: float) -> Array:
    side = len(image)
    radius = max(0.05 * side, 3)
    count = int(0.01 * 224**2 / side**2 * side * side + 1e-9)
    centres = np.array(units(rng, "lenses", 2 * count)).reshape(-1, 2) * side
    x = image.astype(float)
    y_grid, x_grid = grid(image)
    for y_mid, x_mid in centres:
        dy, dx = y_grid - y_mid, x_grid - x_mid
        depth = radius**2 - dy**2 - dx**2
        inside = depth > 0
        z = np.sqrt(depth[inside])

        def source(offset: Array, position: Array, z: Array = z) -> Array:
            phi = np.arcsin(offset / np.sqrt(offset**2 + z**2))
            return position - z * np.tan(phi - np.arcsin(np.sin(phi) / eta))

        x[inside] = bil(x, source(dy[inside], y_grid[inside]), source(dx[inside], x_grid[inside]))
    return clip8(x)


def water_drop(image: Array, rng: Draws, *, amplitude: float) -> Array:
    side = len(image)
    y, x = grid(image)
    dy, dx = y - rng.uniform("y", 0.25, 0.75) * side, x - rng.uniform("x", 0.25, 0.75) * side
    wavelength, phase = rng.uniform("wavelength", 0.05, 0.2) * side, rng.uniform("phase", 0, 2 * math.pi)
    distance = np.hypot(dy, dx)
    push = amplitude * np.sin(2 * np.pi * distance / wavelength - phase) * wavelength / distance
    push[distance > side // 2] = 0
    return clip8(bil(image, y + push * dy, x + push * dx))


def ripple(image: Array, rng: Draws, *, amplitude_px: float) -> Array:
    def moved(axis: str, places: Array) -> Array:
        wavelength = rng.uniform(f"{axis} wavelength", 0.1, 0.3) * len(image)
        return places + amplitude_px * np.sin(
            2 * np.pi * places / wavelength + rng.uniform(f"{axis} phase", 0, 2 * math.pi)
        )

    y, x = grid(image)
    return clip8(bil(image, moved("y", y), moved("x", x)))


def checkerboard_cutout(image: Array, rng: Draws, *, fraction: float) -> Array:
    side = len(image)
    theta, cell = rng.uniform("angle", 0, 2 * math.pi), max(rng.uniform("cell", 0.1, 0.25) * side, 1)
    n = int(4 * side // cell)
    flags = (np.array(units(rng, "squares", n * n)) < fraction).reshape(n, n)
    y, x = grid(image)
    u = (y * math.cos(theta) + x * math.sin(theta)) / cell
    v = (-y * math.sin(theta) + x * math.cos(theta)) / cell
    hidden = (np.floor(u % 2) == np.floor(v % 2)) & flags[np.trunc(u).astype(int), np.trunc(v).astype(int)]
    return np.where(hidden[..., None], 128, image).astype(np.uint8)


def lines(image: Array, rng: Draws, *, line_count: float) -> Array:
    side = len(image)
    theta, spread = rng.uniform("angle", 0, 2 * math.pi), rng.uniform("spread", 0.1, 1)
    drawn = np.array(units(rng, "lines", 3 * 300)).reshape(-1, 3)
    y, x = grid(image)
    out = image.copy()
    for row, column, turn in drawn[: math.floor(line_count + 1e-9)]:
        angle = theta + 2 * math.pi * spread * (turn - 0.5)
        centre, way = np.array([row, column]) * side, side * np.array([math.cos(angle), math.sin(angle)])
        (r0, c0), (r1, c1) = np.trunc(centre - way), np.trunc(centre + way)
        distance = np.abs((r1 - r0) * (x - c0) - (c1 - c0) * (y - r0)) / math.hypot(r1 - r0, c1 - c0)
        box = (min(r0, r1) <= y) & (y <= max(r0, r1)) & (min(c0, c1) <= x) & (x <= max(c0, c1))
        cover = np.where(box, np.maximum(1 - distance, 0), 0)[..., None]
        out = (out + cover * (128.0 - out)).astype(np.uint8)
    return out


READINGS: dict[str, Callable[..., Any]] = {
    function.__name__: function
    for function in (
        scatter, chromatic_abberation, transverse_chromatic_abberation, circular_motion_blur, bleach_bypass,
        technicolor, pseudocolor, hue_shift, color_dither, color_balance, perspective_no_bars, quadrilateral_no_bars,
        pinch_and_twirl, fish_eye, water_drop, ripple, checkerboard_cutout, lines,
    )
}  # fmt: skip
