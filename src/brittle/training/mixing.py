"""Training images mixed with others, such as generated ones with photographs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from brittle._errors import BrittleError
from brittle._types import Image
from brittle.datasets import Dataset, no_labels, numbered_as
from brittle.training.data import Images, ImageSource, as_source, epoch_order


class MixedImages(ImageSource):
    """Training images and others: an epoch has all of the first, and so many of the others that they are a share of it.

    The others are taken in a random order that goes on from one epoch to the next, so that none is seen again before
    all were seen. Numbers of the others follow those of the first images.
    """

    def __init__(self, images: Images, others: Images, share: float) -> None:
        super().__init__()
        if not 0 < share < 1:
            raise BrittleError(
                f"`mix_share={share:g}` is not between 0 and 1; give the share of the mixed images, such as 0.5"
            )
        self.images, self.others = as_source(images), as_source(others)
        self.drawn = max(1, round(len(self.images) * share / (1 - share)))

    def __len__(self) -> int:
        return len(self.images) + len(self.others)

    def _place(self, index: int) -> tuple[ImageSource, int]:
        first = len(self.images)
        return (self.images, index) if index < first else (self.others, index - first)

    def read(self, index: int) -> Image:
        """One image of either."""
        source, place = self._place(index)
        return source.read(place)

    def name(self, index: int) -> str:
        """What the source of the image calls it."""
        source, place = self._place(index)
        return source.name(place)

    @property
    def per_epoch(self) -> int:
        """All of the first images, and the share of the others."""
        return len(self.images) + self.drawn

    def order(self, epoch: int, seed: int) -> NDArray[np.int64]:
        """The numbers of an epoch in random order."""
        count = len(self.others)
        places = np.arange(epoch * self.drawn, (epoch + 1) * self.drawn)
        passes = {number: epoch_order(count, number, seed + PASSES) for number in np.unique(places // count).tolist()}
        chosen = [passes[place // count][place % count] for place in places.tolist()]
        numbers = np.concatenate([np.arange(len(self.images)), len(self.images) + np.array(chosen, np.int64)])
        return numbers[epoch_order(len(numbers), epoch, seed)]


def mixed_images(
    first: tuple[Images, Dataset], second: tuple[Images, Dataset], share: float
) -> tuple[MixedImages, NDArray[np.int64]]:
    """The images of two datasets as one source, and their labels in the numbers of the first one's classes."""
    (images, training), (others, mix) = first, second
    renumbered = numbered_as(mix, training.classes)
    if training.labels is None or renumbered.labels is None:
        raise no_labels(mix, "and a network learns from labels")
    return MixedImages(images, others, share), np.concatenate([training.labels, renumbered.labels])


PASSES = 2**32
"""Added to the seed for the order of passes over the others, which is drawn apart from that of epochs."""
