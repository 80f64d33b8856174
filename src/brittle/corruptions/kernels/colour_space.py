"""OpenCV's 8-bit colour spaces, quantised as they are."""

from __future__ import annotations

import cv2
import numpy as np

from brittle.arrays import Image


def convert(image: Image, code: int) -> Image:
    """From one colour space to another, such as cv2.COLOR_RGB2HSV: hue 0 … 179, the others 0 … 255."""
    return np.asarray(cv2.cvtColor(image, code), np.uint8)
