"""Where the images of a cell come from: drawn by a recipe, or read from a published corrupted set."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from brittle.arrays import Image
from brittle.benchmarks import Benchmark
from brittle.evaluation.cell import Cell

AHEAD = 2
"""Batches that each thread may be ahead of the models: enough never to wait, few enough to need little memory."""

Out = TypeVar("Out")


@dataclass(frozen=True, eq=False)
class Drawn:
    """Clean images, and the recipe that corrupts them when they are asked for."""

    images: Image
    ids: Sequence[str | int]
    benchmark: Benchmark | None

    def __len__(self) -> int:
        return len(self.images)

    def batches(self, cell: Cell, batch_size: int, threads: int) -> Iterator[Image]:
        """Corrupted batches in order; what they hold depends on neither the batch size nor the threads."""

        def draw(start: int) -> Image:
            stop = min(start + batch_size, len(self))
            clean = np.array(self.images[start:stop])
            if cell.is_clean or self.benchmark is None:
                return clean
            corrupted: Image = self.benchmark.apply(clean, cell.corruption, cell.level, self.ids[start:stop])
            return corrupted

        return ahead(draw, range(0, len(self), batch_size), threads)


def ahead(work: Callable[[int], Out], items: Sequence[int], threads: int) -> Iterator[Out]:
    """work(item) for each item in order, done by threads a few items ahead of whoever consumes them."""
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[Out]] = deque()
        try:
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) > threads * AHEAD:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
