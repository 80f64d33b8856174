"""Small turns, shears and shifts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.training.augmentation.warp import affine


@dataclass(frozen=True)
class RandomAffine:
    """Turn by up to ± `degrees`, shear by up to ± `shear`, shift by up to ± `shift` of the side, all about the centre.

    Each is uniform and drawn by itself. Bilinear, black outside; nothing is mixed with the image as it was.
    """

    takes_stacks: ClassVar[bool] = True

    degrees: float = 5.0
    shear: float = 0.05
    shift: float = 0.05

    def __post_init__(self) -> None:
        if not min(self.degrees, self.shear, self.shift) >= 0:
            raise ValueError(
                f"degrees, shear and shift are at least 0, got {self.degrees}, {self.shear} and {self.shift}"
            )

    def __call__(self, image: Image, draws: Draws) -> Image:
        """An image, or a stack of images, all moved alike."""
        height, width = np.shape(image)[-3:-1]
        angle = math.radians(draws.uniform("angle", -self.degrees, self.degrees))
        cos, sin = math.cos(angle), math.sin(angle)
        shear = draws.uniform("shear", -self.shear, self.shear)
        right = draws.uniform("right", -self.shift, self.shift) * width
        down = draws.uniform("down", -self.shift, self.shift) * height
        a, b, d, e = cos, sin + shear * cos, -sin, cos - shear * sin
        x, y = width / 2, height / 2
        return affine(image, (a, b, x - a * x - b * y + right, d, e, y - d * x - e * y + down))
