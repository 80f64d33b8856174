"""The images that transforms are looked at through: a few, drawn once, the same for every transform."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256

import numpy as np

from brittle.arrays import Image
from brittle.corruptions.draws import check_seed
from brittle.datasets.dataset import Dataset
from brittle.datasets.folder import BrokenImage


@dataclass(frozen=True, eq=False)
class FeatureImages:
    """A stack of clean images N×H×W×3 and their sample ids."""

    pixels: Image
    ids: tuple[str | int, ...] = ()

    def __post_init__(self) -> None:
        if self.pixels.ndim != 4 or self.pixels.shape[-1] != 3 or self.pixels.dtype != np.uint8 or not self.pixels.size:
            raise ValueError(
                f"feature images are N×H×W×3 of uint8, got shape {self.pixels.shape} of {self.pixels.dtype}"
            )
        ids = self.ids or tuple(range(len(self.pixels)))
        if len(ids) != len(self.pixels):
            raise ValueError(f"{len(self.pixels)} feature images need as many ids, got {len(ids)}")
        object.__setattr__(self, "ids", ids)

    def __len__(self) -> int:
        return len(self.pixels)

    @cached_property
    def key(self) -> str:
        """A digest of the pixels and ids."""
        return sha256(repr((self.pixels.shape, self.ids)).encode() + self.pixels.tobytes()).hexdigest()[:16]


def feature_images(dataset: Dataset, count: int = 100, *, seed: int = 0) -> FeatureImages:
    """A random subset of a dataset, without replacement; the paper takes 100 training images.

    The seed alone decides which, and a larger subset begins with a smaller one. An image that cannot be read is passed
    over for the next. All must have one size.
    """
    if count < 1:
        raise ValueError(f"count must be at least 1, got {count}")
    if count > len(dataset):
        raise ValueError(f"{dataset.name!r} has {len(dataset)} images, {count} were asked for; ask for at most that")
    rng = np.random.Generator(np.random.Philox(key=check_seed(seed) % 2**128))
    moved: dict[int, int] = {}
    chosen: list[int] = []
    images: list[Image] = []
    for i in range(len(dataset)):
        j = i + int(rng.random() * (len(dataset) - i))
        drawn, moved[j] = moved.get(j, j), moved.get(i, i)
        try:
            images.append(dataset.image(drawn))
        except BrokenImage:
            continue
        chosen.append(drawn)
        if images[-1].shape != images[0].shape:
            raise ValueError(
                f"feature images must have one size, and {dataset.name!r} has {images[0].shape} and "
                f"{images[-1].shape}; resize or crop them first"
            )
        if len(images) == count:
            return FeatureImages(np.stack(images), tuple(dataset.ids[k] for k in chosen))
    raise ValueError(f"{dataset.name!r} has {len(images)} images that can be read, {count} were asked for")
