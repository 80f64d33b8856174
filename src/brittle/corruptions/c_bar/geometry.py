"""Geometry of C-bar."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from brittle._types import Field, Key, Pixels
from brittle.corruptions.images import Draws
from brittle.corruptions.kernels.arithmetic import compiled, inlined, truncate
from brittle.corruptions.kernels.blur import gaussian
from brittle.corruptions.kernels.layers import enlarge
from brittle.corruptions.kernels.random_words import unit, word
from brittle.corruptions.kernels.resampling import bilinear_or_black, read_grid, ring_waves
from brittle.corruptions.kernels.waves import caustics, refract, slopes
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly

Eight = tuple[float, float, float, float, float, float, float, float]


def perspective(image: Pixels, coefficients: Eight) -> Pixels:
    """Read at ((a·x + b·y + c)/w, (d·x + e·y + f)/w) with w = g·x + h·y + 1, as Pillow's PERSPECTIVE does."""
    return _perspective(image, *map(float, coefficients))


def quadrilateral(image: Pixels, corners: Eight) -> Pixels:
    """Stretch a quadrilateral of the image over the frame, as Pillow's QUAD does.

    Its corners are (x, y) of the top left, bottom left, bottom right and top right.
    """
    height, width = image.shape[:2]
    nw_x, nw_y, sw_x, sw_y, se_x, se_y, ne_x, ne_y = map(float, corners)
    return _bilinear_patch(
        image,
        *(nw_x, (ne_x - nw_x) / width, (sw_x - nw_x) / height, (se_x - sw_x - ne_x + nw_x) / (width * height)),
        *(nw_y, (ne_y - nw_y) / width, (sw_y - nw_y) / height, (se_y - sw_y - ne_y + nw_y) / (width * height)),
    )


@inlined
def _read(image, y, x, out, oy, ox):
    """Pillow's bilinear reading: pixel centres lie at ½, edges are replicated, the fraction of bytes is cut off.

    A position outside the frame gives the pixel's own colour.
    """
    height, width, channels = image.shape
    if not (0 <= x < width and 0 <= y < height):
        for c in range(channels):
            out[oy, ox, c] = image[oy, ox, c]
    else:
        x -= 0.5
        y -= 0.5
        x0, y0 = int(np.floor(x)), int(np.floor(y))
        u, v = x - x0, y - y0
        xa, xb = max(x0, 0), min(x0 + 1, width - 1)
        ya, yb = max(y0, 0), min(y0 + 1, height - 1)
        for c in range(channels):
            a, b = np.float64(image[ya, xa, c]), np.float64(image[ya, xb, c])
            p, q = np.float64(image[yb, xa, c]), np.float64(image[yb, xb, c])
            upper, lower = a + (b - a) * u, p + (q - p) * u
            out[oy, ox, c] = upper + (lower - upper) * v


@compiled
def _perspective(image, a, b, c, d, e, f, g, h):
    out = np.empty(image.shape, image.dtype)
    for oy in range(image.shape[0]):
        for ox in range(image.shape[1]):
            x, y = ox + 0.5, oy + 0.5
            w = g * x + h * y + 1
            _read(image, (d * x + e * y + f) / w, (a * x + b * y + c) / w, out, oy, ox)
    return out


@compiled
def _bilinear_patch(image, x0, x1, x2, x3, y0, y1, y2, y3):
    out = np.empty(image.shape, image.dtype)
    for oy in range(image.shape[0]):
        for ox in range(image.shape[1]):
            x, y = ox + 0.5, oy + 0.5
            _read(image, y0 + y1 * x + y2 * y + y3 * x * y, x0 + x1 * x + x2 * y + x3 * x * y, out, oy, ox)
    return out


def pinch_and_twirl_discs(
    image: Pixels, key: Key, cell: int, rows: int, columns: int, angle: float, amount: float
) -> Field:
    """A grid of round whirls, each pinched and turned by ±angle at its centre; the sign is drawn for each."""
    return _pinch_and_twirl(image.astype(np.float32), key, cell, rows, columns, angle, amount)


