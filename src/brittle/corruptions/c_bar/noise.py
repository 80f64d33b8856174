"""Noise of C-bar."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from brittle._types import Field, Key, Pixels
from brittle.corruptions.images import Draws
from brittle.corruptions.kernels.arithmetic import compiled, cosine, sine
from brittle.corruptions.kernels.layers import add_layer, fade_to_white
from brittle.corruptions.kernels.noise import blue_noise as draw
from brittle.corruptions.kernels.noise import brown_noise
from brittle.corruptions.kernels.random_words import normals, word
from brittle.corruptions.kernels.shapes import star
from brittle.corruptions.kernels.waves import bent_rings, caustics, plane_wave
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly


def distance_to_points(height: int, width: int, *, size: float, spread: float) -> Field:
    """The distance in cells, at most 1, with cells of `size` pixels.

    Points are placed by a sine hash whose strength is `spread`: near 0 they form a regular grid.
    """
    return _distance_to_points(height, width, size, spread)


@compiled
def _distance_to_points(height, width, size, spread):
    out = np.empty((height, width), np.float32)
    cells = int((width - 1) / size + 1) + 2
    points = np.empty((3, 2, cells))  # of three rows of cells: the one that is being drawn and its neighbours
    drawn = -1
    for y in range(height):
        v = y / size + 1
        at = int(v)
        if at != drawn:
            for k in range(3):
                _place(points[k], at + k - 1, spread)
            drawn = at
        row = out[y]
        for x in range(width):
            u = x / size + 1
            column = int(u)
            nearest = 1.0
            for k in range(3):
                across, down = points[k, 0], points[k, 1]
                for j in range(3):
                    dx = j - 1 + across[column - 1 + j] - (u - column)
                    dy = k - 1 + down[column - 1 + j] - (v - at)
                    nearest = min(nearest, dx * dx + dy * dy)
            row[x] = np.sqrt(nearest)
    return out


@compiled
def _place(points, row, spread):
    for column in range(points.shape[1]):
        a = 13.85 * column + 47.77 * row
        b = 99.41 * column + 88.48 * row
        across, down = sine(a) * np.sqrt(a) * spread, sine(b) * np.sqrt(b) * spread
        points[0, column] = across - np.floor(across)
        points[1, column] = down - np.floor(down)


PERIOD = 256
OCTAVES = 5


def turbulence(key: Key, height: int, width: int, spacing: float) -> Field:
    """Σ |noise(2ᵏ p)|/2ᵏ with `spacing` pixels between the lattice points of the first octave."""
    return _turbulence(height, width, spacing, *lattice(key))


def lattice(key: Key) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """256 gradients, and the shuffled order of 0 … 255 in which lattice points take them.

    As published: gradients are normalised points of a 512×512 grid (so not uniform in angle), and each place is
    exchanged with any other, which does not make all orders equally likely.
    """
    return _lattice(key)


@compiled
def _lattice(key):
    gradients = np.zeros((PERIOD, 2))
    for i in range(PERIOD):
        bits = word(key, i)
        a = np.float64(np.int64(bits & np.uint64(511)) - 256)
        b = np.float64(np.int64((bits >> np.uint64(9)) & np.uint64(511)) - 256)
        length = np.sqrt(a * a + b * b)
        if length > 0:
            gradients[i, 0], gradients[i, 1] = a / length, b / length
    order = np.arange(PERIOD)
    for i in range(PERIOD - 1, -1, -1):
        other = np.int64(word(key, PERIOD + i) & np.uint64(255))
        order[i], order[other] = order[other], order[i]
    return gradients, order


@compiled
def _turbulence(height, width, spacing, gradients, order):
    out = np.zeros((height, width), np.float32)
    for octave in range(OCTAVES):
        zoom = 2.0**octave / spacing
        share = np.float32(1.5 / 2.0**octave)
        cells = int((width - 1) * zoom) + 2
        slopes, heights = np.empty(cells, np.float32), np.empty(cells, np.float32)
        column, way, fade = np.empty(width, np.int32), np.empty(width, np.float32), np.empty(width, np.float32)
        for x in range(width):
            column[x] = int(x * zoom)
            u = x * zoom - column[x]
            way[x], fade[x] = u, _smooth(u)
        for y in range(height):
            above = int(y * zoom)
            v = y * zoom - above
            _mix_rows(slopes, heights, above, v, gradients, order)
            row = out[y]
            for x in range(width):
                i, u = column[x], way[x]
                left = slopes[i] * u + heights[i]
                right = slopes[i + 1] * (u - np.float32(1)) + heights[i + 1]
                row[x] += share * abs(left + fade[x] * (right - left))
    return out


@compiled
def _smooth(t):
    return t * t * (3 - 2 * t)


@compiled
def _mix_rows(slopes, heights, above, v, gradients, order):
    """Noise on one line of pixels is made of straight lines, one for each column of the lattice: their slopes, heights.

    That is the mixture of the gradients above and below the line, as far as the line is between the two.
    """
    mix = _smooth(v)
    for i in range(len(slopes)):
        start = order[i % PERIOD]
        upper = gradients[order[(start + above) % PERIOD]]
        lower = gradients[order[(start + above + 1) % PERIOD]]
        slopes[i] = upper[0] + mix * (lower[0] - upper[0])
        heights[i] = v * upper[1] + mix * ((v - 1) * lower[1] - v * upper[1])


def swirls(height: int, width: int, planes: int, *, time: float, steps: int, decay: float, size: float) -> Field:
    """The first `planes` of three fields on [−1, 1], P×H×W.

    Every one of the steps bends the coordinates with waves 1.93 times as fine and `decay` times as weak as the
    one before; `size` is the length of a unit in pixels.
    """
    return _swirls(height, width, planes, time, steps, decay, size)


@compiled
def _swirls(height, width, planes, time, steps, decay, size):
    out = np.empty((planes, height, width), np.float32)
    us, vs = np.empty(width), np.empty(width)
    wobble = sine(time)
    for y in range(height):
        for x in range(width):
            us[x], vs[x] = x / size, y / size
        fine, slow, weak = 1.0, 1.0, 1.0
        for _ in range(steps):
            shift = time / slow
            for x in range(width):
                u, v = us[x], vs[x]
                p, q = cosine(fine * v + shift) / weak, sine(fine * u + shift) / weak
                us[x] = u + (p - 0.3 * q)
                vs[x] = v + (q + 0.3 * p)
            fine *= 1.93
            slow *= 1.15
            weak *= decay
        _shade(us, -time, out[0, y])
        if planes == 3:
            _shade(0.5 * (us + vs + wobble), 0.0, out[1, y])
            _shade(vs, time, out[2, y])
    return out


@compiled
def _shade(position, shift, row):
    for x in range(len(row)):
        row[x] = sine(position[x] + shift)


@corruption(family="noise", source="c-bar", full_depth=True, channels="any", intensity=evenly(196, clean=0, steps=10))
def blue_noise(image: Pixels, rng: Draws, *, intensity: float) -> Pixels:
    """Fine grain in every channel: random noise whose amplitude grows with the frequency.

    Quirk kept: phases are copied with the wrong sign, so the inverse transform is complex, and its real part is
    taken. Beyond 1,024 px a tile of that size is repeated, without a seam.
    """
    height, width, channels = image.shape
    planes = [draw(rng.key(f"phases {c}"), height, width) for c in range(channels)]
    return add_layer(image, np.stack(planes), intensity)


@corruption(family="noise", source="c-bar", full_depth=True, channels="any", intensity=evenly(64, clean=0, steps=10))
def brownish_noise(image: Pixels, rng: Draws, *, intensity: float) -> Pixels:
    """Large soft clouds of colour: random noise whose amplitude falls with the square of the frequency.

    Quirks kept: the mean is not removed and is the largest term, so each channel is shifted as a whole, which
    gives a colour cast; phases are copied with the wrong sign and the real part is taken. Frequencies are counted
    per side. Beyond 1,024 px a field of that size is enlarged.
    """
    height, width, channels = image.shape
    planes = [brown_noise(rng.key(f"phases {c}"), height, width) for c in range(channels)]
    return add_layer(image, np.stack(planes), intensity)


@corruption(family="noise", source="c-bar", full_depth=True, intensity=evenly(255, clean=0, steps=10))
def caustic_noise(image: Pixels, rng: Draws, *, intensity: float) -> Pixels:
    """Light on the bottom of a pool: bright patches between the curves; it only brightens.

    The pattern repeats after 0.75 to 1.25 times the shorter side, with a faint seam, as published.
    """
    height, width = image.shape[:2]
    time, size = rng.uniform("time", 0.5, 2), rng.uniform("size", 0.75, 1.25) * min(height, width)
    return add_layer(image, caustics(height, width, time=time, size=size), intensity)


NARROWEST = 1e-6
"""Rings have a width, even if 0 is drawn."""


@corruption(family="noise", source="c-bar", full_depth=True, intensity=evenly(128, clean=0, steps=10))
def cocentric_sine_waves(image: Pixels, rng: Draws, *, intensity: float) -> Pixels:
    """Grey rings around a random centre, bent into lobes.

    Quirks kept: the spelling; the profile of a ring is a sawtooth, not a sine; the number of lobes is not whole,
    which leaves a seam above the centre; rings may be narrower than a pixel, and then look like noise.
    """
    height, width = image.shape[:2]
    side = min(height, width)
    rings = bent_rings(
        height,
        width,
        centre=(rng.uniform("x", 0, width), rng.uniform("y", 0, height)),
        spacing=max(rng.uniform("spacing", 0, side / 10), NARROWEST),
        bend=rng.uniform("bend", 0, side / 10),
        lobes=rng.uniform("lobes", 0, 10),
    )
    return add_layer(image, rings, intensity)


@corruption(
    family="noise", source="c-bar", full_depth=True, fades=False, falloff_exponent=evenly(1.3, clean=0, steps=10)
)
def inverse_sparkles(image: Pixels, rng: Draws, *, falloff_exponent: float) -> Pixels:
    """The picture is seen inside one large star and turns white outside it.

    The published "amount" is 100 − 50·falloff_exponent. Quirk kept: rays are paler towards their edges at any
    exponent, so just above severity 0 the whole picture is already a twelfth whiter, in rays.
    """
    height, width = image.shape[:2]
    rays = 50 + rng.integer("rays", 150)
    lengths = 0.25 * min(height, width) * (1 + 0.25 * normals(rng.key("lengths"), 1, rays)[0])
    centre = (rng.uniform("y", 0.25, 0.75) * height, rng.uniform("x", 0.25, 0.75) * width)
    return fade_to_white(image, star(height, width, centre=centre, lengths=lengths, exponent=falloff_exponent))


@corruption(family="noise", source="c-bar", full_depth=True, alpha=evenly(0.5, clean=0, steps=10))
def perlin_noise(image: Pixels, rng: Draws, *, alpha: float) -> Pixels:
    """Grey smoke: turbulence of five octaves is blended in.

    Quirk kept: the smoke has no value below one half, so it lightens and flattens the picture. Not kept: one
    gradient in 260,000 is drawn as 0/0; here it is 0.
    """
    height, width = image.shape[:2]
    smoke = np.minimum(0.5 * turbulence(rng.key("lattice"), height, width, min(height, width) / 7) + 0.5, 1)
    return add_layer(image, smoke, 255 * alpha, keep=1 - alpha)


@corruption(family="noise", source="c-bar", full_depth=True, intensity=evenly(64, clean=0, steps=10))
def plasma_noise(image: Pixels, rng: Draws, *, intensity: float) -> Pixels:
    """Swirling colours, as of old screen savers, laid over a slightly dimmed picture.

    The picture keeps 1 − intensity/255 of its brightness, while the colours, which reach from −intensity to
    +intensity, add nothing on average: so it darkens. A grey image gets the first of the three colours.
    """
    height, width, channels = image.shape
    colours = swirls(
        height,
        width,
        channels,
        time=rng.uniform("time", 0, 6 * math.pi),
        steps=4 + rng.integer("steps", 3),
        decay=2.25 - rng.uniform("sharpness", 0.5, 1),
        size=rng.uniform("size", 0.075, 0.2) * min(height, width),
    )
    return add_layer(image, colours, intensity, keep=1 - intensity / 255)


@corruption(family="noise", source="c-bar", full_depth=True, intensity=evenly(196, clean=0, steps=10))
def single_frequency_greyscale(image: Pixels, rng: Draws, *, intensity: float) -> Pixels:
    """Grey stripes: one plane sine wave of a random direction, frequency and phase.

    One frequency is uniform on ±π radians per pixel, the other is smaller; which of them runs across is a fair
    coin. Quirk kept: they do not depend on the size of the image, so on a larger one the stripes are finer.
    """
    height, width = image.shape[:2]
    large = rng.uniform("large", -math.pi, math.pi)
    small = abs(large) * rng.uniform("small", -1, 1)
    across, down = (large, small) if rng.uniform("order") < 0.5 else (small, large)
    wave = plane_wave(height, width, across=across, down=down, phase=rng.uniform("phase", 0, 2 * math.pi))
    return add_layer(image, wave, intensity)


STARS = 5


@corruption(
    family="noise", source="c-bar", full_depth=True, fades=False, radius=evenly(0.1 * 224, clean=0, steps=10, px=1)
)
def sparkles(image: Pixels, rng: Draws, *, radius: float) -> Pixels:
    """Five white stars of 50 to 199 rays each, glittering over the picture.

    Quirk kept: a ray is at least one pixel long at any size, so on small images the first severities look alike,
    and just above severity 0 there are already five points of light instead of none.
    """
    height, width = image.shape[:2]
    kept = np.ones((height, width), np.float32)
    for i in range(STARS):
        rays = 50 + rng.integer(f"rays {i}", 150)
        lengths = radius * (1 + 0.25 * normals(rng.key(f"lengths {i}"), 1, rays)[0])
        centre = (rng.uniform(f"y {i}", 0, height), rng.uniform(f"x {i}", 0, width))
        kept *= 1 - star(height, width, centre=centre, lengths=np.maximum(lengths, 1))
    return fade_to_white(image, kept)


@corruption(family="noise", source="c-bar", full_depth=True, intensity=evenly(255, clean=0, steps=10))
def voronoi_noise(image: Pixels, rng: Draws, *, intensity: float) -> Pixels:
    """Soft round cells around scattered points, dark ones or bright ones at even odds.

    The cells cover more than the gaps, so the whole picture darkens or brightens with them. Quirk kept: points are
    scattered by a hash whose strength is drawn too; where that is small they stand in a nearly regular grid.
    """
    height, width = image.shape[:2]
    distance = distance_to_points(
        height,
        width,
        size=rng.uniform("size", 0.05, 0.2) * min(height, width),
        spread=rng.uniform("spread", 0, 10) * 0.0025,
    )
    distance *= rng.uniform("density", 0.5, 0.9)
    sign = -1 if rng.uniform("sign") > 0.5 else 1
    return add_layer(image, distance * distance * (3 - 2 * distance) - 0.5, sign * intensity)
