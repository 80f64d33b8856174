"""How many images to show a model at once."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

import numpy as np

from brittle.models.model import Model
from brittle.models.model_error import ModelError, telling

START, GAIN, LONGEST = 8, 1.1, 2.0
"""The first batch size, the least gain of speed that makes doubling worth it, the most seconds for a batch."""

OUT_OF_MEMORY = ("out of memory", "not enough memory", "can't allocate memory", "failed to allocate memory")


def best_batch_size(model: Model, image_shape: Sequence[int], *, limit: int = 256) -> int:
    """A batch size at which a model is fast: doubled while images per second grow by a tenth and memory lasts.

    The model is shown black images of `image_shape` (height, width, 3). No batch takes much more than two seconds. A
    model whose batch size is fixed has its own answer.
    """
    if limit < 1:
        raise ValueError(f"limit must be at least 1, got {limit}")
    fixed = getattr(model, "batch_size", None)
    if fixed is not None:
        return int(fixed)
    size = min(START, limit)
    seconds = _seconds(model, size, image_shape)
    while seconds is None and size > 1:
        size //= 2
        seconds = _seconds(model, size, image_shape)
    if seconds is None:
        raise MemoryError(f"the model {model.name!r} runs out of memory on one image of shape {tuple(image_shape)}")
    while seconds < LONGEST and 2 * size <= limit:
        longer = _seconds(model, 2 * size, image_shape)
        if longer is None or 2 * seconds / longer < GAIN:
            break
        size, seconds = 2 * size, longer
    return size


def _seconds(model: Model, size: int, image_shape: Sequence[int]) -> float | None:
    """How long a batch takes, the faster of two after one to warm up; None if memory does not last."""
    images = np.zeros((size, *image_shape), np.uint8)
    times = []
    try:
        with telling(model.name, f"on {size} black images, shown to find a batch size"):
            for _ in range(3):
                start = time.perf_counter()
                model.scores(images)
                times.append(time.perf_counter() - start)
                if times[-1] > LONGEST:
                    break
    except ModelError as error:
        if not _is_out_of_memory(error.__cause__):
            raise
        if "torch" in sys.modules and sys.modules["torch"].cuda.is_available():
            sys.modules["torch"].cuda.empty_cache()
        return None
    return min(times)


def _is_out_of_memory(error: BaseException | None) -> bool:
    said = str(error).lower() if isinstance(error, RuntimeError) else ""
    return isinstance(error, MemoryError) or any(words in said for words in OUT_OF_MEMORY)
