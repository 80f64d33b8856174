"""Geometry sequences: translate, rotate, tilt, scale and shear. Outside of the image it is black."""

from __future__ import annotations

import math
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from brittle._types import Image
from brittle.corruptions.imagenet_p.perturbation import DrawFrame, perturbation
from brittle.corruptions.images import Draws


@perturbation(
    test=True, at224={"frames": 41, "middle": 20}, at64={"frames": 31, "middle": 15}, at32={"frames": 16, "middle": 7}
)
def translate(image: Image, rng: Draws, *, middle: int) -> DrawFrame:  # noqa: ARG001
    """From left to right by one pixel a frame."""
    width = image.shape[1]

    def frame(i: int) -> Image:
        shift = max(-width, min(i - middle, width))
        out = np.zeros_like(image)
        out[:, max(shift, 0) : width + min(shift, 0)] = image[:, max(-shift, 0) : width + min(-shift, 0)]
        return out

    return frame


@perturbation(test=True, at224={"frames": 31})
def rotate(image: Image, rng: Draws) -> DrawFrame:  # noqa: ARG001
    """By one degree a frame, from −15° to 15°."""
    height, width = image.shape[:2]
    centre = ((width - 1) / 2, (height - 1) / 2)
    return lambda i: _affine(image, cv2.getRotationMatrix2D(centre, i - 15, 1))


@perturbation(test=True, at224={"frames": 31, "degrees": 1.0}, at32={"degrees": 0.75})
def tilt(image: Image, rng: Draws, *, degrees: float) -> DrawFrame:  # noqa: ARG001
    """Out of the plane about both axes at once, seen by a pinhole camera with the diagonal as its focal length."""
    height, width = image.shape[:2]

    def frame(i: int) -> Image:
        matrix = _pinhole(height, width, math.radians(degrees * (i - 15)))
        return np.asarray(cv2.warpPerspective(image, matrix, (width, height)), np.uint8).reshape(image.shape)

    return frame


@perturbation(test=True, at224={"frames": 31, "first": 0.40, "step": 0.025}, at32={"first": 0.70, "step": 0.02})
def scale(image: Image, rng: Draws, *, first: float, step: float) -> DrawFrame:  # noqa: ARG001
    """From a reduced image in a black frame to an enlarged one."""
    height, width = image.shape[:2]
    centre = ((width - 1) / 2, (height - 1) / 2)
    return lambda i: _affine(image, cv2.getRotationMatrix2D(centre, 0, first + step * i))


@perturbation(test=False, at224={"frames": 31})
def shear(image: Image, rng: Draws) -> DrawFrame:  # noqa: ARG001
    """Sideways by one degree a frame, from −15° to 15°, about the middle row."""
    middle = (image.shape[0] - 1) / 2

    def frame(i: int) -> Image:
        slope = math.tan(math.radians(i - 15))
        return _affine(image, np.array([[1.0, slope, -slope * middle], [0.0, 1.0, 0.0]]))

    return frame


def _affine(image: Image, matrix: NDArray[Any]) -> Image:
    size = (image.shape[1], image.shape[0])
    return np.asarray(cv2.warpAffine(image, matrix, size, flags=cv2.INTER_LINEAR), np.uint8).reshape(image.shape)


def _pinhole(height: int, width: int, angle: float) -> NDArray[np.float64]:
    """The homography of a picture turned about x, then about y, by the same angle: P₂·T·Rx·Ry·P₁."""
    focal = math.hypot(width, height)
    x, y = (width - 1) / 2, (height - 1) / 2
    sin, cos = math.sin(angle), math.cos(angle)
    to_3d = np.array([[1, 0, -x], [0, 1, -y], [0, 0, 0], [0, 0, 1.0]])
    about_x = np.array([[1, 0, 0, 0], [0, cos, -sin, 0], [0, sin, cos, 0], [0, 0, 0, 1.0]])
    about_y = np.array([[cos, 0, -sin, 0], [0, 1, 0, 0], [sin, 0, cos, 0], [0, 0, 0, 1.0]])
    translate_z = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, focal], [0, 0, 0, 1.0]])
    project = np.array([[focal, 0, x, 0], [0, focal, y, 0], [0, 0, 1.0, 0]])
    return np.asarray(project @ translate_z @ about_x @ about_y @ to_3d, np.float64)
