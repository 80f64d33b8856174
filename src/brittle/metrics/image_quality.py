"""Image quality metrics: PSNR, SSIM and RMS contrast of a corrupted image against the clean one."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from brittle._types import Image

WINDOW, SIGMA = 11, 1.5
"""The Gaussian window of SSIM, as published (Wang et al. 2004); smaller images get a smaller window."""


def psnr(clean: Image, corrupted: Image) -> float:
    """Peak signal-to-noise ratio in dB of two uint8 images; `inf` if they are equal."""
    error = float(np.mean((clean.astype(np.float64) - corrupted) ** 2))
    return float(10 * np.log10(255**2 / error)) if error else float("inf")


def ssim(clean: Image, corrupted: Image) -> float:
    """Mean structural similarity of the luminances, 1 for equal images; only windows inside the image count."""
    x, y = _luminance(clean), _luminance(corrupted)
    side = min(WINDOW, *x.shape)
    side -= 1 - side % 2
    half = side // 2

    def mean(values: NDArray[np.float64]) -> NDArray[np.float64]:
        blurred = cv2.GaussianBlur(values, (side, side), SIGMA)
        return np.asarray(blurred[half : len(values) - half, half : values.shape[1] - half])

    c1, c2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
    mean_x, mean_y = mean(x), mean(y)
    var_x, var_y = mean(x * x) - mean_x**2, mean(y * y) - mean_y**2
    covariance = mean(x * y) - mean_x * mean_y
    numerator = (2 * mean_x * mean_y + c1) * (2 * covariance + c2)
    return float(np.mean(numerator / ((mean_x**2 + mean_y**2 + c1) * (var_x + var_y + c2))))


def contrast_kept(clean: Image, corrupted: Image) -> float:
    """The RMS contrast (standard deviation of the luminance) of a corrupted image over that of the clean one."""
    clean_contrast = float(_luminance(clean).std())
    return float(_luminance(corrupted).std()) / clean_contrast if clean_contrast else float("nan")


def _luminance(image: Image) -> NDArray[np.float64]:
    """The BT.601 luminance, the usual choice for SSIM."""
    pixels = np.asarray(image, np.float64)
    if pixels.shape[-1] == 1:
        return np.ascontiguousarray(pixels[..., 0])
    return np.ascontiguousarray(pixels @ np.array([0.299, 0.587, 0.114]))
