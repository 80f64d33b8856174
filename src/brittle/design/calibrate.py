"""The severities at which a corruption does so much harm and no more, found by halving."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from brittle.arrays import Image
from brittle.benchmarks import Benchmark, Entry
from brittle.datasets.dataset import Dataset, no_labels
from brittle.evaluation.engines import cores
from brittle.evaluation.predict import Classes, predict_all
from brittle.evaluation.source import Drawn, ahead
from brittle.models.model import Model

NOC = (0.95, 0.5)
"""NOC's rule: a range begins where a standard model keeps 95 % of its accuracy, and ends where it keeps half."""

Progress = Callable[[float, float], None]
"""Called with each (severity, R) that was tried."""


@dataclass(frozen=True)
class Calibration:
    """The severities of one corruption at which a model's robustness R crosses some values, and R there.

    A value that is not reached even at the largest severity gives that severity; `robustness` says how far it got.
    `looked` lists every (severity, R) that was tried.
    """

    corruption: str
    severities: tuple[float, ...]
    robustness: tuple[float, ...]
    reached: tuple[bool, ...]
    looked: tuple[tuple[float, float], ...]


def calibrate(
    corruption: str,
    model: Model,
    dataset: Dataset,
    robustness: Sequence[float] = NOC,
    *,
    benchmark: Benchmark | None = None,
    tolerance: float = 0.02,
    batch_size: int = 128,
    progress: Progress | None = None,
) -> Calibration:
    """Where a corruption leaves a model these shares of its clean accuracy (R = A(c) / A, falling from 1).

    The draws do not depend on the severity, so R falls along one path for all images and halving finds its crossing,
    to within `tolerance` of a severity; of several crossings it finds one. `benchmark` gives seed, table and options.
    """
    wanted = tuple(float(value) for value in robustness)
    if not wanted or not all(0 < value < 1 for value in wanted):
        raise ValueError(f"robustness is a share of the clean accuracy between 0 and 1, got {list(robustness)}")
    if not tolerance > 0:
        raise ValueError(f"tolerance must be above 0, got {tolerance}")
    recipe = benchmark or Benchmark("calibration", (Entry(corruption, (1.0,)),))
    entry = recipe.entry(corruption)
    robust = Robustness(model, dataset, recipe, entry, batch_size, progress)
    found = [crossing(robust, value, tolerance) for value in wanted]
    severities, values, reached = zip(*found, strict=True)
    return Calibration(entry.id, severities, values, reached, tuple(sorted(robust.looked.items())))


def crossing(robust: Robustness, value: float, tolerance: float) -> tuple[float, float, bool]:
    """The severity at which R falls below a value, found by halving, R there, and whether it gets there at all."""
    low = max((s for s, r in robust.looked.items() if r >= value), default=0.0)
    high = min((s for s, r in robust.looked.items() if r < value and s > low), default=robust.highest)
    if high == robust.highest and robust(high) >= value:
        return high, robust(high), False
    while high - low > tolerance:
        middle = (low + high) / 2
        low, high = (middle, high) if robust(middle) >= value else (low, middle)
    return high, robust(high), True


def calibrated(benchmark: Benchmark, calibrations: Sequence[Calibration], *, name: str, title: str = "") -> Benchmark:
    """A recipe whose corruptions draw each image's severity from the calibrated ranges."""
    ranges = {each.corruption: each.severities for each in calibrations}
    entries = []
    for entry in benchmark.entries:
        low, high = (round(end(ranges[entry.id]), 2) for end in (min, max))
        entries.append(replace(entry, levels=((low, high) if low < high else high,)))
    return replace(benchmark, name=name, title=title or f"{benchmark.name}, calibrated", entries=tuple(entries))


class Robustness:
    """R of one model under one corruption at a severity, remembered; `clean` is the accuracy that R is a share of."""

    def __init__(
        self,
        model: Model,
        dataset: Dataset,
        recipe: Benchmark,
        entry: Entry,
        batch_size: int,
        progress: Progress | None,
    ) -> None:
        if dataset.labels is None:
            raise no_labels(dataset, "so accuracy is not known")
        self.source = Drawn(np.stack(list(dataset.images())), dataset.ids, recipe)
        self.model, self.labels, self.classes = model, dataset.labels, Classes.of(dataset)
        self.recipe, self.entry, self.batch_size, self.progress = recipe, entry, batch_size, progress
        self.clean = self._accuracy(0.0)
        if self.clean < 2 / max(2, len(dataset.classes)):
            raise ValueError(f"{model.name!r} has {100 * self.clean:.1f} % on clean images: too little to lose any")
        self.highest = float(entry.corruption.max_severity)
        self.looked: dict[float, float] = {0.0: 1.0}

    def __call__(self, severity: float) -> float:
        if severity not in self.looked:
            self.looked[severity] = self._accuracy(severity) / self.clean
            if self.progress is not None:
                self.progress(severity, self.looked[severity])
        return self.looked[severity]

    def _accuracy(self, severity: float) -> float:
        def draw(start: int) -> Image:
            part = slice(start, start + self.batch_size)
            clean: Image = self.source.images[part]
            if not severity:
                return clean
            corrupted: Image = self.recipe.apply(clean, self.entry.id, severity, self.source.ids[part])
            return corrupted

        batches = ahead(draw, range(0, len(self.source), self.batch_size), cores())
        [(predictions, _)] = predict_all([self.model], batches, self.classes)
        return float((predictions == self.labels).mean())
