"""Digital damage of Syn2Nat's candidates."""

import cv2
import numpy as np
from numpy.typing import NDArray

from brittle._types import Image, Pixels
from brittle.corruptions.images import Draws
from brittle.corruptions.kernels.blur import correlate
from brittle.corruptions.kernels.colour import convert
from brittle.corruptions.kernels.jpeg import through_jpeg
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly


@corruption(family="digital", source="syn2nat", full_depth=True, monotone=False, scale=evenly(0.45, clean=1))
def downscale(image: Pixels, rng: Draws, *, scale: float) -> Pixels:  # noqa: ARG001
    """Coarse pixels: shrunk to 0.45 of the size and enlarged again, 224 → 101 → 224, without any averaging.

    Both ways take the nearest pixel towards the top left, so the picture also moves a little. The small picture has
    a whole number of pixels: the effect moves in steps, and it is not monotone, because near one half every second
    pixel is simply repeated, while other scales displace more of them.
    """
    rows, columns = _nearest(image.shape[0], scale), _nearest(image.shape[1], scale)
    return np.take(np.take(image, rows, axis=0), columns, axis=1)


def _nearest(length: int, scale: float) -> NDArray[np.int64]:
    """Which pixel each pixel shows after both ways."""
    small = max(1, round(length * scale))
    down = np.minimum((np.arange(small) / scale).astype(np.int64), length - 1)
    up = np.arange(length) * small // length
    return down[up]


@corruption(family="digital", source="syn2nat", full_depth=True, alpha=evenly(1, clean=0))
def emboss(image: Pixels, rng: Draws, *, alpha: float) -> Pixels:
    """Edges look raised, as if lit from the bottom right: a 3×3 kernel of strength 0.2 … 0.7.

    The published effect replaces the picture; lower severities mix it in.
    """
    s = rng.uniform("strength", 0.2, 0.7)
    relief = np.array([[-1 - s, -s, 0], [-s, 1, s], [0, s, 1 + s]])
    identity = np.zeros((3, 3))
    identity[1, 1] = 1
    return correlate(image, identity + alpha * (relief - identity))


@corruption(
    family="digital",
    source="syn2nat",
    fades=False,
    aliases=("image_compression",),
    worst=evenly(5, clean=100),
    best=evenly(15, clean=100),
)
def jpeg_compression(image: Image, rng: Draws, *, worst: float, best: float) -> Image:
    """One JPEG encoding and decoding at a quality drawn from 5 … 15, with 4:2:0 chroma.

    Quirk kept: red and blue are exchanged for the encoder, so blue counts 0.299 and red 0.114 of the
    luminance. Even the best quality halves the resolution of colour, so the effect does not fade in
    from nothing. The study has it twice, as JpegCompression and as ImageCompression; the two are one.
    """
    quality = min(int(rng.uniform("quality", worst, best + 1)), 100)
    if image.shape[2] == 1:
        return through_jpeg(image, quality)
    exchanged = convert(image, cv2.COLOR_RGB2BGR)
    return convert(through_jpeg(exchanged, quality), cv2.COLOR_BGR2RGB)


@corruption(
    family="digital",
    source="syn2nat",
    full_depth=True,
    weakest=evenly(0.3, clean=0),
    strongest=evenly(0.6, clean=0),
)
def sharpen(image: Pixels, rng: Draws, *, weakest: float, strongest: float) -> Pixels:
    """Edges are overdrawn: 0.3 … 0.6 of a 3×3 sharpening kernel is mixed in.

    The kernel has 8 + l in its middle, with a lightness l of 0.6 … 1, so the picture also darkens a little.
    """
    alpha = rng.uniform("alpha", weakest, strongest)
    kernel = np.full((3, 3), -alpha)
    kernel[1, 1] = 1 - alpha + alpha * (8 + rng.uniform("lightness", 0.6, 1))
    return correlate(image, kernel)
