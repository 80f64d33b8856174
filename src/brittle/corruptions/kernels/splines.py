"""Cubic splines through pixels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir  # comes with Numba
from numba import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from brittle._types import Field, Pixels
from brittle.corruptions.kernels.arithmetic import compiled, in_bands, inlined, rounding


@inlined
def cubic_weights(t):
    """The weights of the neighbours −1, 0, 1, 2 of a position on [0, 1)."""
    one, sixth = np.float32(1), np.float32(1 / 6)
    r = one - t
    first, last = r * r * r * sixth, t * t * t * sixth
    second = np.float32(2 / 3) - np.float32(0.5) * t * t * (np.float32(2) - t)
    return first, second, one - first - second - last, last


def _reflected(i, length):
    """… 2 1 | 0 1 2 …: the edge pixel is not repeated."""
    if length == 1:
        return 0
    i %= 2 * length - 2
    return i if i < length else 2 * length - 2 - i


mirror = inlined(_reflected)


def read_smoothed(image: Pixels, rows: NDArray[np.float64], columns: NDArray[np.float64]) -> Pixels:
    """Channel c at rows[c] × columns[c], rounded; pixels are taken for coefficients, which blurs by (1, 4, 1)/6."""
    height, width = image.shape[:2]
    out, plane, line = np.empty_like(image), np.empty((height, width), np.float32), np.empty(width, np.float32)
    y_taps, x_taps = np.zeros((4, height), np.int64), np.zeros((4, width), np.int64)
    y_weights, x_weights = np.empty((4, height), np.float32), np.empty((4, width), np.float32)
    share = np.empty(max(height, width), np.float32)
    _read_smoothed(image, rows, columns, plane, line, y_taps, x_taps, y_weights, x_weights, share, out)
    return out


@compiled
def _find_taps(positions, length, taps, weights, share):
    """Per position the four pixels to read and their weights; all weights are 0 outside the frame."""
    count = len(positions)
    for i in range(count):
        share[i] = positions[i] - np.floor(positions[i])
    for i in range(count):
        a, b, c, d = cubic_weights(share[i])
        weights[0, i], weights[1, i], weights[2, i], weights[3, i] = a, b, c, d
    for i in range(count):
        below = int(np.floor(positions[i]))
        for k in range(4):
            if 0 <= positions[i] <= length - 1:
                taps[k, i] = mirror(below - 1 + k, length)
            else:
                taps[k, i] = 0
                weights[k, i] = 0


@compiled
def _read_smoothed(image, rows, columns, plane, line, y_taps, x_taps, y_weights, x_weights, share, out):
    height, width, channels = image.shape
    half = rounding(out)
    x0, x1, x2, x3 = x_taps[0], x_taps[1], x_taps[2], x_taps[3]
    u0, u1, u2, u3 = x_weights[0], x_weights[1], x_weights[2], x_weights[3]
    for c in range(channels):
        for y in range(height):
            for x in range(width):
                plane[y, x] = np.float32(image[y, x, c])
        _find_taps(rows[c], height, y_taps, y_weights, share)
        _find_taps(columns[c], width, x_taps, x_weights, share)
        for y in range(height):
            p, q = plane[y_taps[0, y]], plane[y_taps[1, y]]
            r, s = plane[y_taps[2, y]], plane[y_taps[3, y]]
            a, b, d, e = y_weights[0, y], y_weights[1, y], y_weights[2, y], y_weights[3, y]
            for x in range(width):
                line[x] = a * p[x] + b * q[x] + d * r[x] + e * s[x]
            for x in range(width):
                value = u0[x] * line[x0[x]] + u1[x] * line[x1[x]] + u2[x] * line[x2[x]] + u3[x] * line[x3[x]]
                out[y, x, c] = value + half


POLE = math.sqrt(3) - 2
"""The pole of the filter that turns samples into spline coefficients."""


def spline_coefficients(image: Pixels) -> Field:
    """The spline's coefficients, (H+3)×(W+3)×4, mirrored by 1 before and 2 after.

    Channels that the image does not have are 0. Large pictures are filtered by all processors.
    """
    height, width, channels = image.shape
    padded = np.zeros((height + 3, width + 3, 4), np.float32)
    inner, lines = padded[1 : height + 1, 1 : width + 1], padded.reshape(height + 3, -1)

    def fill(first: int, end: int) -> None:
        inner[first:end, :, :channels] = image[first:end]

    def filter_columns(first: int, end: int) -> None:
        _filter_down(lines[1 : height + 1], 4 + first, 4 + end, np.empty(end - first, np.float32))

    def filter_rows(first: int, end: int) -> None:
        columns = np.empty((width, 4 * TOGETHER), np.float32)
        pixels = inner[first:end].view(np.complex128)[:, :, 0]
        _filter_rows(pixels, columns, columns.view(np.complex128), np.empty(4 * TOGETHER, np.float32))

    in_bands(fill, height, height * width)
    if height > 1:
        in_bands(filter_columns, 4 * width, height * width)
    if width > 1:
        in_bands(filter_rows, height, height * width)
    for beyond in (-1, width, width + 1):
        padded[:, 1 + beyond] = padded[:, 1 + _reflected(beyond, width)]
    for beyond in (-1, height, height + 1):
        padded[1 + beyond] = padded[1 + _reflected(beyond, height)]
    return padded


TOGETHER = 16
"""Rows that are filtered together: in a single one, each number would have to wait for the one before."""


@compiled
def _filter_rows(pixels, columns, pixels_of_columns, start):
    """The same filter along the second axis, as columns of a buffer; a pixel's four numbers are moved as one."""
    for top in range(0, len(pixels), TOGETHER):
        rows = pixels[top : top + TOGETHER]
        height, width = rows.shape
        for y in range(height):
            for x in range(width):
                pixels_of_columns[x, y] = rows[y, x]
        _filter_down(columns, np.int64(0), 4 * height, start)  # it would be compiled again for a literal 0
        for y in range(height):
            for x in range(width):
                rows[y, x] = pixels_of_columns[x, y]


