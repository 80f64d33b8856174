"""Colour of C-bar."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from brittle._types import Image, Pixels
from brittle.corruptions.images import Draws
from brittle.corruptions.kernels.arithmetic import compiled, inlined, level
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly


def colour_by_luma(image: Pixels, colours: NDArray[np.int64], smoothness: float, amount: float) -> Pixels:
    """Blend an RGB image with the colour that its luma has on a scale of five (5×3, grey levels).

    Between two colours the way is a mix of a straight line and a smooth step. The smooth one only ever rises: a
    falling difference wraps to 256 more.
    """
    return _colour_by_luma(image, colours, smoothness, amount)


@compiled
def _colour_by_luma(image, colours, smoothness, amount):
    out = np.empty(image.shape, image.dtype)
    for y in range(image.shape[0]):
        for x in range(image.shape[1]):
            red, green, blue = image[y, x, 0], image[y, x, 1], image[y, x, 2]
            luma = (0.2126 * red + 0.7152 * green + 0.0722 * blue) / 255
            band = min(int(4 * luma), 3)
            u = 4 * luma - band
            step = min(max(u, 0.0), 1.0)
            step = step * step * (3 - 2 * step)
            for c in range(3):
                low, high = colours[band, c], colours[band + 1, c]
                straight = low + u * (high - low)
                smooth = low + step * ((high - low) & 255)
                colour = straight + smoothness * (smooth - straight)
                out[y, x, c] = level(np.float64(image[y, x, c]) + amount * (colour - image[y, x, c]))
    return out


def dither_along_rows(image: Image, levels: int) -> Image:
    """Reduce each channel to `levels` values and pass the error on to the right neighbour only.

    It gets 7/16 of the error except in the first row, and then 1/16 except in the last, cut to 8 bit each time.
    """
    return _dither_along_rows(image, levels)


@inlined
def _add_sixteenths(value, sixteenths):
    """A byte plus a number of sixteenths, clipped and truncated."""
    return min(max(16 * value + sixteenths, 0), 16 * 255) >> 4


@compiled
def _dither_along_rows(image, levels):
    height, width, channels = image.shape
    table = np.empty(256, np.uint8)
    for v in range(256):
        table[v] = 255 * (levels * v // 256) // (levels - 1)
    out = np.empty(image.shape, np.uint8)
    for y in range(height):
        for c in range(channels):
            value = np.int64(image[y, 0, c])
            for x in range(width):
                level = np.int64(table[value])
                out[y, x, c] = level
                if x + 1 < width:
                    error = value - level
                    value = np.int64(image[y, x + 1, c])
                    if y > 0:
                        value = _add_sixteenths(value, 7 * error)
                    if y < height - 1:
                        value = _add_sixteenths(value, error)
    return out


@inlined
def wrapped(value):
    """Cut the fraction off and keep the last eight bits: 256 becomes 0 and −1 becomes 255."""
    return np.uint8(np.int64(value) & 255)


def bypass_bleach(image: Image, amount: float) -> Image:
    """Blend an RGB image with its own luma laid over it: multiplied in the shadows, screened in the lights."""
    return _bleach_bypass(image, amount)


@compiled
def _bleach_bypass(image, amount):
    out = np.empty(image.shape, np.uint8)
    for y in range(image.shape[0]):
        for x in range(image.shape[1]):
            red, green, blue = image[y, x, 0], image[y, x, 1], image[y, x, 2]
            luma = (0.2126 * red + 0.7152 * green + 0.0722 * blue) / 255
            light = min(max(10 * (luma - 0.45), 0.0), 1.0)
            for c in range(3):
                value = np.int64(image[y, x, c])
                multiplied = ((2 * value) & 255) * luma  # twice the value, in eight bits
                screened = 255 - 2 * (1 - luma) * (255 - value)
                overlaid = (1 - light) * multiplied + light * screened
                out[y, x, c] = wrapped(value + amount * (overlaid - value))
    return out


def mix_mattes(image: Image, amount: float) -> Image:
    """Blend an RGB image with one whose channels are each filtered by the mattes of the other two."""
    return _technicolor(image, amount)


@compiled
def _technicolor(image, amount):
    out = np.empty(image.shape, np.uint8)
    for y in range(image.shape[0]):
        for x in range(image.shape[1]):
            r, g, b = np.float64(image[y, x, 0]), np.float64(image[y, x, 1]), np.float64(image[y, x, 2])
            red = 1 - (r - (g + b) / 2) / 255
            green = 1 - (g - (r + b) / 2) / 255
            blue = 1 - (b - (r + g) / 2) / 255
            out[y, x, 0] = wrapped(r + amount * (r * green * blue - r))
            out[y, x, 1] = wrapped(g + amount * (g * red * blue - g))
            out[y, x, 2] = wrapped(b + amount * (b * red * green - b))
    return out


def turn_colour_wheel(image: Pixels, turns: float) -> Pixels:
    """Add to the hue of HSV in whole turns; value and saturation stay, greys too. Cut to 8 bit."""
    return _turn_colour_wheel(image, 6 * (turns % 1))


@compiled
def _turn_colour_wheel(image, sixths):
    height, width, _ = image.shape
    out = np.empty(image.shape, image.dtype)
    for y in range(height):
        for x in range(width):
            r, g, b = np.float64(image[y, x, 0]), np.float64(image[y, x, 1]), np.float64(image[y, x, 2])
            high, low = max(r, max(g, b)), min(r, min(g, b))
            chroma = high - low
            if chroma == 0:
                for c in range(3):
                    out[y, x, c] = image[y, x, c]
                continue
            if r == high:
                hue = (g - b) / chroma + 6
            elif g == high:
                hue = (b - r) / chroma + 8
            else:
                hue = (r - g) / chroma + 10
            hue = (hue + sixths) % 6
            sector = min(int(hue), 5)
            # Rising or falling between the two, and never one level short of a whole number by a rounding error.
            f = hue - sector if sector % 2 == 0 else sector + 1 - hue
            between = low + chroma * f + 1e-9
            top, bottom = (sector + 1) // 2 % 3, ((sector + 4) // 2) % 3
            out[y, x, 0] = out[y, x, 1] = out[y, x, 2] = between
            out[y, x, top] = high
            out[y, x, bottom] = low
    return out


def away_from_grey(image: Pixels, factor: float) -> Pixels:
    """grey + factor·(x − grey), cut and saturated to 8 bit; 0 is grey, 1 the image. The grey is Pillow's luma."""
    if image.dtype != np.uint8:
        grey = image @ (np.array([[19595], [38470], [7471]], np.float32) / np.float32(65536))
        return np.clip(grey + np.float32(factor) * (image - grey), 0, 255)
    return _away_from_grey(image, np.float32(factor))


