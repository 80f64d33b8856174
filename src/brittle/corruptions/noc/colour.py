"""Colour of NOC's candidates."""

import numpy as np

from brittle._types import Image, Pixels
from brittle.corruptions.images import Draws
from brittle.corruptions.kernels.colour import mix_with_luma, rotate_hue, through_nearest
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly


@corruption(family="colour", source="noc", full_depth=True, shift=evenly(0.44, first=0.11, clean=0, furthest=1))
def backlight(image: Pixels, rng: Draws, *, shift: float) -> Pixels:
    """One part of the picture gets brighter and the other darker, along a straight edge near the middle.

    The edge lies at half the height or half the width, give or take a fifth; which part is lit is a fair draw.
    """
    axis = rng.integer("axis", 2)
    length = image.shape[axis]
    edge = length // 2 + round(rng.uniform("edge", -0.2, 0.2) * length)
    lit = 255 * (shift if rng.integer("sign", 2) else -shift)
    before, after = np.split(image, [edge], axis=axis)
    parts = [through_nearest(before, lambda greys: greys + lit), through_nearest(after, lambda greys: greys - lit)]
    return np.concatenate(parts, axis=axis)


@corruption(family="colour", source="noc", full_depth=True, shift=evenly(0.51, first=0.16, clean=0, furthest=1))
def brightness(image: Pixels, rng: Draws, *, shift: float) -> Pixels:
    """The whole picture gets brighter or darker: one number, of either sign, is added to every value.

    Unlike the brightness of ImageNet-C it also darkens, and it adds to all channels alike, so colours fade.
    """
    signed = shift if rng.integer("sign", 2) else -shift
    return through_nearest(image, lambda greys: greys + 255 * signed)


@corruption(
    family="colour", source="noc", full_depth=True, channels="rgb", shift=evenly(0.4, first=0.09, clean=0, furthest=1)
)
def color_disortion(image: Pixels, rng: Draws, *, shift: float) -> Pixels:
    """A colour cast: one number is added to one channel, red, green or blue, drawn once per image.

    Quirks kept: the published spelling of the name; the shift only goes up.
    """
    chosen = rng.integer("channel", 3)
    out = image.copy()
    out[:, :, chosen] = through_nearest(np.ascontiguousarray(image[:, :, chosen]), lambda greys: greys + 255 * shift)
    return out


@corruption(family="colour", source="noc", full_depth=True, weight=evenly(0.74, first=0.33, clean=0, furthest=1))
def contrast(image: Pixels, rng: Draws, *, weight: float) -> Pixels:  # noqa: ARG001
    """Everything is drawn towards the mean of all pixels and channels, so greys and colours lie closer together.

    The mean is one number, not one per channel, so colours fade too.
    """
    mean = float(image.sum(dtype=np.int64 if image.dtype == np.uint8 else np.float64)) / image.size
    return through_nearest(image, lambda greys: (1 - weight) * greys + weight * mean)


@corruption(family="colour", source="noc", full_depth=True, channels="rgb", weight=evenly(1.0, first=0.49, clean=0))
def gray_scale(image: Pixels, rng: Draws, *, weight: float) -> Pixels:  # noqa: ARG001
    """Colours fade to grey, the Rec. 601 luma as a whole number, and are gone at severity 5.

    Its strong end is not calibrated as the others are: a ResNet-18 still keeps 0.70 of its accuracy there.
    """
    return mix_with_luma(image, weight)


@corruption(family="colour", source="noc", channels="rgb", turn=evenly(0.5, first=0.05, clean=0))
def hue(image: Image, rng: Draws, *, turn: float) -> Image:
    """All hues turn by the same part of the colour circle, of either sign; at severity 5 to the opposite colours.

    Quirks kept: the turn is cut to whole 255ths, while 256 of them make the circle; and the way through Pillow's
    8-bit HSV costs some grey levels, also just above severity 0. Its strong end is not calibrated as the others
    are: a ResNet-18 still keeps 0.63 of its accuracy there.
    """
    signed = turn if rng.integer("sign", 2) else -turn
    return rotate_hue(image, int(signed * 255))