@compiled
def _filter_down(rows, left, right, start):
    """The recursive filter along the first axis, forwards and backwards, with mirrored ends; `start` is a buffer.

    It filters the columns from `left` on and before `right`.
    """
    count, length = len(rows), right - left
    z, gain = np.float32(POLE), np.float32(6)
    first = rows[0][left:right]
    weight, back = 1.0, POLE ** (2 * count - 2)
    scale = 6 / (1 - back)
    for x in range(length):
        start[x] = np.float32(0)
    for i in range(count):
        both = weight + (back if 0 < i < count - 1 else 0.0)
        if abs(both) < 1e-12 and abs(back) < 1e-12:  # the rest cannot be seen in single precision
            break
        share, row = np.float32(both * scale), rows[i][left:right]
        for x in range(length):
            start[x] += share * row[x]
        weight *= POLE
        back /= POLE
    for x in range(length):
        first[x] = start[x]
    for i in range(1, count):
        before, row = rows[i - 1][left:right], rows[i][left:right]
        for x in range(length):
            row[x] = gain * row[x] + z * before[x]
    before, row = rows[count - 2][left:right], rows[count - 1][left:right]
    last = np.float32(POLE / (POLE * POLE - 1))
    for x in range(length):
        row[x] = last * (z * before[x] + row[x])
    for i in range(count - 2, -1, -1):
        after, row = rows[i + 1][left:right], rows[i][left:right]
        for x in range(length):
            row[x] = z * (after[x] - row[x])


FOUR, SIXTEEN = ir.VectorType(ir.FloatType(), 4), ir.VectorType(ir.FloatType(), 16)


