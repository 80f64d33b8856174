"""The batches of an epoch: images in random order, flipped, cropped, augmented and normalised by threads."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pil

from brittle._parallel import check_threads, cores
from brittle._types import Image
from brittle.corruptions import Draws
from brittle.datasets import UnreadableImage
from brittle.training.augmentation.schemes import augmented
from brittle.training.config import TrainingConfig
from brittle.training.data import ArrayImages, Augment, Images, ImageSource, as_source, check_shape

PREFETCHED, PREFETCHED_BYTES = 4, 2**29
"""Number of prefetched batches, and the most bytes of them; one is always prefetched."""


def batches(
    images: Images, config: TrainingConfig, augment: Augment | None, epoch: int, *, workers: int | None = None
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float32]]]:
    """(indices, N×H×W×3 float32 standardised) for one epoch; an incomplete batch is dropped, or is the only one.

    Threads draw the next batches while this one is used: by default one for an array, and one for each processor where
    images are decoded. Every draw is addressed by (seed, epoch, sample), so that their number changes nothing. Images
    that cannot be read are left out of their batch. With `config.jsd` there are 3N images: all after flip and crop
    alone, then all under a first sample of the augmentation, then all under a second one.
    """
    check_threads(workers)
    source = as_source(images)
    threads = workers or (1 if isinstance(source, ArrayImages) else cores())
    samples = source.order(epoch, config.seed)
    shape = (config.side, config.side, 3) if config.crop_kind == "resized" else source.shape
    loader = _Loader(source, config, augment, epoch, shape)
    ahead = max(1, min(PREFETCHED, PREFETCHED_BYTES // loader.batch_bytes))
    with ThreadPoolExecutor(threads) as pool:
        pending: deque[_Batch] = deque()
        try:
            for step in range(config.steps(len(samples))):
                chosen = samples[step * config.batch_size : (step + 1) * config.batch_size]
                pending.append(loader.submit(pool, chosen, threads))
                if len(pending) > ahead:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for batch in pending:
                batch.cancel()


class _Batch:
    """A batch that threads are filling: each has a part of its samples."""

    def __init__(self, chosen: NDArray[np.int64], views: int, shape: tuple[int, ...]) -> None:
        self.chosen, self.views = chosen, views
        self.pixels = np.empty((views * len(chosen), *shape), np.float32)
        self.readable = np.ones(len(chosen), bool)
        self.parts: list[Future[None]] = []

    def result(self) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        for part in self.parts:
            part.result()
        if self.readable.all():
            return self.chosen, self.pixels
        return self.chosen[self.readable], self.pixels[np.tile(self.readable, self.views)]

    def cancel(self) -> None:
        for part in self.parts:
            part.cancel()


@dataclass
class _Loader:
    """Draws the images of one epoch."""

    source: ImageSource
    config: TrainingConfig
    augment: Augment | None
    epoch: int
    shape: tuple[int, ...]

    @property
    def views(self) -> int:
        return 3 if self.config.jsd else 1

    @property
    def batch_bytes(self) -> int:
        return self.views * self.config.batch_size * math.prod(self.shape) * 4

    def submit(self, pool: ThreadPoolExecutor, chosen: NDArray[np.int64], parts: int) -> _Batch:
        batch = _Batch(chosen, self.views, self.shape)
        edges = [len(chosen) * part // parts for part in range(parts + 1)]
        batch.parts = [pool.submit(self._fill, batch, *ends) for ends in pairwise(edges)]
        return batch

    def _fill(self, batch: _Batch, start: int, stop: int) -> None:
        mean, std = (
            np.tile(np.array(numbers, np.float32) * 255, self.shape[1])
            for numbers in (self.config.mean, self.config.std)
        )
        for place in range(start, stop):
            sample = int(batch.chosen[place])
            try:
                views = self._views(sample)
            except UnreadableImage as error:
                self.source.unreadable[sample] = str(error)
                batch.readable[place] = False
                continue
            for number, image in enumerate(views):
                check_shape(image, self.shape, self.source.name(sample))
                row = batch.pixels[number * len(batch.chosen) + place]
                row[...] = image
                flat = row.reshape(self.shape[0], -1)  # long rows are much faster than three channels at a time
                flat -= mean
                flat /= std

    def _views(self, sample: int) -> list[NDArray[Any]]:
        seed, name = self.config.seed, f"epoch {self.epoch}"
        draws = Draws(seed, name, sample)
        image = moved(self.source.read(sample), draws, self.config)
        if not self.config.jsd:
            return [image if self.augment is None else augmented(self.augment, image, draws)]
        assert self.augment is not None
        others = (Draws(seed, f"{name} {view}", sample) for view in ("first", "second"))
        return [image, *(augmented(self.augment, image, other) for other in others)]


def moved(image: Image, draws: Draws, config: TrainingConfig) -> Image:
    """An image flipped and cropped by its draws."""
    if config.crop_kind == "resized":
        image = resized_crop(image, draws, config.side, config.area)
    if config.flip and draws.integer("flip", 2):
        image = image[:, ::-1]
    if config.crop_kind == "padding" and config.crop:
        height, width = image.shape[:2]
        padded = np.pad(image, ((config.crop, config.crop), (config.crop, config.crop), (0, 0)))
        top, left = (draws.integer(side, 2 * config.crop + 1) for side in ("top", "left"))
        image = padded[top : top + height, left : left + width]
    return np.ascontiguousarray(image)


ASPECTS = (3 / 4, 4 / 3)
TRIES = 10


def resized_crop(image: Image, draws: Draws, side: int, area: tuple[float, float] = (0.08, 1.0)) -> Image:
    """A part of random area and aspect ratio at a random place, resized to side×side: torchvision's RandomResizedCrop.

    Of ten tries the first part that lies inside the image is taken, else the largest central one with an allowed
    aspect ratio. Bilinear with antialiasing.
    """
    top, left, height, width = crop_box(image.shape[0], image.shape[1], draws, area)
    part = Pil.fromarray(np.ascontiguousarray(image[top : top + height, left : left + width]))
    return np.asarray(part.resize((side, side), Pil.Resampling.BILINEAR), np.uint8)


def crop_box(rows: int, columns: int, draws: Draws, area: tuple[float, float]) -> tuple[int, int, int, int]:
    """Top, left, height and width of a random resized crop of an image of this many rows and columns."""
    low, high = map(math.log, ASPECTS)
    for attempt in range(TRIES):
        pixels = rows * columns * draws.uniform(f"area {attempt}", *area)
        aspect = math.exp(draws.uniform(f"aspect {attempt}", low, high))
        width, height = round(math.sqrt(pixels * aspect)), round(math.sqrt(pixels / aspect))
        if 0 < width <= columns and 0 < height <= rows:
            return (
                draws.integer("crop top", rows - height + 1),
                draws.integer("crop left", columns - width + 1),
                height,
                width,
            )
    width, height = columns, rows
    if columns / rows < ASPECTS[0]:
        height = round(columns / ASPECTS[0])
    elif columns / rows > ASPECTS[1]:
        width = round(rows * ASPECTS[1])
    return (rows - height) // 2, (columns - width) // 2, height, width
