"""Shapes drawn onto a picture: rectangles, discs, stars, stamps, dashes, drops and flakes."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from brittle._types import Field, Image, Key, Pixels
from brittle.corruptions.kernels.arithmetic import (
    PI,
    angle,
    compiled,
    inlined,
    level,
    rounded_to,
    rounding,
    to_byte,
    to_nearest_byte,
)
from brittle.corruptions.kernels.blur import gaussian
from brittle.corruptions.kernels.random_words import unit, word


def black_rectangle(image: Pixels, top: float, bottom: float, left: float, right: float) -> Pixels:
    """Black inside; a pixel that the edge cuts is darkened by the share that is covered."""
    return _scaled(image, 1 - _cover(image, top, bottom, left, right))


def black_frame(image: Pixels, top: float, bottom: float, left: float, right: float) -> Pixels:
    """Black outside, likewise."""
    return _scaled(image, _cover(image, top, bottom, left, right))


def _cover(image: Pixels, top: float, bottom: float, left: float, right: float) -> Field:
    return np.outer(_overlap(image.shape[0], top, bottom), _overlap(image.shape[1], left, right))


def _overlap(length: int, start: float, end: float) -> Field:
    """How much of each pixel [i, i + 1] lies between start and end."""
    i: NDArray[np.float64] = np.arange(length, dtype=np.float64)
    return np.clip(np.minimum(i + 1, end) - np.maximum(i, start), 0, 1).astype(np.float32)


def _scaled(image: Pixels, share: Field) -> Pixels:
    return rounded_to(image * share[:, :, np.newaxis], image)


def count_discs(
    height: int, width: int, rows: NDArray[np.float64], columns: NDArray[np.float64], radii: NDArray[np.float64]
) -> NDArray[np.uint16]:
    """In how many of the discs each pixel lies."""
    return _count_discs(height, width, rows, columns, radii)


@compiled
def _count_discs(height, width, rows, columns, radii):
    out = np.zeros((height, width), np.uint16)
    for i in range(len(rows)):
        cy, cx, square = rows[i], columns[i], radii[i] * radii[i]
        for y in range(max(int(np.ceil(cy - radii[i])), 0), min(int(np.floor(cy + radii[i])), height - 1) + 1):
            half = np.sqrt(max(square - (y - cy) ** 2, 0.0))
            start, end = max(int(np.ceil(cx - half)), 0), min(int(np.floor(cx + half)), width - 1) + 1
            if start < end:
                run = out[y, start:end]
                for x in range(len(run)):
                    run[x] += np.uint16(1)
    return out


def layers_of_white(image: Pixels, counts: NDArray[np.uint16], weights: NDArray[np.float64]) -> Pixels:
    """Blend white into each pixel as often as `counts` says, rounded every time if it is of bytes.

    A pixel with n layers gets the last n of the weights, in their order.
    """
    if image.dtype != np.uint8:
        seen = np.cumprod(np.concatenate([[1.0], 1 - weights[::-1]])).astype(np.float32)
        return np.asarray(255 - seen[counts][:, :, np.newaxis] * (255 - image), np.float32)
    return _layers_of_white(image, counts, weights)


@compiled
def _layers_of_white(image, counts, weights):
    height, width, channels = image.shape
    table = np.empty((len(weights) + 1, 256), np.uint8)
    for grey in range(256):
        for n in range(len(weights) + 1):
            value = float(grey)
            for i in range(len(weights) - n, len(weights)):
                value = np.rint(value * (1 - weights[i]) + 255 * weights[i])
            table[n, grey] = np.uint8(np.int32(value))
    out = np.empty(image.shape, np.uint8)
    for y in range(height):
        for x in range(width):
            for c in range(channels):
                out[y, x, c] = table[counts[y, x], image[y, x, c]]
    return out


def star(height: int, width: int, *, centre: tuple[float, float], lengths: Field, exponent: float = 1.0) -> Field:
    """How much of the star is seen at each pixel, on [0, 1].

    (1 − (f − ½)²)·(L²/D²)^exponent at a distance D from the centre (y, x), where L runs evenly from the length of
    one ray to that of the next and f is the way between the two. There are at least two rays.
    """
    return _star(height, width, centre[0], centre[1], np.concatenate([lengths, lengths[:2]]), exponent)


@compiled
def _star(height, width, y0, x0, lengths, exponent):
    count = len(lengths) - 2  # the first two rays stand at the end again
    out = np.empty((height, width), np.float32)
    wheel, ratio = np.empty(width), np.empty(width)
    for y in range(height):
        dy = y - y0
        for x in range(width):
            dx = x - x0
            wheel[x] = max((angle(dx, dy) + PI) * (count / (2 * PI)), 0.0)
            ratio[x] = dy * dy + dx * dx + 1e-4
        for x in range(width):
            ray = int(wheel[x])
            wheel[x] -= ray
            length = lengths[ray] + wheel[x] * (lengths[ray + 1] - lengths[ray])
            ratio[x] = length * length / ratio[x]
        if exponent != 1.0:
            for x in range(width):
                ratio[x] = ratio[x] ** exponent
        row = out[y]
        for x in range(width):
            row[x] = min((1 - (wheel[x] - 0.5) * (wheel[x] - 0.5)) * ratio[x], 1.0)
    return out


Runs = NDArray[np.int64]
"""A shape as runs of pixels about its centre: row, first column, first column after."""

HALF_WIDTHS = (1, 3, 4, 5, 5, 6, 6, 6, 5, 5, 4, 3, 1)
DISC: Runs = np.array([(row, -half, half + 1) for row, half in zip(range(-6, 7), HALF_WIDTHS, strict=True)])
"""13 pixels across; published as a table of half-widths."""

DIAMOND: Runs = np.array([(row, abs(row) - 7, 7 - abs(row)) for row in range(-6, 7)])
"""13 rows of even length, 14 pixels at the widest, so a little further to the left of its centre."""

MARGIN = 7
"""Centres keep this distance from the top and left edge, and from the far edges counted from the end."""


def stamp_greys(image: Pixels, shape: Runs, key: Key, count: int, pixel: float) -> Pixels:
    """Lay `count` shapes over the image, each in its own flat grey, uniform on [0, 1); later ones hide earlier ones."""
    out = image.copy()
    _stamp_greys(out, shape, key, count, pixel)
    return out


def stamp_whitening(image: Pixels, shape: Runs, key: Key, count: int, pixel: float) -> Pixels:
    """Lay `count` shapes over the image, each drawing what it covers half-way to white; where they overlap, again."""
    return _stamp_whitening(image, shape, key, count, pixel)


@inlined
def below(bits, count):
    """A whole number uniform on 0 … count−1 from the upper half of a word."""
    return np.int64(((bits >> np.uint64(32)) * np.uint64(count)) >> np.uint64(32))


@inlined
def first_from(edge, pixel, length):
    """The first of `length` pixels whose centre lies at or beyond an edge of the canvas."""
    return min(max(np.int64(np.ceil(edge * pixel - 0.5)), 0), length)


@inlined
def canvas_length(length, pixel):
    """How many canvas pixels go along a side."""
    return np.int64(np.rint(length / pixel))


@compiled
def _place(key, i, height, width, pixel):
    """The centre of shape i."""
    bits = word(key, 2 * i)
    rows = max(canvas_length(height, pixel) - 2 * MARGIN + 1, 1)
    columns = max(canvas_length(width, pixel) - 2 * MARGIN + 1, 1)
    return MARGIN + below(bits, rows), MARGIN + below(bits << np.uint64(32), columns)


@compiled
def _stamp_greys(out, runs, key, count, pixel):
    height, width, channels = out.shape
    for i in range(count):
        row, column = _place(key, i, height, width, pixel)
        grey = to_nearest_byte(np.float32(255) * unit(word(key, 2 * i + 1)))
        for run in range(len(runs)):
            left = first_from(column + runs[run, 1], pixel, width)
            right = first_from(column + runs[run, 2], pixel, width)
            top = first_from(row + runs[run, 0], pixel, height)
            for y in range(top, first_from(row + runs[run, 0] + 1, pixel, height)):
                for x in range(left, right):
                    for c in range(channels):
                        out[y, x, c] = grey


@compiled
def _stamp_whitening(image, runs, key, count, pixel):
    height, width, channels = image.shape
    layers = np.zeros((height, width), np.uint8)
    for i in range(count):
        row, column = _place(key, i, height, width, pixel)
        for run in range(len(runs)):
            left = first_from(column + runs[run, 1], pixel, width)
            right = first_from(column + runs[run, 2], pixel, width)
            top = first_from(row + runs[run, 0], pixel, height)
            for y in range(top, first_from(row + runs[run, 0] + 1, pixel, height)):
                for x in range(left, right):
                    layers[y, x] = min(layers[y, x] + 1, 9)  # after nine of them everything is white
    white, shares = np.float32(255), np.empty(10, np.float32)
    for layer in range(10):
        shares[layer] = np.float32(0.5) ** layer
    out = image.copy()
    half = rounding(out)
    for y in range(height):
        for x in range(width):
            if layers[y, x]:
                share = shares[layers[y, x]]
                for c in range(channels):
                    out[y, x, c] = level(white - share * (white - np.float32(image[y, x, c]))) + half
    return out


def dashes(image: Pixels, key: Key, count: int, grey: int, pixel: float, *, vertical: bool) -> Pixels:
    """Draw `count` dashes of one grey on a canvas whose pixels are `pixel` image pixels wide (see `stamp_greys`).

    A dash is 5 pixels long and 3 wide. Six of seven have wings of 5 dots on each side, every other pixel; the wing
    of a side is left out where it would not fit. The left wing begins inside the dash, so only 4 of its dots show.
    """
    out = image.copy()
    _dashes(out, key, count, np.uint8(grey), pixel, vertical)
    return out


@compiled
def _dashes(out, key, count, grey, pixel, vertical):
    height, width = canvas_length(out.shape[0], pixel), canvas_length(out.shape[1], pixel)
    across, along = (width, height) if vertical else (height, width)
    for i in range(count):
        bits = word(key, 2 * i)
        line = 1 + below(bits, max(across - 2, 1))
        centre = 2 + below(bits << np.uint64(32), max(along - 4, 1))
        winged = below(word(key, 2 * i + 1), 7) > 0
        _fill(out, line, centre - 2, centre + 3, grey, pixel, vertical)
        for dot in range(5):
            if winged and centre + 2 < along - 12:
                _fill(out, line, centre + 6 + 2 * dot, centre + 7 + 2 * dot, grey, pixel, vertical)
            if winged and centre - 2 > 7:
                _fill(out, line, centre - 10 + 2 * dot, centre - 9 + 2 * dot, grey, pixel, vertical)


@compiled
def _fill(out, line, begin, end, grey, pixel, vertical):
    """Paint [begin, end) along the line, three lines wide."""
    height, width, channels = out.shape
    if vertical:
        top, bottom = first_from(begin, pixel, height), first_from(end, pixel, height)
        left, right = first_from(line - 1, pixel, width), first_from(line + 2, pixel, width)
    else:
        top, bottom = first_from(line - 1, pixel, height), first_from(line + 2, pixel, height)
        left, right = first_from(begin, pixel, width), first_from(end, pixel, width)
    for y in range(top, bottom):
        for x in range(left, right):
            for c in range(channels):
                out[y, x, c] = grey


RELIEF = np.array([[-2, -1, 0], [-1, 1, 1], [0, 1, 2]], np.float32)
"""An emboss filter: drops look lit from one side."""


def water_layer(field: Field, threshold: float) -> Field:
    """Clear drops with lit rims, the brightest point at 1; all zero if no point reaches the threshold."""
    drops = np.where(field < threshold, 0, np.clip(field, 0, 1) * 255).astype(np.uint8)
    outside = 255 - cv2.Canny(drops, 50, 150)
    distance = np.minimum(cv2.distanceTransform(outside, cv2.DIST_L2, 5), 20)
    smooth = cv2.blur(distance, (3, 3)) + np.float32(1e-3)  # builds of OpenCV differ by less than this hair
    relief = cv2.equalizeHist(smooth.astype(np.uint8))
    relief = cv2.blur(cv2.filter2D(relief, cv2.CV_8U, RELIEF), (3, 3))
    layer = drops.astype(np.float32) * relief.astype(np.float32)
    brightest = float(layer.max())
    return layer / np.float32(brightest) if brightest > 0 else layer


def mud_layer(field: Field, threshold: float, blur: float) -> Field:
    """Opaque splashes with soft rims: where the smoothed splash is thinner than 0.8 there is none."""
    cover = gaussian((field > threshold).astype(np.float32), blur)
    cover[cover < 0.8] = 0
    return cover


def flakes(field: Field, threshold: float) -> Image:
    """What lies above the threshold, in grey levels."""
    return _flakes(field, np.float32(threshold))


@compiled
def _flakes(field, threshold):
    out = np.empty(field.shape, np.uint8)
    for y in range(field.shape[0]):
        for x in range(field.shape[1]):
            value = field[y, x]
            out[y, x] = to_byte(np.float32(255) * value) if value >= threshold else np.uint8(0)
    return out


def whiten_and_add(image: Pixels, layer: Field, mix: float) -> Pixels:
    """Blend (1−mix) of a whitened copy into the image, then add the layer, rounded, and turned by 180°."""
    return _whiten_and_add(image, layer, np.float32(mix))


@compiled
def _whiten_and_add(image, layer, mix):
    height, width, channels = image.shape
    out = np.empty(image.shape, image.dtype)
    source, target, count = image.reshape(-1), out.reshape(-1), np.uint64(height * width)
    one, two, three = np.uint64(1), np.uint64(2), np.uint64(3)
    fallen_at = np.empty(height * width, np.float32)
    at = np.uint64(0)
    for y in range(height):
        for x in range(width):
            fallen_at[at] = np.rint(layer[y, x])
            at += one
    rest = np.float32(1) - mix
    for i in range(count):
        fallen = fallen_at[i] + fallen_at[count - one - i]
        if channels == 3:
            r, g, b = (
                np.float32(source[three * i]),
                np.float32(source[three * i + one]),
                np.float32(source[three * i + two]),
            )
            grey = np.float32(0.299) * r + np.float32(0.587) * g + np.float32(0.114) * b
            white = np.float32(1.5) * grey + np.float32(127.5)
            target[three * i] = level(mix * r + rest * max(r, white) + fallen)
            target[three * i + one] = level(mix * g + rest * max(g, white) + fallen)
            target[three * i + two] = level(mix * b + rest * max(b, white) + fallen)
        else:
            value = np.float32(source[i])
            white = np.float32(1.5) * value + np.float32(127.5)
            target[i] = level(mix * value + rest * max(value, white) + fallen)
    return out