@compiled
def _pinch_and_twirl(picture, key, cell, rows, columns, angle, amount):
    channels = picture.shape[2]
    radius = cell / 2
    along, across = np.ones((cell, cell)), np.zeros((cell, cell))  # how an offset is scaled and turned in a whirl
    for y in range(cell):
        for x in range(cell):
            d = math.sqrt((y - radius) ** 2 + (x - radius) ** 2) / radius
            if 0 < d <= 1:
                turn, pinch = angle * (1 - d) ** 2, math.sin(math.pi / 2 * d) ** -amount
                along[y, x], across[y, x] = math.cos(turn) * pinch, math.sin(turn) * pinch
    patch = np.empty((cell, cell, channels), np.float32)
    for column in range(columns):
        for row in range(rows):
            sign = 1.0 if word(key, column * rows + row) & np.uint64(1) else -1.0
            top, left = row * cell, column * cell
            for y in range(cell):
                for x in range(cell):
                    dy, dx = y - radius, x - radius
                    c, s = along[y, x], sign * across[y, x]
                    sy, sx = top + radius + c * dy - s * dx, left + radius + s * dy + c * dx
                    for channel in range(channels):
                        patch[y, x, channel] = bilinear_or_black(picture, sy, sx, channel)
            for y in range(cell):
                for x in range(cell):
                    for channel in range(channels):
                        picture[top + y, left + x, channel] = patch[y, x, channel]
    return picture


def fish_eyes(image: Pixels, key: Key, count: int, radius: float, eta: float) -> Field:
    """Glass hemispheres at random places: light is refracted with the index `eta`, in each axis by itself."""
    return _fish_eyes(image.astype(np.float32), key, count, radius, eta)


@inlined
def _bend(offset, z, square, eta2):
    """z·tan(φ − asin(sin φ/η)) with tan φ = offset/z, by the theorem of addition; `square` is offset² + z²."""
    q = np.sqrt(eta2 * square - offset * offset)
    below = z * q + offset * offset
    return z * offset * (q - z) / below if below > 0 else 0.0 * offset


@compiled
def _fish_eyes(picture, key, count, radius, eta):
    height, width, channels = picture.shape
    side = 2 * math.ceil(radius) + 4
    stride = side * channels
    patch = np.zeros(side * stride, np.float32)  # the lens and one pixel more; black outside the frame
    rows, columns = np.empty(side, np.float64), np.empty(side, np.float64)
    square, eta2 = np.float32(radius * radius), np.float32(eta * eta)
    pixels = picture.reshape(-1)
    for lens in range(count):
        y_mid = np.float64(unit(word(key, 2 * lens))) * height
        x_mid = np.float64(unit(word(key, 2 * lens + 1))) * width
        top, bottom = max(math.ceil(y_mid - radius), 0), min(int(y_mid + radius), height - 1)
        left, right = max(math.ceil(x_mid - radius), 0), min(int(x_mid + radius), width - 1)
        for y in range(top - 1, bottom + 2):
            _copy_below(picture, y, left - 1, right + 2, patch, (y - top + 1) * stride)
        for y in range(top, bottom + 1):
            dy, row = np.float32(y - y_mid), np.float32(y - top + 1)
            for i in range(right + 1 - left):  # no branch: where there is no glass, a root of less than 0 is no number
                dx = np.float32(left + i - x_mid)
                z = np.sqrt(square - dy * dy - dx * dx)
                rows[i] = row - _bend(dy, z, square - dx * dx, eta2)
                columns[i] = np.float32(i + 1) - _bend(dx, z, square - dy * dy, eta2)
            for i in range(right + 1 - left):
                dx = np.float32(left + i - x_mid)
                if square - dy * dy - dx * dx > 0:
                    to = (y * width + left + i) * channels
                    _read_below(patch, stride, channels, rows[i], columns[i], pixels, np.uint64(to))
    return picture


@compiled
def _copy_below(picture, y, first, end, patch, at):
    """One row of what lies below a lens; black outside the frame."""
    height, width, channels = picture.shape
    for i in range((end - first) * channels):
        patch[at + i] = np.float32(0)
    if 0 <= y < height:
        source = picture.reshape(-1)
        start, to = (y * width + max(first, 0)) * channels, at + (max(first, 0) - first) * channels
        for i in range((min(end, width) - max(first, 0)) * channels):
            patch[to + i] = source[start + i]


