"""What nearly every training does: flips, and crops of a padded image."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from brittle.arrays import Image
from brittle.corruptions.draws import Draws


@dataclass(frozen=True)
class FlipCrop:
    """Mirror half of the images, and move each by up to `crop` pixels, black at the border, as the trainer does."""

    takes_stacks: ClassVar[bool] = True

    flip: bool = True
    crop: int = 4

    def __post_init__(self) -> None:
        if self.crop < 0:
            raise ValueError(f"crop is a number of pixels from 0 upwards, got {self.crop}")

    def __call__(self, image: Image, draws: Draws) -> Image:
        """An image, or a stack of images, all flipped or none and all moved alike."""
        if self.flip and draws.integer("flip", 2):
            image = image[..., ::-1, :]
        height, width = image.shape[-3:-1]
        top, left = (draws.integer(side, 2 * self.crop + 1) for side in ("top", "left"))
        around = ((0, 0),) * (image.ndim - 3)
        padded = np.pad(image, (*around, (self.crop, self.crop), (self.crop, self.crop), (0, 0)))
        return np.ascontiguousarray(padded[..., top : top + height, left : left + width, :])
