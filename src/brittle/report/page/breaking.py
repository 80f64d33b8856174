"""Where images break: failure points, corruption by corruption and all together."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from brittle.benchmarks import Benchmark
from brittle.metrics import failure_points
from brittle.metrics.bootstrap import share_intervals
from brittle.metrics.fraction import Floats
from brittle.report.page.columns import columns
from brittle.report.page.numbers import severity

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class Breaks:
    """Failure points of one corruption, or of several: those of images that are right when clean."""

    median: float
    mean: float
    last: float
    still_right: float


@dataclass(frozen=True, eq=False)
class Breaking:
    """How images that are right when clean break along the levels.

    `ticks` names the steps of the pooled numbers: severities if all corruptions share them, else their ranks.
    """

    images: int
    ticks: list[str]
    shared: bool
    survival: Floats
    low: Floats
    high: Floats
    histogram: Floats
    never: float
    pooled: Breaks
    corruptions: dict[str, Breaks]
    left_out: list[str]


def breaking(benchmark: Benchmark, table: Bools) -> Breaking | None:
    """Failure points from a matrix of samples × (clean, then every cell); None if there is nothing to climb."""
    right = table[table[:, 0]]
    climbed = [own for own in columns(benchmark) if own.ladder]
    if not climbed or not len(right):
        return None
    blocks = {own.entry.id: right[:, [0, *own.places]] for own in climbed}
    steps = Counter(len(own.ladder) for own in climbed).most_common(1)[0][0]
    pooled = {own.entry.id: own.ladder for own in climbed if len(own.ladder) == steps}
    ladders = set(pooled.values())
    shared = len(ladders) == 1
    axis = np.array([0.0, *next(iter(ladders))]) if shared else np.arange(steps + 1.0)
    together = np.concatenate([blocks[name] for name in pooled])
    points = failure_points(together, axis)
    alive = np.mean([np.logical_and.accumulate(blocks[name], axis=1) for name in pooled], axis=0)
    low, high = share_intervals(alive)
    low[0] = high[0] = 1.0  # by definition: these images are right at severity 0
    return Breaking(
        len(right),
        [severity(float(x)) for x in axis[1:]],
        shared,
        points.survival(),
        low,
        high,
        points.histogram()[1:],
        points.never / len(points),
        _breaks(together, axis),
        {own.entry.id: _breaks(blocks[own.entry.id], np.array([0.0, *own.ladder])) for own in climbed},
        [entry.corruption.name for entry in benchmark.entries if entry.id not in pooled],
    )


def _breaks(right: Bools, axis: Floats) -> Breaks:
    points = failure_points(right, axis)
    last = float(points.severities[-1])
    return Breaks(points.median(), points.mean(), last, float(points.survival([last])[0]))
