"""How far a corrupted image is from the clean one, in units that do not depend on the corruption."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from brittle._types import Image

WINDOW, SIGMA = 11, 1.5
"""The Gaussian window of SSIM, as published (Wang et al. 2004); smaller images get one that fits."""


def psnr(clean: Image, corrupted: Image) -> float:
    """Peak signal-to-noise ratio in dB of two uint8 images; `inf` if they are the same."""
    error = float(np.mean((clean.astype(np.float64) - corrupted) ** 2))
    return float(10 * np.log10(255**2 / error)) if error else float("inf")


def ssim(clean: Image, corrupted: Image) -> float:
    """Mean structural similarity of the luminances, 1 for equal images; windows that leave the image are left out."""
    x, y = _luminance(clean), _luminance(corrupted)
    side = min(WINDOW, *x.shape)
    side -= 1 - side % 2
    half = side // 2

    def mean(values: NDArray[np.float64]) -> NDArray[np.float64]:
        blurred = cv2.GaussianBlur(values, (side, side), SIGMA)
        return np.asarray(blurred[half : len(values) - half, half : values.shape[1] - half])

    steady, spread = (0.01 * 255) ** 2, (0.03 * 255) ** 2
    mean_x, mean_y = mean(x), mean(y)
    var_x, var_y = mean(x * x) - mean_x**2, mean(y * y) - mean_y**2
    both = mean(x * y) - mean_x * mean_y
    similar = (2 * mean_x * mean_y + steady) * (2 * both + spread)
    return float(np.mean(similar / ((mean_x**2 + mean_y**2 + steady) * (var_x + var_y + spread))))


def contrast_kept(clean: Image, corrupted: Image) -> float:
    """The RMS contrast (standard deviation of the luminance) of a corrupted image over that of the clean one."""
    before = float(_luminance(clean).std())
    return float(_luminance(corrupted).std()) / before if before else float("nan")


def _luminance(image: Image) -> NDArray[np.float64]:
    """Of BT.601, as SSIM is usually computed."""
    pixels = np.asarray(image, np.float64)
    if pixels.shape[-1] == 1:
        return np.ascontiguousarray(pixels[..., 0])
    return np.ascontiguousarray(pixels @ np.array([0.299, 0.587, 0.114]))
