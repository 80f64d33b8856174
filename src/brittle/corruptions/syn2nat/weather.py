"""Weather of Syn2Nat's candidates."""

import math

import cv2
import numpy as np
from numpy.typing import NDArray

from brittle._types import Image, Pixels
from brittle.corruptions.images import Draws
from brittle.corruptions.kernels.arithmetic import mix
from brittle.corruptions.kernels.blur import between_sizes, box
from brittle.corruptions.kernels.colour import GREYS, map_lightness, through_table
from brittle.corruptions.kernels.random_words import uniforms
from brittle.corruptions.kernels.shapes import count_discs, layers_of_white
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly

FRAME = 224
"""Where the fog bank is published; its points are spread over any other frame in proportion."""


@corruption(
    family="weather", source="syn2nat", full_depth=True, opacity=evenly(0.08, clean=0), size=evenly(1, clean=0, px=1)
)
def random_fog(image: Pixels, rng: Draws, *, opacity: float, size: float) -> Pixels:
    """Thin haze in overlapping round patches, and a slight blur.

    The published rings of white discs, about 20 of them with a weight of 0.064 … 0.08, one blended after the other
    in 8 bit; then a box blur, whose kernel may be even and then moves the picture by half a pixel. The same draw of
    0.8 … 1 sets how thick, how large and how many. Lower severities have thinner discs and less blur; an oblong
    picture has as many discs for each square of it.
    """
    height, width = image.shape[:2]
    density = rng.uniform("density", 0.8, 1)
    patch = int(FRAME // 3 * density)
    squares = max(height, width) / min(height, width)
    rows, columns = _points(rng, patch, squares)
    scale = np.array([height / FRAME, width / FRAME])
    radius = patch // 2 * min(scale)
    counts = count_discs(height, width, rows * scale[0], columns * scale[1], np.full(len(rows), radius))
    hazy = layers_of_white(image, counts, np.full(int(counts.max()), opacity * density))
    return between_sizes(hazy, 1 + (patch // 10 - 1) * size, box, step=1)


def _points(rng: Draws, patch: int, squares: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Rows and columns of the discs' centres in the published frame, ring by ring."""
    low = np.array([FRAME // 2 - patch, FRAME // 2 - 2 * patch])  # y, x
    rings = []
    while (low > -patch).any():
        rings.append(low)
        low = low - 3 * patch * FRAME // (2 * FRAME)
    sizes = [round(patch // 10 * (i + 1) * squares) for i in range(len(rings))]
    starts = np.repeat(rings, sizes, axis=0)
    fractions = uniforms(rng.key("points"), len(starts), 2).astype(np.float64) * 0.5 + 0.5
    corners = starts + np.floor(fractions * (FRAME - patch - 2 * starts + 1))
    return corners[:, 0] + patch // 2, corners[:, 1] + patch // 2


COLOUR, DROPS = 200, 4096
"""The grey of drops, and how many are drawn at once: a long thin picture has millions, and each takes 500 bytes."""


@corruption(
    family="weather",
    source="syn2nat",
    drops=evenly(224 * 224 / 600, clean=0),
    blur=evenly(6, clean=0, px=1),
    lightness=evenly(0.7, clean=1),
    pixel=evenly(1, clean=1, px=1),
)
def random_rain(image: Image, rng: Draws, *, drops: float, blur: float, lightness: float, pixel: float) -> Image:
    """Slanting grey streaks, a blur and a darker sky: one drop for every 600 pixels, 20 pixels long.

    Quirks kept: the blur is over the whole picture, 7×7, and all drops fall 10 pixels to the right, whatever slant
    is drawn: the drawn one only limits where drops start. The lightness is that of OpenCV's 8-bit HLS.
    """
    height, width = image.shape[:2]
    slant, length = round(10 * pixel), round(20 * pixel)
    limit = int(rng.uniform("slant", -10, 10) * pixel)
    count = int(drops * height * width / min(height, width) ** 2)
    places = uniforms(rng.key("places"), max(count, 1), 2)[:count]
    left, right = min(limit, 0), width - max(limit, 0)
    streaks = np.zeros((height, width), np.uint8)
    for first in range(0, count, DROPS):
        positions = places[first : first + DROPS] * 0.5 + 0.5
        x = (left + positions[:, 1] * (right - left + 1)).astype(np.int32)
        y = (positions[:, 0] * (max(height - length, 0) + 1)).astype(np.int32)
        ends = np.stack([x, y, x + slant, y + length], 1).reshape(-1, 2, 2)
        cv2.polylines(streaks, list(ends), False, 255, max(1, round(pixel)))
    wet = _painted(image, streaks, min(pixel, 1.0))
    return map_lightness(between_sizes(wet, 1 + blur, box), GREYS * lightness)


def _painted(image: Image, streaks: Image, opacity: float) -> Image:
    """Streaks thinner than a pixel, on small pictures, let the picture shine through."""
    painted = through_table(image, GREYS + opacity * (COLOUR - GREYS))
    return np.where(streaks[:, :, np.newaxis] > 0, painted, image)


@corruption(family="weather", source="syn2nat", lightness=evenly(0.5, clean=1))
def random_shadow(image: Image, rng: Draws, *, lightness: float) -> Image:
    """Two to four shadows with sharp, jagged outlines, half as light as the rest.

    Each is a polygon with eight random corners, which crosses itself; where it does so an even number of times it
    lets the light through. Overlapping shadows are no darker. Lower severities have lighter shadows.
    """
    height, width = image.shape[:2]
    corners = uniforms(rng.key("corners"), 32, 2) * 0.5 + 0.5
    polygons = (corners * np.array([width + 1, height + 1])).astype(np.int32).reshape(4, 8, 2)
    shadow = np.zeros((height, width), np.uint8)
    for polygon in polygons[: 2 + rng.integer("count", 3)]:
        cv2.fillPoly(shadow, [polygon], 255)
    return map_lightness(image, GREYS * lightness, shadow)


@corruption(family="weather", source="syn2nat", brightening=evenly(2.5, clean=1))
def random_snow(image: Image, rng: Draws, *, brightening: float) -> Image:
    """Dark places turn white, as if snow lay there: what is below a threshold is made 2.5 times as light.

    The threshold is a lightness of 98 … 123. Quirk kept: it is not the bright places that whiten but the dark ones,
    and what lies between ends up lighter than what was lighter. The lightness is that of OpenCV's 8-bit HLS.
    """
    below = 85 + 127.5 * rng.uniform("point", 0.1, 0.3)
    return map_lightness(image, np.where(below > GREYS, GREYS * brightening, GREYS))


CIRCLES = 10
RINGS = 20


@corruption(
    family="weather",
    source="syn2nat",
    full_depth=True,
    strength=evenly(1, clean=0),
    radius=evenly(200, clean=200, px=1),
)
def random_sun_flare(image: Pixels, rng: Draws, *, strength: float, radius: float) -> Pixels:
    """The sun in the upper half of the picture, with a wide white glow and a few faint spots on a line through it.

    The glow is 20 white discs one over the other, up to 200 pixels in radius, with weights a³ from 1 down to 0. The
    6 to 10 spots lie on one overlay, so that a spot shows again with each one after it. Everything is rounded to
    8 bit after each step. Not kept: a line so steep that its spots overflow; spots far outside are just not seen.
    """
    height, width = image.shape[:2]
    y, x = int(rng.uniform("row", 0, 0.5) * height), int(rng.uniform("column") * width)
    spotted = _with_spots(image, rng, y, x, strength, radius / 200)
    radii = np.floor(np.linspace(1, 200, RINGS)) * (radius / 200)
    weights = strength * np.linspace(1, 0, RINGS) ** 3
    counts = count_discs(height, width, np.full(RINGS, float(y)), np.full(RINGS, float(x)), radii)
    return layers_of_white(spotted, counts, weights)


def _with_spots(image: Pixels, rng: Draws, y: int, x: int, strength: float, scale: float) -> Pixels:
    height, width, channels = image.shape
    slope = math.tan(rng.uniform("angle", 0, 2 * math.pi))
    overlay, out = image.copy(), image
    for i in range(6 + rng.integer("circles", CIRCLES - 5)):
        column = rng.integer(f"column{i}", width)
        row = y - slope * (column - x)
        size = max(1, round((1, 8)[rng.integer(f"size{i}", 2)] * scale))
        colour = [205 + rng.integer(f"{channel}{i}", 51) for channel in ("red", "green", "blue")[:channels]]
        if -size <= row <= height + size:
            cv2.circle(overlay, (column, round(row)), size, colour, -1)
        weight = strength * rng.uniform(f"weight{i}", 0.05, 0.2)
        out = mix(out, overlay, weight)
    return out
