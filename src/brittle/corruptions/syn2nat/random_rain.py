import cv2
import numpy as np

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.between_sizes import between_sizes, box
from brittle.corruptions.kernels.grey_table import GREYS, through_table
from brittle.corruptions.kernels.lightness import map_lightness
from brittle.corruptions.kernels.words import uniforms
from brittle.corruptions.registry import corruption
from brittle.corruptions.severity import evenly

COLOUR = 200


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
    slant, long = round(10 * pixel), round(20 * pixel)
    limit = int(rng.uniform("slant", -10, 10) * pixel)
    count = int(drops * height * width / min(height, width) ** 2)
    places = uniforms(rng.key("places"), max(count, 1), 2)[:count] * 0.5 + 0.5
    left, right = min(limit, 0), width - max(limit, 0)
    x = (left + places[:, 1] * (right - left + 1)).astype(np.int32)
    y = (places[:, 0] * (max(height - long, 0) + 1)).astype(np.int32)
    streaks = np.zeros((height, width), np.uint8)
    ends = np.stack([x, y, x + slant, y + long], 1).reshape(-1, 2, 2)
    cv2.polylines(streaks, list(ends), False, 255, max(1, round(pixel)))
    wet = _painted(image, streaks, min(pixel, 1.0))
    return map_lightness(between_sizes(wet, 1 + blur, box), GREYS * lightness)


def _painted(image: Image, streaks: Image, opacity: float) -> Image:
    """Streaks thinner than a pixel, on small pictures, let the picture shine through."""
    painted = through_table(image, GREYS + opacity * (COLOUR - GREYS))
    return np.where(streaks[:, :, np.newaxis] > 0, painted, image)
