"""Images that augmentations are tried on: photographs, and edges of what can be."""

import numpy as np

from brittle.datasets import load_dataset

RNG = np.random.default_rng(0)
PHOTOS = np.stack([load_dataset("demo").image(i) for i in range(12)])
STACK = np.concatenate(
    [
        PHOTOS,
        np.zeros((1, 32, 32, 3), np.uint8),
        np.full((1, 32, 32, 3), 255, np.uint8),
        RNG.integers(0, 256, (1, 32, 32, 3), np.uint8),
        RNG.integers(100, 103, (1, 32, 32, 3), np.uint8),
    ]
)
WIDE = RNG.integers(0, 256, (3, 20, 45, 3), np.uint8)
