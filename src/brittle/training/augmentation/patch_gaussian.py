"""Patch Gaussian: noise in a square window (Lopes et al. 2019, with the settings of the MSD paper)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.corruptions.kernels.words import normals


@dataclass(frozen=True)
class PatchGaussian:
    """Gaussian noise inside a window at a random place, cut at the border; σ ~ U(0, `sigma`) on the scale [0, 1].

    The window is `width` pixels wide, or U(low, high) for a pair; None is the whole image. The result is float32 on
    0..255. The paper trains on CIFAR-10 with the noise before flip and crop; the trainer of brittle applies every
    scheme after them.
    """

    takes_stacks: ClassVar[bool] = True

    width: float | tuple[float, float] | None = 25
    sigma: float = 1.0

    def __post_init__(self) -> None:
        low, high = self.width if isinstance(self.width, tuple) else (self.width, self.width)
        if low is not None and high is not None and not 0 <= low <= high:
            raise ValueError(f"width is a number of pixels, or (low, high), or None; got {self.width!r}")
        if not self.sigma >= 0:
            raise ValueError(f"sigma must be at least 0, got {self.sigma}")

    @classmethod
    def cifar(cls) -> PatchGaussian:
        """A window of 25 pixels, σ up to 1."""
        return cls(25, 1.0)

    @classmethod
    def imagenet(cls) -> PatchGaussian:
        """A window of up to 250 pixels, σ up to 1."""
        return cls((0, 250), 1.0)

    def __call__(self, image: Image, draws: Draws) -> NDArray[np.float32]:
        """A noisy image, or a stack of images under the same noise."""
        height, width, channels = image.shape[-3:]
        sigma = draws.uniform("sigma", 0, self.sigma)
        rows, columns = slice(None), slice(None)
        if self.width is not None:
            side = draws.uniform("width", *self.width) if isinstance(self.width, tuple) else self.width
            rows = _window(draws.integer("row", height), side)
            columns = _window(draws.integer("column", width), side)
        noise = normals(draws.key("noise"), height, width * channels).reshape(height, width, channels)
        out = image.astype(np.float32)
        seen = out[..., rows, columns, :]
        np.clip(seen + np.float32(255 * sigma) * noise[rows, columns], 0, 255, out=seen)
        return out


def _window(centre: int, side: float) -> slice:
    return slice(max(centre - math.floor(side / 2), 0), centre + math.ceil(side / 2))