@inlined
def _read_below(patch, stride, channels, y, x, out, to):
    """Read a patch bilinearly; no row is a slice, which would cost a count of references."""
    y0, x0 = int(y), int(x)
    v, u = y - np.float32(y0), x - np.float32(x0)
    upper, step = np.uint64(y0 * stride + x0 * channels), np.uint64(channels)
    lower = upper + np.uint64(stride)
    for c in range(step):
        i, j = upper + c, lower + c
        a = patch[i] + u * (patch[i + step] - patch[i])
        b = patch[j] + u * (patch[j + step] - patch[j])
        out[to + c] = a + v * (b - a)


LARGEST = 224
"""Larger images are seen through the water of 224 px, enlarged; its slopes would otherwise vanish with the size."""


@corruption(
    family="geometry",
    source="c-bar",
    full_depth=True,
    lens_scale=evenly(0.5 * 224, clean=0, steps=10, px=1),
    lighting=evenly(2, clean=0, steps=10),
)
def caustic_refraction(image: Pixels, rng: Draws, *, lens_scale: float, lighting: float) -> Pixels:
    """The picture at the bottom of a pool, seen and lit through moving water.

    Quirks kept: the surface is the brightness of caustic_noise; it ends at the frame, so the edge bends most and
    is lit or shaded; slopes below 2.6° do not bend at all, where the shift jumps; outside the picture it is black;
    shifts are rounded to a thousandth of a pixel. The surface is smoothed by one pixel at 32 px as at 224 px.
    """
    height, width = image.shape[:2]
    scale = min(LARGEST / min(height, width), 1.0)
    rows, columns = round(height * scale), round(width * scale)
    time, size = rng.uniform("time", 0.5, 2), rng.uniform("size", 0.75, 1.25) * min(rows, columns)
    slope = slopes(gaussian(caustics(rows, columns, time=time, size=size), 1, mirrored=True))
    if scale < 1:
        slope = np.stack([enlarge(each, height, width) for each in slope])
    return refract(image, slope, lens=lens_scale, light=lighting)


LENSES = 0.01 * 224 * 224
"""How many lenses a square image has, before the fraction is cut off."""


@corruption(family="geometry", source="c-bar", full_depth=True, eta=evenly(3, clean=1, steps=10))
def fish_eye(image: Pixels, rng: Draws, *, eta: float) -> Pixels:
    """501 small glass lenses lie over the picture, one on top of the other, and enlarge what is below them.

    Severity is the refractive index. Lenses have a radius of 5 % of the shorter side, but at least 3 px (down to
    32 px; below that it shrinks with the image), so small pictures are covered more densely. A
    picture that is not square has more lenses, by its area.
    """
    height, width = image.shape[:2]
    side = min(height, width)
    radius = max(0.05 * side, min(3.0, 3 / 32 * side))
    count = int(LENSES * max(height, width) / side)
    return truncate(fish_eyes(image, rng.key("lenses"), count, radius, eta), image)


@corruption(
    family="geometry",
    source="c-bar",
    full_depth=True,
    abs_offset=evenly(0.1, clean=0, steps=10),
    abs_shift_px=evenly(22.4, clean=0, steps=10, px=1),
    abs_log2_factor=evenly(0.15, clean=0, steps=10),
    denominator=evenly(0.2 / 224, clean=0, steps=10, px=-1),
)
def perspective_no_bars(
    image: Pixels, rng: Draws, *, abs_offset: float, abs_shift_px: float, abs_log2_factor: float, denominator: float
) -> Pixels:
    """The picture from another viewpoint: sheared, shifted, scaled and tilted, each by a fixed size and random sign.

    Where the view leaves the frame, the clean picture shows, so there are no black bars. Quirk kept: the tilt
    has no sign, so the far side is always the bottom right. Bilinear as Pillow does it, with truncation.
    """

    def signed(name: str, size: float) -> float:
        return size if rng.integer(name, 2) else -size

    b, d = signed("b", abs_offset), signed("d", abs_offset)
    c, f = signed("c", abs_shift_px), signed("f", abs_shift_px)
    a, e = 2 ** signed("a", abs_log2_factor), 2 ** signed("e", abs_log2_factor)
    return perspective(image, (a, b, c, d, e, f, denominator, denominator))


