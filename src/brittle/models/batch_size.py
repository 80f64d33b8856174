"""How many images to show a model at once."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from brittle._errors import BrittleError, ModelError, model_errors
from brittle.models.model import Model

LEAST, LEAST_OF_LARGE = ((64, 64), (256, 32)), 8
"""Images of up to 64 px a side are shown at least 64 at once, up to 256 px at least 32, and larger ones at least 8."""

GAIN, TURNS, LONGEST = 1.2, 5, 0.3
"""The gain of speed that makes doubling worth it, how often it is measured, and the most seconds of a batch that is
doubled at all: what takes longer keeps the processor busy."""

OUT_OF_MEMORY = ("out of memory", "not enough memory", "can't allocate memory", "failed to allocate memory")


class _Spent(NamedTuple):
    """What a batch took: seconds on the clock, and seconds of this process on all processors."""

    clock: float
    processor: float


def best_batch_size(model: Model, image_shape: Sequence[int], *, limit: int = 256) -> int:
    """A batch size at which a model is fast: at least 64, or 32 above 64 px, doubled while that is clearly faster.

    The model is shown black images of `image_shape` (height, width, 3). A size and its double are timed in turns, and
    the median of five comparisons decides, so that one interruption does not; models on the CPU are timed by the
    processor time they use, which other programs do not change. A model that runs out of memory is shown fewer images.
    A model whose batch size is fixed has its own answer.
    """
    if limit < 1:
        raise BrittleError(f"limit must be at least 1, got {limit}")
    fixed = getattr(model, "batch_size", None)
    if fixed is not None:
        return int(fixed)
    size = min(least_batch_size(image_shape), limit)
    spent = _spent(model, size, image_shape)
    while spent is None and size > 1:
        size //= 2
        spent = _spent(model, size, image_shape)
    if spent is None:
        raise MemoryError(f"the model {model.name!r} runs out of memory on one image of shape {tuple(image_shape)}")
    while 2 * size <= limit and _doubling_pays(model, size, image_shape):
        size *= 2
    return size


def common_batch_size(models: Sequence[Model], image_shape: Sequence[int], images: int) -> int:
    """The batch size at which several models are shown so many images: the smallest of those that suit each.

    Where there is little to show nothing is measured. Models whose batch size is fixed split batches themselves.
    """
    least = least_batch_size(image_shape)
    free = [model for model in models if getattr(model, "batch_size", None) is None]
    if not free or images <= 8 * least:
        return least
    return min(best_batch_size(model, image_shape, limit=min(256, images)) for model in free)


def least_batch_size(image_shape: Sequence[int]) -> int:
    """How many images of this shape (height, width, 3) are shown at once at least, if memory lasts."""
    return next((count for side, count in LEAST if max(image_shape[:2]) <= side), LEAST_OF_LARGE)


def _doubling_pays(model: Model, size: int, image_shape: Sequence[int]) -> bool:
    on_cpu = getattr(model, "device", "cpu") == "cpu"
    gains = []
    for _ in range(TURNS + 1):
        few = _spent(model, size, image_shape)
        if few is None or few.clock > LONGEST:
            return False
        many = _spent(model, 2 * size, image_shape)
        if many is None:
            return False
        once, twice = (few.processor, many.processor) if on_cpu else (few.clock, many.clock)
        gains.append(2 * once / twice if twice > 0 else 1.0)
    return statistics.median(gains[1:]) >= GAIN  # the first turn warms up


def _spent(model: Model, size: int, image_shape: Sequence[int]) -> _Spent | None:
    """What a batch takes; None if memory does not last."""
    images = np.zeros((size, *image_shape), np.uint8)
    try:
        with model_errors(model.name, f"on {size} black images, shown to find a batch size"):
            clock, processor = time.perf_counter(), time.process_time()
            model.scores(images)
            return _Spent(time.perf_counter() - clock, time.process_time() - processor)
    except ModelError as error:
        if not _is_out_of_memory(error.__cause__):
            raise
        if "torch" in sys.modules and sys.modules["torch"].cuda.is_available():
            sys.modules["torch"].cuda.empty_cache()
        return None


def _is_out_of_memory(error: BaseException | None) -> bool:
    said = str(error).lower() if isinstance(error, RuntimeError) else ""
    return isinstance(error, MemoryError) or any(words in said for words in OUT_OF_MEMORY)
