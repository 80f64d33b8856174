"""Small pictures on a sheet."""

from __future__ import annotations

import cv2
import numpy as np
from PIL import Image as Pil
from PIL import ImageDraw

from brittle.arrays import Image


def rounded(side: int, radius: int) -> Pil.Image:
    """A mask with round corners."""
    fine = Pil.new("L", (4 * side, 4 * side), 0)
    ImageDraw.Draw(fine).rounded_rectangle((0, 0, 4 * side - 1, 4 * side - 1), 4 * radius, 255)
    return fine.resize((side, side), Pil.Resampling.BOX)


def resized(image: Image, side: int) -> Image:
    """Reduced by averaging, or enlarged so that each pixel stays a square."""
    times = -(-side // len(image))
    if times > 1:
        image = image.repeat(times, axis=0).repeat(times, axis=1)
    return np.asarray(cv2.resize(image, (side, side), interpolation=cv2.INTER_AREA), np.uint8)
