"""Digital damage of NOC's candidates."""

from __future__ import annotations

import numpy as np

from brittle._types import Image, Pixels
from brittle.corruptions.images import Draws
from brittle.corruptions.kernels.arithmetic import compiled, mix, nearest_bytes, to_nearest_byte
from brittle.corruptions.kernels.colour import look_up
from brittle.corruptions.kernels.resampling import resized
from brittle.corruptions.kernels.shapes import dashes
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly, integers, levels


def pool_and_repeat(image: Pixels, size: int) -> Pixels:
    """Mean-pool size×size blocks from the top left and enlarge by repetition.

    Pixels that fill no whole block are dropped; the result is centred in the frame and mirrored at its rim (without
    repeating the edge), so the picture moves by half of what was dropped. A block is never larger than the image.
    """
    height, width = image.shape[:2]
    tall, wide = min(size, height), min(size, width)
    if image.dtype != np.uint8:
        whole = image[: height // tall * tall, : width // wide * wide]
        blocks = whole.reshape(height // tall, tall, width // wide, wide, -1).mean(axis=(1, 3), dtype=np.float64)
        return blocks[np.ix_(_shown(height, tall), _shown(width, wide))].astype(image.dtype)
    return _pool_and_repeat(image, tall, wide).reshape(image.shape)


@compiled
def _shown(length, size):
    """Which block each position shows."""
    covered = length // size * size
    lead = (length - covered) // 2
    out = np.empty(length, np.int64)
    for i in range(length):
        at = abs(i - lead)
        if at >= covered:
            at = 2 * covered - 2 - at
        out[i] = at // size
    return out


@compiled
def _pool_and_repeat(image, tall, wide):
    height, width, channels = image.shape
    row_of, column_of = _shown(height, tall), _shown(width, wide)
    columns = width // wide
    share = np.float32(1.0 / (tall * wide))
    out = np.empty((height, width * channels), np.uint8)
    sums = np.empty(width * channels, np.int32)
    means = np.empty(columns * channels, np.uint8)
    drawn = -1
    for y in range(height):
        block = row_of[y]
        target, above = out[y], out[max(y - 1, 0)]
        if block == drawn:
            for i in range(width * channels):
                target[i] = above[i]
            continue
        drawn = block
        sums[:] = 0
        for row in range(block * tall, (block + 1) * tall):
            _add(sums, image[row].reshape(-1))
        for i in range(columns):
            for c in range(channels):
                total = np.int32(0)
                for x in range(i * wide, (i + 1) * wide):
                    total += sums[x * channels + c]
                means[i * channels + c] = to_nearest_byte(np.float32(total) * share)
        for x in range(width):
            for c in range(channels):
                target[x * channels + c] = means[column_of[x] * channels + c]
    return out


@compiled
def _add(sums, line):
    for i in range(len(sums)):
        sums[i] += np.int32(line[i])


@corruption(
    family="digital",
    source="noc",
    full_depth=True,
    count=integers(14, 170, clean=0, furthest=1000),
    pixel=levels(1, 1, 1, 1, 1, clean=None, px=1),
)
def artifacts(image: Pixels, rng: Draws, *, count: float, pixel: float) -> Pixels:
    """Dotted dashes along the rows, all in one grey that is drawn once per image, as of a failing screen.

    A dash is 5×3 pixels; six of seven have five dots of 1×3 pixels on each side where they fit. Quirks kept: the
    code draws how often to repeat a dash, but every repetition lies on the first, so there is one; the dots on one
    side begin nearer to the dash than on the other, the innermost inside it. Code and paper differ in the smallest
    number (14 and 15): the code's is kept. Lengths grow with the shorter side of the image, the number stays.
    """
    grey = int(rng.uniform("grey") * 255 + 0.5)
    return dashes(image, rng.key("dashes"), int(count), grey, pixel, vertical=False)


@corruption(
    family="digital",
    source="noc",
    full_depth=True,
    monotone=False,
    size=integers(2, 4, clean=2, furthest=8),
    weight=levels(1, 1, 1, 1, 1, clean=0),
)
def pixelate(image: Pixels, rng: Draws, *, size: float, weight: float) -> Pixels:  # noqa: ARG001
    """Blocks of n×n pixels with one colour each, their mean; n = 2, 3 or 4 at any image size.

    Quirk kept: where n does not divide the side, the last pixels are dropped and the mosaic is centred, mirrored at
    its rim; so n = 3 moves a picture of 224 px by one pixel, and can be further from the clean image than n = 4.
    Below severity 1 the mosaic of n = 2 fades in.
    """
    blocks = pool_and_repeat(image, int(size))
    return blocks if weight == 1 else mix(image, blocks, weight)


@corruption(family="digital", source="noc", steps=integers(8, 3, clean=255, furthest=1))
def quantization(image: Image, rng: Draws, *, steps: float) -> Image:  # noqa: ARG001
    """Fewer shades: every value goes to the nearest of n + 1 evenly spaced greys, n from 8 down to 3.

    Below severity 1 the number of steps grows to 255, where all values stay.
    """
    return look_up(image, nearest_bytes(np.rint(np.arange(256) / 255 * steps) / steps * 255))


@corruption(
    family="digital",
    source="noc",
    full_depth=True,
    factor=evenly(3.25, first=1.1, clean=1.1, furthest=8),
    weight=levels(1, 1, 1, 1, 1, clean=0),
)
def thumbnail_resize(image: Pixels, rng: Draws, *, factor: float, weight: float) -> Pixels:  # noqa: ARG001
    """A thumbnail shown too large: shrunk to ⌊side/f⌋ and enlarged again, both bilinearly.

    Pillow does both, so shrinking averages over all pixels. The factor is the same at every image size. Below
    severity 1 the result for f = 1.1 is mixed with the clean image, because ⌊side/f⌋ would jump.
    """
    height, width = image.shape[:2]
    large = resized(image, (max(int(height / factor), 1), max(int(width / factor), 1)), (height, width))
    return large if weight == 1 else mix(image, large, weight)


@corruption(
    family="digital",
    source="noc",
    full_depth=True,
    count=integers(14, 180, clean=0, furthest=1000),
    pixel=levels(1, 1, 1, 1, 1, clean=None, px=1),
)
def vertical_artifacts(image: Pixels, rng: Draws, *, count: float, pixel: float) -> Pixels:
    """Dotted dashes along the columns, all in one grey that is drawn once per image, as of a failing screen.

    A dash is 5×3 pixels; six of seven have five dots of 1×3 pixels on each side where they fit. Quirks kept: the
    code draws how often to repeat a dash, but every repetition lies on the first, so there is one; the dots on one
    side begin nearer to the dash than on the other, the innermost inside it. Code and paper differ in the smallest
    number (14 and 15): the code's is kept. Lengths grow with the shorter side of the image, the number stays.
    """
    grey = int(rng.uniform("grey") * 255 + 0.5)
    return dashes(image, rng.key("dashes"), int(count), grey, pixel, vertical=True)