COARSE_BELOW = math.sqrt(32 * 224)
"""Images with a shorter side below this (85 px) have the grid that is published for 32 px."""


@corruption(
    family="geometry",
    source="c-bar",
    full_depth=True,
    fades=False,
    abs_angle_rad=evenly(math.pi / 2, clean=0, steps=10),
    amount=evenly(0.5, clean=0.1, steps=10),
)
def pinch_and_twirl(image: Pixels, rng: Draws, *, abs_angle_rad: float, amount: float) -> Pixels:
    """A grid of whirls, each pinched towards its centre and twisted one way or the other.

    5×5 whirls as published for 224 px, 3×3 as for 32 px, more along a longer side; rows and columns left over at
    the end stay untouched. Quirk kept: the pinch starts at 0.1, so it jumps in at once above severity 0.
    """
    height, width = image.shape[:2]
    side = min(height, width)
    across = 3 if side < COARSE_BELOW else 5
    cell = max(side // across, 1)
    rows, columns = (min(length * across // side, length // cell) for length in (height, width))
    whirled = pinch_and_twirl_discs(image, rng.key("signs"), cell, rows, columns, abs_angle_rad, amount)
    return truncate(whirled, image)


@corruption(
    family="geometry", source="c-bar", full_depth=True, max_corner_shift_px=evenly(224 / 3, clean=0, steps=10, px=1)
)
def quadrilateral_no_bars(image: Pixels, rng: Draws, *, max_corner_shift_px: float) -> Pixels:
    """The four corners are pulled in random directions, and what they span fills the frame.

    Where a corner lies outside, the clean picture shows, so there are no black bars. Bilinear as Pillow's
    QUAD does it, with truncation. At high severities corners may cross, and the picture folds.
    """

    def shifted(name: str, position: float) -> float:
        return position + max_corner_shift_px * rng.uniform(name, -1, 1)

    height, width = image.shape[:2]
    nw = shifted("nw x", 0), shifted("nw y", 0)
    sw = shifted("sw x", 0), shifted("sw y", height)
    se = shifted("se x", width), shifted("se y", height)
    ne = shifted("ne x", width), shifted("ne y", 0)
    return quadrilateral(image, (*nw, *sw, *se, *ne))


@corruption(family="geometry", source="c-bar", full_depth=True, amplitude_px=evenly(5.6, clean=0, steps=10, px=1))
def ripple(image: Pixels, rng: Draws, *, amplitude_px: float) -> Pixels:
    """Rows and columns are stretched and squeezed in waves, as behind ribbed glass.

    Quirks kept: each axis is moved along itself only, so there is no sideways wave; at the borders black
    comes in from outside.
    """
    height, width = image.shape[:2]
    side = min(height, width)

    def moved(axis: str, length: int) -> NDArray[np.float64]:
        wavelength = rng.uniform(f"{axis} wavelength", 0.1, 0.3) * side
        phase = rng.uniform(f"{axis} phase", 0, 2 * math.pi)
        places = np.arange(length)
        shift = amplitude_px * np.sin(2 * math.pi / wavelength * places + phase)
        return np.asarray(places + shift, np.float64)

    return read_grid(image, moved("y", height), moved("x", width))


@corruption(family="geometry", source="c-bar", full_depth=True, amplitude=evenly(0.25, clean=0, steps=10))
def water_drop(image: Pixels, rng: Draws, *, amplitude: float) -> Pixels:
    """Rings of waves spread from a point, as where a drop has fallen into water.

    The amplitude is a share of the wavelength, which is drawn, as are centre and phase. Quirk kept: the waves end
    sharply at half the side from the centre.
    """
    height, width = image.shape[:2]
    side = min(height, width)
    centre = rng.uniform("y", 0.25, 0.75) * height, rng.uniform("x", 0.25, 0.75) * width
    wavelength = rng.uniform("wavelength", 0.05, 0.2) * side
    return ring_waves(image, centre, wavelength, rng.uniform("phase", 0, 2 * math.pi), amplitude, side // 2)
