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
def cubic_weights(positions, count, first, second, third, last):
    """The weights of the neighbours −1, 0, 1, 2 of `count` positions on [0, 1); each loop becomes vector code."""
    one, sixth, half = np.float32(1), np.float32(1 / 6), np.float32(0.5)
    for i in range(count):
        r = one - positions[i]
        first[i] = r * r * r * sixth
    for i in range(count):
        t = positions[i]
        second[i] = np.float32(2 / 3) - half * t * t * (np.float32(2) - t)
    for i in range(count):
        t = positions[i]
        last[i] = t * t * t * sixth
    for i in range(count):
        third[i] = one - first[i] - second[i] - last[i]


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
    cubic_weights(share, count, weights[0], weights[1], weights[2], weights[3])
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
    inner, lines = padded[1 : height + 1], padded.reshape(height + 3, -1)

    def fill(first: int, end: int) -> None:
        inner[first:end, 1 : width + 1, :channels] = image[first:end]

    def filter_columns(first: int, end: int) -> None:
        _filter_down(lines[1 : height + 1], 4 + first, 4 + end, np.empty(end - first, np.float32))

    def filter_rows(first: int, end: int) -> None:
        _filter_rows(inner[first:end], width, np.empty(4, np.float32))

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


@compiled
def _filter_rows(pixels, width, start):
    for y in range(len(pixels)):
        _filter_down(pixels[y][1 : width + 1], 0, 4, start)


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


def _add_spline_levels(_, spline, start, stride, y_weights, x_weights, i, share, total, place):
    """Add `share` times the grey levels of four channels at one place to total[place], … total[place + 3].

    A level is the sum of four rows of four neighbours of four channels, the first at spline[start], the next row
    `stride` further on, by the weights y_weights[:, i] and x_weights[:, i], clipped to 0…255 and rounded, halves up.
    It is written in vectors, since the compiler makes none of sixteen numbers of four rows; each number is computed
    as in plain code.
    """
    signature = types.void(spline, start, stride, y_weights, x_weights, i, share, total, place)

    def generate(context, builder, signature, arguments):
        places = [None] * 9
        for k in (0, 3, 4, 7):
            places[k] = context.make_array(signature.args[k])(context, builder, arguments[k])
        spline, _, _, y_weights, x_weights, _, _, total, _ = places
        _, start, stride, _, _, i, share, _, place = arguments

        def splat(number, kind):
            first = builder.insert_element(ir.Constant(kind, ir.Undefined), number, ir.Constant(ir.IntType(32), 0))
            zeros = ir.Constant(ir.VectorType(ir.IntType(32), kind.count), None)
            return builder.shuffle_vector(first, ir.Constant(kind, ir.Undefined), zeros)

        def pointer(array, index, kind):
            return builder.bitcast(builder.gep(array.data, [index]), kind.as_pointer())

        def weight(array, k, kind):
            columns = builder.extract_value(array.shape, 1)
            index = builder.add(builder.mul(columns, ir.Constant(i.type, k)), i)
            return splat(builder.load(builder.gep(array.data, [index])), kind)

        def part(vector, k):
            chosen = ir.Constant(ir.VectorType(ir.IntType(32), 4), [4 * k + lane for lane in range(4)])
            return builder.shuffle_vector(vector, ir.Constant(SIXTEEN, ir.Undefined), chosen)

        rows = None
        for k in range(4):
            numbers = builder.load(pointer(spline, start, SIXTEEN), align=4)
            product = builder.fmul(weight(y_weights, k, SIXTEEN), numbers)
            rows = builder.fadd(rows, product) if rows else product
            start = builder.add(start, stride)
        a, b, c, d = (builder.fmul(weight(x_weights, k, FOUR), part(rows, k)) for k in range(4))
        value = builder.fadd(builder.fadd(a, b), builder.fadd(c, d))
        black, white, half = (ir.Constant(FOUR, [ir.Constant(FOUR.element, level)] * 4) for level in (0.0, 255.0, 0.5))
        value = builder.select(builder.fcmp_ordered(">", value, black), value, black)
        value = builder.fadd(builder.select(builder.fcmp_ordered("<", value, white), value, white), half)
        level = builder.sitofp(builder.fptosi(value, ir.VectorType(ir.IntType(32), 4)), FOUR)
        target = pointer(total, place, FOUR)
        added = builder.fadd(builder.load(target, align=4), builder.fmul(level, splat(share, FOUR)))
        builder.store(added, target, align=4)
        return context.get_dummy_value()

    return signature, generate


add_spline_levels: Any = intrinsic(_add_spline_levels)
