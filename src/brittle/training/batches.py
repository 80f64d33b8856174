"""Training batches, drawn ahead in threads; what an image looks like depends on (seed, epoch, sample) alone."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.training.augmentation.fixed import augmented
from brittle.training.recipe import Recipe

Augment = Callable[[Image, Draws], NDArray[Any]]
"""From an image and its draws to an image of the same shape, uint8, or float in [0, 1] (brittle's own: on 0..255)."""

AHEAD = 4


def order(count: int, epoch: int, seed: int) -> NDArray[np.int64]:
    """The order in which an epoch sees the samples."""
    return np.random.Generator(np.random.Philox(key=[seed, epoch])).permutation(count)


def batches(images: Image, recipe: Recipe, augment: Augment | None, epoch: int) -> Iterator[tuple[Any, Any]]:
    """(indices, N×H×W×3 float32 standardised) for one epoch; an incomplete last batch is dropped.

    With `recipe.jsd` there are 3N images: all as they are after flip and crop, then all under a first sample of the
    augmentation, then all under a second one.
    """
    samples = order(len(images), epoch, recipe.seed)
    starts = range(0, len(samples) - recipe.batch_size + 1, recipe.batch_size)
    mean, std = (np.array(numbers, np.float32) * 255 for numbers in (recipe.mean, recipe.std))

    def view(name: str, augment: Augment | None) -> Callable[[Image, int], NDArray[Any]]:
        def look(image: Image, sample: int) -> NDArray[Any]:
            draws = Draws(recipe.seed, f"epoch {epoch}", sample)
            moved = _moved(image, draws, recipe)
            if augment is None:
                return moved
            return augmented(augment, moved, Draws(recipe.seed, f"epoch {epoch}{name}", sample) if name else draws)

        return look

    views = [view("", augment)]
    if recipe.jsd:
        views = [view("", None), view(" first", augment), view(" second", augment)]

    def draw(start: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        chosen = samples[start : start + recipe.batch_size]
        batch = np.stack([seen for view in views for seen in (view(images[i], int(i)) for i in chosen)])
        return chosen, (batch.astype(np.float32) - mean) / std

    with ThreadPoolExecutor(1) as pool:
        waiting: deque[Future[Any]] = deque()
        for start in starts:
            waiting.append(pool.submit(draw, start))
            if len(waiting) > AHEAD:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def _moved(image: Image, draws: Draws, recipe: Recipe) -> Image:
    """An image flipped and cropped as its draws say."""
    if recipe.flip and draws.integer("flip", 2):
        image = image[:, ::-1]
    if recipe.crop:
        height, width = image.shape[:2]
        padded = np.pad(image, ((recipe.crop, recipe.crop), (recipe.crop, recipe.crop), (0, 0)))
        top, left = (draws.integer(side, 2 * recipe.crop + 1) for side in ("top", "left"))
        image = padded[top : top + height, left : left + width]
    return np.ascontiguousarray(image)
