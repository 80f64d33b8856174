"""Digital damage of ImageNet-C."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from brittle._types import Field, Image, Key, Pixels
from brittle.corruptions.images import Draws
from brittle.corruptions.kernels.arithmetic import add_scaled, compiled, inlined, level
from brittle.corruptions.kernels.blur import gaussian
from brittle.corruptions.kernels.colour import change_saturation
from brittle.corruptions.kernels.jpeg import through_jpeg
from brittle.corruptions.kernels.random_words import uniforms
from brittle.corruptions.kernels.resampling import jittered_square
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import levels


@compiled
def _warp(image, matrix, dx, dy, alpha):
    """Read the image at matrix·(x, y, 1), and what that gives at (x + α·dx, y + α·dy); without a field, only the first.

    Borders of the affine map mirror without repeating the edge, those of the field repeat it. Channels are kept apart,
    so that one row of one channel is one loop of vector code.
    """
    height, width, channels = image.shape
    planes = np.empty((channels, height * width), np.float32)
    warped = np.empty((channels, height * width), np.float32)
    _split(image.reshape(-1), planes)
    xs, ys = np.empty(width), np.empty(width)
    at, shares = np.empty((4, width), np.uint32), np.empty((2, width), np.float32)
    line = np.empty((channels, width), np.float32)
    for y in range(height):
        for x in range(width):
            xs[x] = matrix[0, 0] * x + matrix[0, 1] * y + matrix[0, 2]
            ys[x] = matrix[1, 0] * x + matrix[1, 1] * y + matrix[1, 2]
        _find_corners(xs, ys, height, width, 0, at, shares)
        _interpolate(planes, at, shares, warped, y * width)
    out = np.empty(image.shape, image.dtype)
    target = out.reshape(-1)
    if not len(dx):
        _join(warped, target, 0)
        return out
    for y in range(height):
        for x in range(width):
            xs[x], ys[x] = x + np.float64(dx[y, x] * alpha), y + np.float64(dy[y, x] * alpha)
        _find_corners(xs, ys, height, width, 1, at, shares)
        _interpolate(warped, at, shares, line, 0)
        _join(line, target, y * width * channels)
    return out


@compiled
def _split(pixels, planes):
    """The channels of interleaved pixels."""
    count = np.uint64(planes.shape[1])
    if len(planes) == 3:
        r, g, b = planes[0], planes[1], planes[2]
        one, two, three = np.uint64(1), np.uint64(2), np.uint64(3)
        for i in range(count):
            r[i], g[i], b[i] = pixels[three * i], pixels[three * i + one], pixels[three * i + two]
    else:
        for i in range(count):
            planes[0, i] = pixels[i]


@compiled
def _join(planes, pixels, start):
    """Interleave channels from `start` on; bytes are truncated."""
    count, to = np.uint64(planes.shape[1]), np.uint64(start)
    if len(planes) == 3:
        r, g, b = planes[0], planes[1], planes[2]
        one, two, three = np.uint64(1), np.uint64(2), np.uint64(3)
        for i in range(count):
            pixels[to + three * i] = level(r[i])
            pixels[to + three * i + one] = level(g[i])
            pixels[to + three * i + two] = level(b[i])
    else:
        for i in range(count):
            pixels[to + i] = level(planes[0, i])


@compiled
def _find_corners(xs, ys, height, width, edge, at, shares):
    """The four pixels around each position, and the shares of the right and of the lower ones.

    Outside of the frame is its mirror image, with the edge repeated once (`edge` 1) or not (0).
    """
    count = np.uint64(len(xs))
    u, v, a, b, p, q = shares[0], shares[1], at[0], at[1], at[2], at[3]
    left = top = np.int32(0)
    right = bottom = np.int32(0)
    for x in range(count):
        across, down = np.floor(xs[x]), np.floor(ys[x])
        u[x], v[x] = np.float32(xs[x] - across), np.float32(ys[x] - down)
        i, j = np.int32(across), np.int32(down)
        left, right, top, bottom = min(left, i), max(right, i), min(top, j), max(bottom, j)
        a[x], p[x] = np.uint32(i), np.uint32(j)
    columns, last_x, last_y = np.uint32(width), np.int32(width - 1), np.int32(height - 1)
    if left >= 0 and top >= 0 and right < last_x and bottom < last_y:
        for x in range(count):
            corner = p[x] * columns + a[x]
            a[x], b[x], p[x], q[x] = corner, corner + np.uint32(1), corner + columns, corner + columns + np.uint32(1)
    elif left > -width and top > -height and right < 2 * width - 3 and bottom < 2 * height - 3:
        extra = np.int32(edge)
        for x in range(count):
            i, j = np.int32(a[x]), np.int32(p[x])
            xa, xb = _reflect(i, last_x, extra), _reflect(i + np.int32(1), last_x, extra)
            ya, yb = _reflect(j, last_y, extra), _reflect(j + np.int32(1), last_y, extra)
            upper, lower = np.uint32(ya) * columns, np.uint32(yb) * columns
            a[x], b[x] = upper + np.uint32(xa), upper + np.uint32(xb)
            p[x], q[x] = lower + np.uint32(xa), lower + np.uint32(xb)
    else:
        for x in range(count):
            column, row = np.int64(np.int32(a[x])), np.int64(np.int32(p[x]))
            from_x, to_x = _mirror(column, width, edge), _mirror(column + 1, width, edge)
            from_y, to_y = _mirror(row, height, edge) * width, _mirror(row + 1, height, edge) * width
            a[x], b[x], p[x], q[x] = from_y + from_x, from_y + to_x, to_y + from_x, to_y + to_x


@inlined
def _reflect(i, last, edge):
    """The mirror image of a position less than one length outside."""
    i = -i - edge if i < 0 else i
    return last + last + edge - i if i > last else i


@inlined
def _mirror(i, length, edge):
    """… 2 1 | 0 1 2 …, or with the edge … 1 0 | 0 1 …, however far outside."""
    if 0 <= i < length:
        return i
    if length == 1:
        return 0
    i %= 2 * length - 2 + 2 * edge
    return i if i < length else 2 * length - 2 + edge - i


@compiled
def _interpolate(planes, at, shares, out, start):
    """Each channel between the four corners."""
    count, to = np.uint64(at.shape[1]), np.uint64(start)
    u, v, a, b, p, q = shares[0], shares[1], at[0], at[1], at[2], at[3]
    for c in range(len(planes)):
        plane, target = planes[c], out[c]
        for x in range(count):
            one, other = plane[a[x]], plane[p[x]]
            upper = one + u[x] * (plane[b[x]] - one)
            lower = other + u[x] * (plane[q[x]] - other)
            target[to + x] = upper + v[x] * (lower - upper)


NO_FIELD = np.empty((0, 0), np.float32)

FEW_TAPS = 8.0
"""Up to this σ the kernel is short and plain convolution is the quickest."""


def smooth_noise(key: Key, height: int, width: int, sigma: float) -> Field:
    """Noise uniform on [−1, 1), smoothed by a Gaussian that ends at 3σ, with mirrored borders."""
    noise = uniforms(key, height, width)
    if sigma <= FEW_TAPS:
        return gaussian(noise, sigma, cut=3.0, mirrored=True)
    return _through_modes(noise, *_modes(height, sigma), *_modes(width, sigma))


@lru_cache(maxsize=32)
def _modes(length: int, sigma: float) -> tuple[Field, Field]:
    """The cosines that survive smoothing, and how much of each does.

    With mirrored borders a symmetric kernel scales each cosine of the DCT-II by its transfer function. A wide
    Gaussian keeps only the slowest few, at any width of the kernel: 99.99 % of the smoothed field's energy is
    kept.
    """
    radius = int(3 * sigma + 0.5)
    taps = np.exp(-0.5 * (np.arange(-radius, radius + 1) / sigma) ** 2)
    taps /= taps.sum()
    limit = min(length, math.ceil(8 * length / (math.pi * sigma)) + 2)
    frequencies = np.arange(limit) * math.pi / length
    transfer = np.cos(np.outer(frequencies, np.arange(-radius, radius + 1))) @ taps
    rest = np.cumsum(transfer[::-1] ** 2)[::-1]
    kept = max(1, int(np.count_nonzero(rest > 1e-4 * rest[0])))
    cosines = np.cos(np.outer(frequencies[:kept], np.arange(length) + 0.5)) * math.sqrt(2 / length)
    cosines[0] /= math.sqrt(2)
    return cosines.astype(np.float32), transfer[:kept].astype(np.float32)


@compiled
def _through_modes(noise, rows, row_gain, columns, column_gain):
    """Project onto the cosines, scale, and come back."""
    height, width = noise.shape
    projected = np.zeros((len(rows), width), np.float32)
    for y in range(height):
        for k in range(len(rows)):
            add_scaled(projected[k], rows[k, y], noise[y])
    mixed = np.zeros((len(rows), width), np.float32)
    for k in range(len(rows)):
        for m in range(len(columns)):
            total = 0.0
            for x in range(width):
                total += projected[k, x] * columns[m, x]
            add_scaled(mixed[k], np.float32(total) * row_gain[k] * column_gain[m], columns[m])
    out = np.zeros((height, width), np.float32)
    for y in range(height):
        for k in range(len(rows)):
            add_scaled(out[y], rows[k, y], mixed[k])
    return out


def mosaic(image: Pixels, rows: int, columns: int) -> Pixels:
    """Reduce to rows×columns box means, along x, then along y, each rounded if of bytes; repeat them to full size.

    A box holds the pixels whose centres fall into it, so neighbouring boxes may differ by one pixel in width.
    """
    if image.dtype != np.uint8:
        return _box_means(_box_means(image, columns, 1), rows, 0)
    return _mosaic(image, rows, columns).reshape(image.shape)


def _box_means(image: Pixels, count: int, axis: int) -> Pixels:
    """The boxes along one axis, each repeated over the pixels that show it; nothing is rounded."""
    begin, end, shown = (ends.astype(np.int64) for ends in _boxes(image.shape[axis], count))
    sums = np.cumsum(image, axis=axis, dtype=np.float64)
    sums = np.concatenate([np.zeros_like(sums.take([0], axis)), sums], axis)
    wide = np.expand_dims(end - begin, tuple(i for i in range(3) if i != axis))
    means = (sums.take(end, axis) - sums.take(begin, axis)) / wide
    return means.take(shown, axis).astype(image.dtype)


@compiled
def _boxes(length, count):
    """Where each box begins, where it ends, and which box each pixel shows."""
    begin, end, shown = np.empty(count, np.uint32), np.empty(count, np.uint32), np.empty(length, np.uint32)
    scale = length / count
    for i in range(count):
        centre = (i + 0.5) * scale
        low, high = max(int(centre - 0.5 * scale + 0.5), 0), min(int(centre + 0.5 * scale + 0.5), length)
        while low < high - 1 and (low - centre + 0.5) / scale <= -0.5:  # a centre on the edge counts on the right only
            low += 1
        while high > low + 1 and (high - 1 - centre + 0.5) / scale > 0.5:
            high -= 1
        begin[i], end[i] = low, high
    for x in range(length):
        shown[x] = int((x + 0.5) * (count / length))
    return begin, end, shown


@compiled
def _mosaic(image, rows, columns):
    height, width, channels = image.shape
    top, bottom, row_of = _boxes(height, rows)
    left, right, column_of = _boxes(width, columns)
    out = np.empty((height, width * channels), np.uint8)
    sums = np.empty(columns * channels, np.int32)
    means = np.empty(columns * channels, np.uint8)
    shown = -1
    for y in range(height):
        box = row_of[y]
        target = out[y]
        if box == shown:
            above = out[y - 1]
            for i in range(width * channels):
                target[i] = above[i]
            continue
        shown = box
        sums[:] = 0
        for row in range(top[box], bottom[box]):
            _add_box_means(image[row], left, right, sums)
        share = np.float32(1) / np.float32(bottom[box] - top[box])
        for i in range(len(sums)):
            means[i] = _round(sums[i], share)
        if channels == 3:
            for x in range(width):
                at = 3 * column_of[x]
                target[3 * x], target[3 * x + 1], target[3 * x + 2] = means[at], means[at + 1], means[at + 2]
        else:
            for x in range(width):
                target[x] = means[column_of[x]]
    return out


@compiled
def _add_box_means(line, left, right, sums):
    channels = line.shape[1]
    for i in range(len(left)):
        share = np.float32(1) / np.float32(right[i] - left[i])
        if channels == 3:
            r, g, b = np.int32(0), np.int32(0), np.int32(0)
            for x in range(left[i], right[i]):
                r += np.int32(line[x, 0])
                g += np.int32(line[x, 1])
                b += np.int32(line[x, 2])
            sums[3 * i] += np.int32(_round(r, share))
            sums[3 * i + 1] += np.int32(_round(g, share))
            sums[3 * i + 2] += np.int32(_round(b, share))
        else:
            total = np.int32(0)
            for x in range(left[i], right[i]):
                total += np.int32(line[x, 0])
            sums[i] += np.int32(_round(total, share))


@inlined
def _round(total, share):
    """The mean, halves rounded up; the hair on top keeps an inexact reciprocal from rounding them down."""
    return np.uint8(np.int32(np.float32(total) * share + np.float32(0.5001)))


@corruption(
    family="digital",
    source="imagenet-c",
    full_depth=True,
    factor=levels(
        *(0.4, 0.3, 0.2, 0.1, 0.05),
        at32=(0.75, 0.5, 0.4, 0.3, 0.15),
        at64=(0.4, 0.3, 0.2, 0.1, 0.05),
        at299=(0.4, 0.3, 0.2, 0.1, 0.05),
        clean=1,
    ),
)
def contrast(image: Pixels, rng: Draws, *, factor: float) -> Pixels:  # noqa: ARG001
    """Every channel is drawn towards its own mean: (x − μ)·c + μ.

    Quirk kept: μ is the mean of the channel, not of the luminance, so colour casts stay.
    """
    if image.dtype != np.uint8:
        mean = image.mean(axis=(0, 1), dtype=np.float64)
        return np.clip((image - mean) * factor + mean, 0, 255).astype(image.dtype)
    return _draw_towards_mean(image, factor)


SUMMED = np.uint64(2**24)
"""So many bytes fit into the sum of 32 bits that vector code adds up."""


@compiled
def _draw_towards_mean(image, factor):
    height, width, channels = image.shape
    source, count = image.reshape(-1), np.uint64(height * width)
    sums = np.zeros(channels, np.int64)
    one, two, three = np.uint64(1), np.uint64(2), np.uint64(3)
    if channels == 3:
        for start in range(np.uint64(0), count, SUMMED):
            red, green, blue = np.uint32(0), np.uint32(0), np.uint32(0)
            for i in range(start, min(start + SUMMED, count)):
                red = np.uint32(red + np.uint32(source[three * i]))
                green = np.uint32(green + np.uint32(source[three * i + one]))
                blue = np.uint32(blue + np.uint32(source[three * i + two]))
            sums[0], sums[1], sums[2] = sums[0] + red, sums[1] + green, sums[2] + blue
    else:
        for i in range(count):
            sums[0] += source[i]
    table = np.empty((channels, 256), np.uint8)
    for c in range(channels):
        mean = sums[c] / (height * width)
        for grey in range(256):
            table[c, grey] = np.uint8(np.int32(min(max((grey - mean) * factor + mean, 0.0), 255.0)))
    out = np.empty(image.shape, np.uint8)
    target, values = out.reshape(-1), table.reshape(-1)
    if channels == 3:
        for i in range(count):
            at = three * i
            target[at] = values[source[at]]
            target[at + one] = values[np.uint32(256) + np.uint32(source[at + one])]
            target[at + two] = values[np.uint32(512) + np.uint32(source[at + two])]
    else:
        for i in range(count):
            target[i] = values[source[i]]
    return out


@corruption(
    family="digital",
    source="imagenet-c",
    full_depth=True,
    monotone=False,
    moves_pixels=True,
    alpha=levels(
        *(488, 488, 12.2, 17.08, 29.28),
        at32=(0, 1.6, 2.56, 3.2, 3.2),
        at64=(0, 3.2, 6.4, 6.4, 10.24),
        at299=(720, 720, 18, 25.2, 43.2),
        clean=0,
        px=2,
    ),
    sigma=levels(
        *(170.8, 19.52, 2.44, 2.44, 2.44),
        at32=(0, 6.4, 1.92, 1.28, 0.96),
        at64=(0, 19.2, 5.12, 1.92, 1.92),
        at299=(252, 28.8, 3.6, 3.6, 3.6),
        clean=None,
        px=1,
    ),
    affine_jitter=levels(
        *(24.4, 48.8, 4.88, 4.88, 4.88),
        at32=(2.56, 2.24, 1.92, 1.6, 0.96),
        at64=(5.12, 3.84, 3.84, 1.92, 1.28),
        at299=(36, 72, 7.2, 7.2, 7.2),
        clean=0,
        px=1,
    ),
)
def elastic_transform(image: Pixels, rng: Draws, *, alpha: float, sigma: float, affine_jitter: float) -> Pixels:
    """A rubber sheet: a random affine map, then a smooth random displacement of every pixel.

    Quirks kept: at 224 px the constants are multiples of 244, a slip of the authors, and at 299 px of 360;
    severities 1 and 2 are dominated by the affine map and 3 to 5 by the fine displacement, so the series is not
    monotone. α has the unit px²: smoothing over σ weakens white noise by 1/σ. Not kept: OpenCV's steps of 1/32 px, and
    the mixed-up coordinates of the control points, which matter only off squares.
    """
    height, width = image.shape[:2]
    moves = [[rng.uniform(f"{axis}{i}", -affine_jitter, affine_jitter) for axis in "xy"] for i in range(3)]
    dx = dy = NO_FIELD
    if alpha > 0 and sigma > 0:
        dx = smooth_noise(rng.key("dx"), height, width, sigma)
        dy = smooth_noise(rng.key("dy"), height, width, sigma)
    return _warp(image, jittered_square(height, width, moves), dx, dy, np.float32(alpha))


@corruption(
    family="digital",
    source="imagenet-c",
    fades=False,
    quality=levels(
        *(25, 18, 15, 10, 7),
        at32=(80, 65, 58, 50, 40),
        at64=(65, 58, 50, 40, 25),
        at299=(23, 16, 13, 8, 5),
        clean=100,
        integer=True,
    ),
)
def jpeg_compression(image: Image, rng: Draws, *, quality: float) -> Image:  # noqa: ARG001
    """One JPEG encoding and decoding with 4:2:0 chroma. Qualities are whole numbers, also between the levels.

    Towards severity 0 the quality goes to 100, but fine colour is still lost: chroma has half the resolution.
    """
    return through_jpeg(image, int(quality))


@corruption(
    family="digital",
    source="imagenet-c",
    full_depth=True,
    scale=levels(
        *(0.6, 0.5, 0.4, 0.3, 0.25),
        at32=(0.95, 0.9, 0.85, 0.75, 0.65),
        at64=(0.9, 0.8, 0.7, 0.6, 0.5),
        at299=(0.5, 0.4, 0.3, 0.25, 0.2),
        clean=1,
    ),
)
def pixelate(image: Pixels, rng: Draws, *, scale: float) -> Pixels:  # noqa: ARG001
    """Shrink each side to ⌊side·c⌋ by averaging boxes, and enlarge again by repetition.

    Box means are whole numbers after each of the two passes, as Pillow's BOX filter makes them. The number of
    boxes is whole, so between the levels the mosaic moves in steps.
    """
    height, width = image.shape[:2]
    return mosaic(image, max(1, int(height * scale)), max(1, int(width * scale)))


@corruption(
    family="digital",
    source="imagenet-c",
    full_depth=True,
    monotone=False,
    channels="rgb",
    factor=levels(
        *(0.3, 0.1, 2, 5, 20),
        at32=(0.3, 0.1, 1.5, 2, 2.5),
        at64=(0.3, 0.1, 2, 5, 30),
        at299=(0.3, 0.1, 2, 5, 20),
        clean=1,
    ),
    shift=levels(
        *(0, 0, 0, 0.1, 0.2),
        at32=(0, 0, 0, 0.1, 0.2),
        at64=(0, 0, 0, 0.1, 0.2),
        at299=(0, 0, 0, 0.1, 0.2),
        clean=0,
    ),
)
def saturate(image: Pixels, rng: Draws, *, factor: float, shift: float) -> Pixels:  # noqa: ARG001
    """Colours fade (severities 1 and 2) or glow (3 to 5): S ← S·a + b of HSV. One of the four extra corruptions.

    Quirks kept: a neutral grey has hue 0, so the shift of severities 4 and 5 turns it red; and the published
    series changes direction, so on its way from 2 to 3 the picture passes through the clean one.
    """
    return change_saturation(image, factor, shift)
