"""Gaussian smoothing at any scale."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np

from brittle.arrays import Field

REPLICATE, REFLECT = cv2.BORDER_REPLICATE, cv2.BORDER_REFLECT

WIDE = 12.0
"""From this σ on (never reached at published sizes) smoothing is done on a reduced copy."""


def gaussian(field: Field, sigma: float, *, cut: float = 4.0, border: int = REPLICATE) -> Field:
    """Smooth each channel with a Gaussian whose kernel ends at `cut`·σ. Edges are replicated unless told otherwise."""
    radius = int(cut * sigma + 0.5)
    if radius == 0:
        return field
    if sigma > WIDE:
        return _wide(field, sigma, cut, border)
    side = 2 * radius + 1
    return _keep_shape(cv2.GaussianBlur(field, (side, side), sigma, sigmaY=sigma, borderType=border), field)


def _wide(field: Field, sigma: float, cut: float, border: int) -> Field:
    """A field this smooth has no fine detail left: average blocks, smooth those, and interpolate.

    Averaging over blocks of f pixels and interpolating between them add variances (f²−1)/12 and f²/6,
    which the smoothing in between leaves out.
    """
    factor = max(2, int(sigma / 4))
    height, width = field.shape[:2]
    small = (max(1, round(width / factor)), max(1, round(height / factor)))
    reduced = np.asarray(cv2.resize(field, small, interpolation=cv2.INTER_AREA), np.float32)
    remaining = np.sqrt(max(sigma**2 - (factor**2 - 1) / 12 - factor**2 / 6, 0.01)) / factor
    smooth = gaussian(reduced, float(remaining), cut=cut, border=border)
    return _keep_shape(cv2.resize(smooth, (width, height), interpolation=cv2.INTER_LINEAR), field)


def _keep_shape(result: Any, like: Field) -> Field:
    """OpenCV drops a last axis of length one."""
    return np.asarray(result, np.float32).reshape(like.shape)
