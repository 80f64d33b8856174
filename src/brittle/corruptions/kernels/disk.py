"""Out-of-focus blur with a disk."""

from __future__ import annotations

from functools import lru_cache

import cv2
import numpy as np

from brittle.arrays import Field

WIDE = 30.0
"""From this radius on (never reached at published sizes) the blur is done on a reduced copy."""


@lru_cache(maxsize=64)
def disk_kernel(radius: float, alias_sigma: float) -> Field:
    """A disk on the integer grid, its rim smoothed by a Gaussian of 3×3 taps, or 5×5 for radii above 8.

    The grid ends at ±8, or at the radius if that is larger. OpenCV mirrors the disk at the grid's edge, so a
    disk that reaches it gains weight: the kernel of radius 8 sums to 1.013, that of radius 10 to 1.011.
    """
    reach = 8 if radius <= 8 else int(radius)
    taps = 3 if radius <= 8 else 5
    offsets = np.arange(-reach, reach + 1)
    disk = (offsets[:, None] ** 2 + offsets[None, :] ** 2 <= radius**2).astype(np.float32)
    disk /= disk.sum()
    kernel = cv2.GaussianBlur(disk, (taps, taps), alias_sigma) if alias_sigma > 0 else disk
    return _trim(np.asarray(kernel, np.float32))


def _trim(kernel: Field) -> Field:
    """Without its empty rim: the same blur, sooner."""
    used = int(np.flatnonzero(kernel.any(axis=0))[0])
    return kernel[used : len(kernel) - used, used : len(kernel) - used].copy()


def defocus(field: Field, radius: float, alias_sigma: float) -> Field:
    """Correlate each channel with the disk; borders mirror without repeating the edge."""
    if radius > WIDE:
        factor = int(radius / WIDE) + 1
        height, width = field.shape[:2]
        small = (max(1, round(width / factor)), max(1, round(height / factor)))
        reduced = cv2.resize(field, small, interpolation=cv2.INTER_AREA).reshape(small[1], small[0], -1)
        blurred = defocus(np.asarray(reduced, np.float32), radius / factor, alias_sigma)
        result = cv2.resize(blurred, (width, height), interpolation=cv2.INTER_LINEAR)
    else:
        result = cv2.filter2D(field, -1, disk_kernel(radius, alias_sigma))
    return np.asarray(result, np.float32).reshape(field.shape)