def _add_spline_levels(_, spline, origin, starts, stride, y_weights, x_weights, i, share, total, place):
    """Add `share` times the grey levels at four places, of four channels each, to sixteen numbers from total[place] on.

    The level at place i is the sum of four rows of four neighbours of four channels, by the weights y_weights[:, i]
    and x_weights[:, i], clipped to 0…255 and rounded, halves up. The first of them is spline[origin + starts[i]]; a row
    is `stride` long. The other places are i + 1, i + 2 and i + 3.

    It is written in vectors, since the compiler makes none of sixteen numbers of four rows. Rows are added place by
    place, in vectors of four neighbours; these are then dealt out again, into vectors of four places, one for each
    neighbour, to add the neighbours and round all places at once. Each number is computed as in plain code.
    """
    signature = types.void(spline, origin, starts, stride, y_weights, x_weights, i, share, total, place)

    def generate(context, builder, signature, arguments):
        _, origin, _, stride, _, _, i, share, _, place = arguments
        spline, starts, y_weights, x_weights, total = (
            context.make_array(signature.args[k])(context, builder, arguments[k]) for k in (0, 2, 4, 5, 8)
        )

        def integer(number):
            return ir.Constant(i.type, number)

        def shuffled(a, b, lanes):
            return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), lanes))

        def spread(vector, lanes):
            return shuffled(vector, ir.Constant(vector.type, ir.Undefined), lanes)

        def vector(array, index, kind):
            pointer = builder.bitcast(builder.gep(array.data, [index]), kind.as_pointer())
            return builder.load(pointer, align=4), pointer

        def weights(array, k):
            row = builder.mul(builder.extract_value(array.shape, 1), integer(k))
            return vector(array, builder.add(row, i), FOUR)[0]

        def sum_of_rows(place):
            start = builder.sext(builder.load(builder.gep(starts.data, [builder.add(i, integer(place))])), i.type)
            rows = None
            for k in range(4):
                index = builder.add(builder.add(origin, builder.mul(stride, integer(k))), start)
                weighted = builder.fmul(spread(down[k], [place] * 16), vector(spline, index, SIXTEEN)[0])
                rows = builder.fadd(rows, weighted) if rows else weighted
            return rows

        def halves(first):
            lanes = [*range(first, first + 8), *range(first + 16, first + 24)]
            return shuffled(sums[0], sums[1], lanes), shuffled(sums[2], sums[3], lanes)

        def product(k):
            lanes = [4 * (k % 2) + 8 * place + channel for place in range(4) for channel in range(4)]
            ab, cd = dealt[k // 2]
            return builder.fmul(spread(right[k], [lane // 4 for lane in range(16)]), shuffled(ab, cd, lanes))

        down, right = ([weights(array, k) for k in range(4)] for array in (y_weights, x_weights))
        sums = [sum_of_rows(place) for place in range(4)]
        dealt = halves(0), halves(8)  # the first two neighbours of all places, and the last two
        a, b, c, d = (product(k) for k in range(4))
        value = builder.fadd(builder.fadd(a, b), builder.fadd(c, d))
        black, white, half = (ir.Constant(SIXTEEN, [ir.Constant(FOUR.element, n)] * 16) for n in (0.0, 255.0, 0.5))
        value = builder.select(builder.fcmp_ordered(">", value, black), value, black)
        value = builder.fadd(builder.select(builder.fcmp_ordered("<", value, white), value, white), half)
        level = builder.sitofp(builder.fptosi(value, ir.VectorType(ir.IntType(32), 16)), SIXTEEN)
        alone = builder.insert_element(ir.Constant(SIXTEEN, ir.Undefined), share, ir.Constant(ir.IntType(32), 0))
        before, target = vector(total, place, SIXTEEN)
        builder.store(builder.fadd(before, builder.fmul(level, spread(alone, [0] * 16))), target, align=4)
        return context.get_dummy_value()

    return signature, generate


add_spline_levels: Any = intrinsic(_add_spline_levels)
