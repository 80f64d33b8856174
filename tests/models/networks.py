"""Small networks for the tests of this room; they can be pickled, since this is a module."""

import numpy as np
import torch
from torch import nn


def images(count: int, height: int = 32, width: int = 32, seed: int = 0) -> np.ndarray:
    """Smooth noise, so that how it is resized can be seen."""
    import cv2

    noise = np.random.default_rng(seed).integers(0, 256, (count, height, width, 3), np.uint8)
    return np.stack([cv2.GaussianBlur(image, (0, 0), 1.5) for image in noise])


class SmallNet(nn.Module):
    """A convolution, and two linear layers of which the one defined last is used first."""

    def __init__(self, classes: int = 5) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(3, 8, 3, padding=1)
        self.head = nn.Linear(6, classes)
        self.neck = nn.Linear(8, 6)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.neck(self.convolution(x).relu().mean((2, 3))).relu())


def small_net(seed: int = 0, classes: int = 5) -> SmallNet:
    torch.manual_seed(seed)
    return SmallNet(classes)
