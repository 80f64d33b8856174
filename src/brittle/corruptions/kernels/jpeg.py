"""What a picture loses in a JPEG file of 4:2:0 chroma, without the file: libjpeg's integer arithmetic, to the bit.

Encoding to Huffman codes and decoding them loses nothing, and takes most of libjpeg-turbo's time, so neither is done.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from brittle._errors import BrittleError
from brittle._types import Image
from brittle.corruptions.kernels.arithmetic import compiled, inlined

LUMA = (
    *(16, 11, 10, 16, 24, 40, 51, 61, 12, 12, 14, 19, 26, 58, 60, 55),
    *(14, 13, 16, 24, 40, 57, 69, 56, 14, 17, 22, 29, 51, 87, 80, 62),
    *(18, 22, 37, 56, 68, 109, 103, 77, 24, 35, 55, 64, 81, 104, 113, 92),
    *(49, 64, 78, 87, 103, 121, 120, 101, 72, 92, 95, 98, 112, 100, 103, 99),
)
CHROMA = (
    *(17, 18, 24, 47, 99, 99, 99, 99, 18, 21, 26, 66, 99, 99, 99, 99),
    *(24, 26, 56, 99, 99, 99, 99, 99, 47, 66, 99, 99, 99, 99, 99, 99),
    *(99,) * 32,
)
"""The example tables K.1 and K.2 of the standard, which are those of quality 50."""

LONGEST = 65_500
"""The longest side that libjpeg takes."""

LANES = 32
"""So many blocks are transformed together, each in a lane of its own."""


def through_jpeg(image: Image, quality: int) -> Image:
    """Encode and decode an image of 1 or 3 channels once, at a quality of 1 … 100, with 4:2:0 chroma for colour.

    The pixels are those of libjpeg-turbo, and so of Pillow and of OpenCV.
    """
    height, width, channels = image.shape
    if max(height, width) > LONGEST:
        raise BrittleError(f"JPEG images have sides of up to {LONGEST} px, got {width}×{height}")
    tables = _quantisation(quality)
    if channels == 1:
        return _grey(image.reshape(-1), height, width, tables[0], LANES).reshape(image.shape)
    return _colour(image.reshape(-1), height, width, *tables, LANES).reshape(image.shape)


@lru_cache(maxsize=128)
def _quantisation(quality: int) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """For luma and chroma, each coefficient's step q, and the factor and the shift that divide by 8q.

    n·factor >> shift is ⌊n/8q⌋ for all n below 2¹⁵, with a product below 2³².
    """
    scale = 5000 // quality if quality < 50 else 200 - 2 * quality
    steps = np.clip((np.array([LUMA, CHROMA]) * scale + 50) // 100, 1, 255)
    shifts = np.frexp(8 * steps)[1] + 15
    factors = -(-(1 << shifts) // (8 * steps))
    tables = np.stack([steps, factors, shifts], 2).astype(np.uint32)
    return tables[0].reshape(-1), tables[1].reshape(-1)


@compiled
def _grey(pixels, height, width, table, lanes):
    wide, high = (width + 7) // 8 * 8, (height + 7) // 8 * 8
    words = np.empty(high * wide // 4, np.uint32)
    plane = words.view(np.uint8)
    for y in range(height):
        for x in range(width):
            plane[y * wide + x] = pixels[y * width + x]
    _fill(plane, height, width, high, wide)
    _code_blocks(words, high // 8, wide // 8, table, lanes)
    out = np.empty(height * width, np.uint8)
    for y in range(height):
        for x in range(width):
            out[y * width + x] = plane[y * wide + x]
    return out


@compiled
def _fill(plane, height, width, high, wide):
    """Repeat the last column and the last row up to the end of the blocks."""
    for y in range(height):
        for x in range(width, wide):
            plane[y * wide + x] = plane[y * wide + width - 1]
    for y in range(height, high):
        for x in range(wide):
            plane[y * wide + x] = plane[(height - 1) * wide + x]


@compiled
def _colour(pixels, height, width, luma_table, chroma_table, lanes):
    wide, high = (width + 7) // 8 * 8, (height + 7) // 8 * 8
    chroma_wide, chroma_high = (width + 15) // 16 * 8, (height + 15) // 16 * 8
    luma_words = np.empty(high * wide // 4, np.uint32)
    chroma_words = np.empty(2 * chroma_high * chroma_wide // 4, np.uint32)  # blue above red: one table for both
    luma, chroma = luma_words.view(np.uint8), chroma_words.view(np.uint8)
    rows, columns, red = (height + 1) // 2, (width + 1) // 2, chroma_high * chroma_wide
    pairs = np.empty(4 * chroma_wide, np.uint16)
    full = pairs.view(np.uint8)  # the differences to blue of two rows, then those to red
    for row in range(rows):
        for second in range(2):
            y = min(2 * row + second, height - 1)
            at = second * 2 * chroma_wide
            _to_luma_and_chroma(pixels, y * width * 3, width, luma, y * wide, full, at, at + 4 * chroma_wide)
            for x in range(width, 2 * chroma_wide):
                full[at + x], full[at + 4 * chroma_wide + x] = (
                    full[at + width - 1],
                    full[at + 4 * chroma_wide + width - 1],
                )
        for part in range(2):
            _halve(pairs, part * 2 * chroma_wide, chroma_wide, chroma, part * red + row * chroma_wide)
    _fill(luma, height, width, high, wide)
    _fill(chroma[:red], rows, chroma_wide, chroma_high, chroma_wide)
    _fill(chroma[red:], rows, chroma_wide, chroma_high, chroma_wide)
    _code_blocks(luma_words, high // 8, wide // 8, luma_table, lanes)
    _code_blocks(chroma_words, chroma_high // 4, chroma_wide // 8, chroma_table, lanes)
    out = np.empty(height * width * 3, np.uint8)
    sums = np.empty(columns + 2, np.int32)
    for y in range(height):
        near = y // 2
        far = min(max(near + (1 if y % 2 else -1), 0), rows - 1)
        for part in range(2):
            at, to = part * red, part * chroma_wide
            if columns > 2:
                _double(chroma, at + near * chroma_wide, at + far * chroma_wide, columns, sums, pairs, to)
            else:  # libjpeg does not smooth so narrow a picture
                for x in range(columns):
                    full[2 * (to + x)] = full[2 * (to + x) + 1] = chroma[at + near * chroma_wide + x]
        _to_rgb(luma, y * wide, full, 2 * chroma_wide, width, out, y * width * 3)
    return out


@compiled
def _to_luma_and_chroma(pixels, start, width, luma, luma_at, chroma, blue_at, red_at):
    at, to, blue, red = np.uint64(start), np.uint64(luma_at), np.uint64(blue_at), np.uint64(red_at)
    for x in range(np.uint64(width)):
        i = at + np.uint64(3) * x
        r, g, b = np.int32(pixels[i]), np.int32(pixels[i + np.uint64(1)]), np.int32(pixels[i + np.uint64(2)])
        luma[to + x] = np.uint8(np.int32(19595 * r + 38470 * g + 7471 * b + 32768) >> 16)
        chroma[blue + x] = np.uint8(np.int32(32768 * b - 11059 * r - 21709 * g + 8421375) >> 16)
        chroma[red + x] = np.uint8(np.int32(32768 * r - 27439 * g - 5329 * b + 8421375) >> 16)


@compiled
def _halve(pairs, start, width, out, out_at):
    """The means of 2×2 pixels, which are rounded down and up in turn: a word holds two neighbours of a row."""
    upper, lower, to = np.uint64(start), np.uint64(start + width), np.uint64(out_at)
    for x in range(np.uint64(width)):
        a, b = np.int32(pairs[upper + x]), np.int32(pairs[lower + x])
        total = (a & 255) + (a >> 8) + (b & 255) + (b >> 8) + 1 + np.int32(x & np.uint64(1))
        out[to + x] = np.uint8(np.int32(total) >> 2)


@compiled
def _double(plane, near_at, far_at, columns, sums, pairs, out_at):
    """One row of doubled chroma: ¾ of the near row and column, ¼ of the far ones, edges repeated."""
    near, far, to, count = np.uint64(near_at), np.uint64(far_at), np.uint64(out_at), np.uint64(columns)
    one, two = np.uint64(1), np.uint64(2)
    for x in range(count):
        sums[x + one] = 3 * np.int32(plane[near + x]) + np.int32(plane[far + x])
    sums[0], sums[count + one] = sums[1], sums[count]
    for x in range(count):
        here = 3 * sums[x + one]
        left, right = np.int32(here + sums[x] + 8) >> 4, np.int32(here + sums[x + two] + 7) >> 4
        pairs[to + x] = np.uint16(left | (right << 8))


@compiled
def _to_rgb(luma, luma_at, chroma, red_at, width, out, start):
    at, red, to = np.uint64(luma_at), np.uint64(red_at), np.uint64(start)
    for x in range(np.uint64(width)):
        y, b, r = np.int32(luma[at + x]), np.int32(chroma[x]) - np.int32(128), np.int32(chroma[red + x]) - np.int32(128)
        i = to + np.uint64(3) * x
        out[i] = _limited(y + (np.int32(91881 * r + 32768) >> 16))
        out[i + np.uint64(1)] = _limited(y + (np.int32(32768 - 22554 * b - 46802 * r) >> 16))
        out[i + np.uint64(2)] = _limited(y + (np.int32(116130 * b + 32768) >> 16))


@inlined
def _limited(value):
    return np.uint8(min(max(np.int32(value), np.int32(0)), np.int32(255)))


@compiled
def _code_blocks(words, down, across, table, lanes):
    """Transform, quantise and transform back all blocks of a plane, `lanes` at a time; a word holds four pixels."""
    stride, total = 2 * across, down * across
    low, high, work = np.zeros(8 * lanes, np.uint32), np.zeros(8 * lanes, np.uint32), np.empty(64 * lanes, np.int32)
    for first in range(0, total, lanes):
        count = min(lanes, total - first)
        row, column = first // across, first % across
        for lane in range(count):
            at = row * 8 * stride + 2 * column
            for i in range(8):
                low[i * lanes + lane], high[i * lanes + lane] = words[at + i * stride], words[at + i * stride + 1]
            column += 1
            if column == across:
                row, column = row + 1, 0
        padded = (count + 7) // 8 * 8
        for i in range(8):
            _transform_row(low, high, i * lanes, padded, work, lanes)
        for j in range(8):
            _quantise_column(work, j, padded, table, lanes)
        for i in range(8):
            _restore_row(work, i * lanes, padded, low, high, lanes)
        row, column = first // across, first % across
        for lane in range(count):
            at = row * 8 * stride + 2 * column
            for i in range(8):
                words[at + i * stride], words[at + i * stride + 1] = low[i * lanes + lane], high[i * lanes + lane]
            column += 1
            if column == across:
                row, column = row + 1, 0


@inlined
def _forward(a, b, c, d, e, f, g, h):
    """The discrete cosine transform of eight numbers; all but the first and the fifth are 2¹³ times as large."""
    t0, t7, t1, t6 = np.int32(a + h), np.int32(a - h), np.int32(b + g), np.int32(b - g)
    t2, t5, t3, t4 = np.int32(c + f), np.int32(c - f), np.int32(d + e), np.int32(d - e)
    t10, t13, t11, t12 = np.int32(t0 + t3), np.int32(t0 - t3), np.int32(t1 + t2), np.int32(t1 - t2)
    z1 = np.int32((t12 + t13) * 4433)
    z3, z4 = np.int32(t4 + t6), np.int32(t5 + t7)
    z5 = np.int32((z3 + z4) * 9633)
    z3, z4 = np.int32(z5 - z3 * 16069), np.int32(z5 - z4 * 3196)
    p, q = np.int32((t4 + t7) * 7373), np.int32((t5 + t6) * 20995)
    return (
        np.int32(t10 + t11),
        np.int32(t7 * 12299 - p + z4),
        np.int32(z1 + t13 * 6270),
        np.int32(t6 * 25172 - q + z3),
        np.int32(t10 - t11),
        np.int32(t5 * 16819 - q + z4),
        np.int32(z1 - t12 * 15137),
        np.int32(t4 * 2446 - p + z3),
    )


@inlined
def _inverse(a, b, c, d, e, f, g, h):
    """The inverse transform of eight numbers, 2¹³ times as large."""
    z1 = np.int32((c + g) * 4433)
    t2, t3 = np.int32(z1 - g * 15137), np.int32(z1 + c * 6270)
    t0, t1 = np.int32((a + e) << 13), np.int32((a - e) << 13)
    t10, t13, t11, t12 = np.int32(t0 + t3), np.int32(t0 - t3), np.int32(t1 + t2), np.int32(t1 - t2)
    z3, z4 = np.int32(h + d), np.int32(f + b)
    z5 = np.int32((z3 + z4) * 9633)
    z3, z4 = np.int32(z5 - z3 * 16069), np.int32(z5 - z4 * 3196)
    p, q = np.int32((h + b) * 7373), np.int32((f + d) * 20995)
    t0, t1 = np.int32(h * 2446 - p + z3), np.int32(f * 16819 - q + z4)
    t2, t3 = np.int32(d * 25172 - q + z3), np.int32(b * 12299 - p + z4)
    return (
        np.int32(t10 + t3),
        np.int32(t11 + t2),
        np.int32(t12 + t1),
        np.int32(t13 + t0),
        np.int32(t13 - t0),
        np.int32(t12 - t1),
        np.int32(t11 - t2),
        np.int32(t10 - t3),
    )


@inlined
def _byte(word, shift):
    return np.int32(np.int32((word >> np.uint32(shift)) & np.uint32(255)) - 128)


@compiled
def _transform_row(low, high, start, count, work, lanes):
    o, n = np.uint64(start), np.uint64(lanes)
    w = o * np.uint64(8)
    for lane in range(np.uint64(count)):
        u, v = low[o + lane], high[o + lane]
        a, b, c, d, e, f, g, h = _forward(
            _byte(u, 0), _byte(u, 8), _byte(u, 16), _byte(u, 24), _byte(v, 0), _byte(v, 8), _byte(v, 16), _byte(v, 24)
        )
        i = w + lane
        work[i] = a << 2
        work[i + n] = np.int32(b + 1024) >> 11
        work[i + np.uint64(2) * n] = np.int32(c + 1024) >> 11
        work[i + np.uint64(3) * n] = np.int32(d + 1024) >> 11
        work[i + np.uint64(4) * n] = e << 2
        work[i + np.uint64(5) * n] = np.int32(f + 1024) >> 11
        work[i + np.uint64(6) * n] = np.int32(g + 1024) >> 11
        work[i + np.uint64(7) * n] = np.int32(h + 1024) >> 11


@inlined
def _quantised(value, step, factor, shift):
    """The nearest multiple of the step, halves away from 0; the value is 8 times as large."""
    size = np.uint32(np.uint32(abs(value)) + np.uint32(4) * step)
    level = np.int32(np.uint32(np.uint32(size * factor) >> shift) * step)
    return np.int32(-level) if value < 0 else level


@compiled
def _quantise_column(work, column, count, table, lanes):
    n = np.uint64(lanes)
    start, step = np.uint64(column * lanes), n * np.uint64(8)
    t = np.uint64(3 * column)
    q0, f0, s0 = table[t], table[t + np.uint64(1)], table[t + np.uint64(2)]
    q1, f1, s1 = table[t + np.uint64(24)], table[t + np.uint64(25)], table[t + np.uint64(26)]
    q2, f2, s2 = table[t + np.uint64(48)], table[t + np.uint64(49)], table[t + np.uint64(50)]
    q3, f3, s3 = table[t + np.uint64(72)], table[t + np.uint64(73)], table[t + np.uint64(74)]
    q4, f4, s4 = table[t + np.uint64(96)], table[t + np.uint64(97)], table[t + np.uint64(98)]
    q5, f5, s5 = table[t + np.uint64(120)], table[t + np.uint64(121)], table[t + np.uint64(122)]
    q6, f6, s6 = table[t + np.uint64(144)], table[t + np.uint64(145)], table[t + np.uint64(146)]
    q7, f7, s7 = table[t + np.uint64(168)], table[t + np.uint64(169)], table[t + np.uint64(170)]
    for lane in range(np.uint64(count)):
        i0 = start + lane
        i1, i2, i3 = i0 + step, i0 + np.uint64(2) * step, i0 + np.uint64(3) * step
        i4, i5, i6, i7 = i3 + step, i3 + np.uint64(2) * step, i3 + np.uint64(3) * step, i3 + np.uint64(4) * step
        a, b, c, d = work[i0], work[i1], work[i2], work[i3]
        e, f, g, h = work[i4], work[i5], work[i6], work[i7]
        a, b, c, d, e, f, g, h = _forward(a, b, c, d, e, f, g, h)
        a = _quantised(np.int32(np.int32(a + 2) >> 2), q0, f0, s0)
        b = _quantised(np.int32(np.int32(b + 16384) >> 15), q1, f1, s1)
        c = _quantised(np.int32(np.int32(c + 16384) >> 15), q2, f2, s2)
        d = _quantised(np.int32(np.int32(d + 16384) >> 15), q3, f3, s3)
        e = _quantised(np.int32(np.int32(e + 2) >> 2), q4, f4, s4)
        f = _quantised(np.int32(np.int32(f + 16384) >> 15), q5, f5, s5)
        g = _quantised(np.int32(np.int32(g + 16384) >> 15), q6, f6, s6)
        h = _quantised(np.int32(np.int32(h + 16384) >> 15), q7, f7, s7)
        a, b, c, d, e, f, g, h = _inverse(a, b, c, d, e, f, g, h)
        work[i0], work[i1] = np.int32(a + 1024) >> 11, np.int32(b + 1024) >> 11
        work[i2], work[i3] = np.int32(c + 1024) >> 11, np.int32(d + 1024) >> 11
        work[i4], work[i5] = np.int32(e + 1024) >> 11, np.int32(f + 1024) >> 11
        work[i6], work[i7] = np.int32(g + 1024) >> 11, np.int32(h + 1024) >> 11


@inlined
def _pixel(value):
    """A grey level; the value is 2¹⁸ times as large, and less by 128."""
    return np.uint32(min(max(np.int32(np.int32(value + 131072) >> 18) + np.int32(128), np.int32(0)), np.int32(255)))


@compiled
def _restore_row(work, start, count, low, high, lanes):
    o, n = np.uint64(start), np.uint64(lanes)
    w = o * np.uint64(8)
    for lane in range(np.uint64(count)):
        i = w + lane
        j = i + np.uint64(4) * n
        a, b, c, d = work[i], work[i + n], work[i + np.uint64(2) * n], work[i + np.uint64(3) * n]
        e, f, g, h = work[j], work[j + n], work[j + np.uint64(2) * n], work[j + np.uint64(3) * n]
        a, b, c, d, e, f, g, h = _inverse(a, b, c, d, e, f, g, h)
        low[o + lane] = np.uint32(_pixel(a) | (_pixel(b) << 8) | (_pixel(c) << 16) | (_pixel(d) << 24))
        high[o + lane] = np.uint32(_pixel(e) | (_pixel(f) << 8) | (_pixel(g) << 16) | (_pixel(h) << 24))