@compiled
def _away_from_grey(image, factor):
    height, width, _ = image.shape
    out = np.empty(image.shape, np.uint8)
    for y in range(height):
        for x in range(width):
            r, g, b = np.int64(image[y, x, 0]), np.int64(image[y, x, 1]), np.int64(image[y, x, 2])
            grey = (19595 * r + 38470 * g + 7471 * b + 0x8000) >> 16
            for c in range(3):
                value = np.float32(grey) + factor * np.float32(np.int64(image[y, x, c]) - grey)
                out[y, x, c] = np.uint8(np.int32(min(max(value, np.float32(0)), np.float32(255))))
    return out


@corruption(family="colour", source="c-bar", channels="rgb", amount=evenly(1, clean=0, steps=10))
def bleach_bypass(image: Image, rng: Draws, *, amount: float) -> Image:  # noqa: ARG001
    """Film whose silver was not bleached out: harsh contrast, from the picture's luma laid over itself.

    Quirks kept: twice the pixel value is formed in 8 bit, so in dark surroundings bright channels wrap to dark
    ones; nothing is clipped at the end, so values slightly below 0 wrap to almost white. Nothing is drawn.
    """
    return bypass_bleach(image, amount)


@corruption(
    family="colour", source="c-bar", full_depth=True, channels="rgb", abs_factor_shift=evenly(1, clean=0, steps=10)
)
def color_balance(image: Pixels, rng: Draws, *, abs_factor_shift: float) -> Pixels:
    """Colours grow twice as strong, or fade to grey: a fair coin says which.

    As Pillow's colour enhancement does it. The released package cannot run this one, for want of an import; this
    is the version of the paper's experiments.
    """
    return away_from_grey(image, 1 + abs_factor_shift if rng.integer("sign", 2) else 1 - abs_factor_shift)


@corruption(family="colour", source="c-bar", fades=False, levels=evenly(2, clean=14, steps=12))
def color_dither(image: Image, rng: Draws, *, levels: float) -> Image:  # noqa: ARG001
    """Few levels per channel, dithered into horizontal streaks.

    Severity goes up to 12, where two levels are left; the number of levels is 14 minus the whole part of the
    severity, so 14 levels jump in at once above severity 0. Quirks kept: meant as serpentine Floyd–Steinberg, but
    never serpentine, and the shares of the row below go astray: each error only goes right, 7/16 of it except
    in the first row and 1/16 except in the last. Nothing is drawn.
    """
    return dither_along_rows(image, math.ceil(levels))


@corruption(
    family="colour", source="c-bar", full_depth=True, channels="rgb", abs_hue_turns=evenly(0.5, clean=0, steps=10)
)
def hue_shift(image: Pixels, rng: Draws, *, abs_hue_turns: float) -> Pixels:
    """All hues turn along the colour wheel, one way or the other; at the maximum to their complements.

    Value, saturation and greys stay as they are.
    """
    return turn_colour_wheel(image, abs_hue_turns if rng.integer("sign", 2) else -abs_hue_turns)


@corruption(family="colour", source="c-bar", full_depth=True, channels="rgb", amount=evenly(0.5, clean=0, steps=10))
def pseudocolor(image: Pixels, rng: Draws, *, amount: float) -> Pixels:
    """The picture is tinted by a scale of five random colours along its luma, as in a heat map.

    Between two colours the way is partly straight, partly a smooth step, in a share that is drawn. Quirks kept:
    the smooth part takes the colour difference modulo 256, so a falling component rises instead and the scale
    breaks at the band's end; colour components are 0 to 254.
    """
    colours = [[rng.integer(f"colour {k} {channel}", 255) for channel in "rgb"] for k in range(5)]
    return colour_by_luma(image, np.array(colours, np.int64), rng.uniform("smoothness", 0.25, 0.75), amount)


@corruption(family="colour", source="c-bar", channels="rgb", amount=evenly(1, clean=0, steps=10))
def technicolor(image: Image, rng: Draws, *, amount: float) -> Image:  # noqa: ARG001
    """Three-strip film: each colour is filtered by the mattes of the other two, so colours grow stronger.

    Quirk kept: a channel can reach 2.25 times white and nothing is clipped, so what is beyond white wraps to
    dark, modulo 256 (the published cast leaves that to the platform). Greys stay. Nothing is drawn.
    """
    return mix_mattes(image, amount)
