"""Pillow's enhancements of any number of images at once: factor 1 is the image itself.

All of them take one RGB image H×W×3 or a stack N×H×W×3. A stack is shown to Pillow as one tall picture.
"""

from __future__ import annotations

import numpy as np
from PIL import Image as Pil
from PIL import ImageEnhance

from brittle.arrays import Image


def contrast(images: Image, factor: float) -> Image:
    """Away from (above 1) or towards (below 1) the mean grey of each image."""
    tall = _tall(images)
    shape = np.shape(images)
    grey = np.asarray(tall.convert("L"), np.int64).reshape(-1, shape[-3] * shape[-2])
    mean = (grey.sum(1) / grey.shape[1] + 0.5).astype(np.uint8)
    flat = np.broadcast_to(mean[:, None, None, None], (len(mean), *shape[-3:]))
    return _back(Pil.blend(_tall(np.ascontiguousarray(flat)), tall, factor), images)


def colour(images: Image, factor: float) -> Image:
    """Away from or towards grey."""
    return _back(ImageEnhance.Color(_tall(images)).enhance(factor), images)


def sharpness(images: Image, factor: float) -> Image:
    """Away from or towards a smoothed image; the outermost pixels stay, as in Pillow."""
    out = _back(ImageEnhance.Sharpness(_tall(images)).enhance(factor), images).copy()
    shown = np.asarray(images, np.uint8)
    out[..., 0, :, :], out[..., -1, :, :] = shown[..., 0, :, :], shown[..., -1, :, :]  # of every image of the tall one
    return out


def _tall(images: Image) -> Pil.Image:
    shown = np.ascontiguousarray(images, np.uint8)
    return Pil.fromarray(shown.reshape(-1, *shown.shape[-2:]))


def _back(tall: Pil.Image, images: Image) -> Image:
    return np.asarray(tall, np.uint8).reshape(np.shape(images))
