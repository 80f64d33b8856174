"""Where each image breaks, found on the continuous axis by halving instead of by a fine grid."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from brittle.arrays import Image
from brittle.evaluation.predict import Classes, Predictions, predict
from brittle.evaluation.source import Drawn, ahead
from brittle.metrics import FailurePoints
from brittle.metrics.fraction import Floats
from brittle.models.model import Model

Tick = Callable[[int], None]
"""Called with the number of images just shown."""


@dataclass(frozen=True, eq=False)
class Search:
    """What a search found for each sample.

    `failed` is the smallest severity known to fail (0: wrong when clean; inf: never wrong), `held` the largest one
    below it at which the sample was right, `evaluations` how often the model evaluated the sample. `prediction` is what
    it takes the sample for at `failed` (-1: it never fails); the confidences are those of its predictions.
    """

    failed: Floats
    held: Floats
    resolution: float
    max_severity: float
    evaluations: NDArray[np.int32]
    prediction: NDArray[np.int32]
    clean_confidence: NDArray[np.float32]
    held_confidence: NDArray[np.float32]
    failed_confidence: NDArray[np.float32]

    @property
    def shown(self) -> int:
        """How many images the model evaluated."""
        return int(self.evaluations.sum())

    @property
    def points(self) -> FailurePoints:
        """The failure points, on the grid that the search resolves."""
        steps = round(self.max_severity / self.resolution)
        return FailurePoints(self.failed, np.arange(steps + 1, dtype=np.float64) * self.resolution)

    @property
    def shown_by_a_grid(self) -> int:
        """How many images a grid of the same resolution would have shown."""
        return len(self.failed) * (round(self.max_severity / self.resolution) + 1)


def bisect(
    model: Model,
    source: Drawn,
    labels: NDArray[np.integer],
    corruption: str,
    *,
    classes: Classes | None = None,
    step: float = 1.0,
    tolerance: float = 0.05,
    batch_size: int = 64,
    threads: int = 1,
    tick: Tick | None = None,
) -> Search:
    """The severity at which each image is first wrong.

    Whole steps are tried upwards until the first failure, then the step below it is halved until it is narrower than
    `tolerance`. A sample that fails and recovers within one step may hide its first failure; with `step` equal to
    `tolerance` the search is a grid and hides nothing, with `step` equal to the largest severity it is pure halving.
    """
    if source.benchmark is None:
        raise ValueError("a search for failure points needs a benchmark that draws the corruption")
    highest = float(source.benchmark.entry(corruption).corruption.max_severity)
    if not 0 < tolerance <= step <= highest:
        raise ValueError(
            f"tolerance and step are severities with 0 < tolerance ≤ step ≤ {highest:g}, got {tolerance:g} and {step:g}"
        )
    if not float(highest / step).is_integer():
        raise ValueError(
            f"whole steps must end at {highest:g}, got step {step:g}; take {highest:g} over a whole number"
        )
    halvings = math.ceil(math.log2(step / tolerance) - 1e-9)
    look = _Looker(model, source, np.asarray(labels), corruption, classes or Classes(), batch_size, threads, tick)
    count = len(source)
    failed, held = np.full(count, np.inf), np.zeros(count)
    prediction = np.full(count, -1, np.int32)
    held_confidence, failed_confidence = np.full(count, np.nan, np.float32), np.full(count, np.nan, np.float32)

    def evaluate(samples: NDArray[np.int64], severities: Floats) -> NDArray[np.float32]:
        """Move both ends of the samples' intervals to what the model says at these severities."""
        predictions, confidences = look(samples, severities)
        right = predictions == look.labels[samples]
        standing, fallen = samples[right], samples[~right]
        held[standing], held_confidence[standing] = severities[right], confidences[right]
        failed[fallen], failed_confidence[fallen] = severities[~right], confidences[~right]
        prediction[fallen] = predictions[~right]
        return confidences

    clean_confidence = evaluate(np.arange(count), np.zeros(count))
    for severity in np.arange(1, round(highest / step) + 1) * step:
        standing = np.flatnonzero(np.isinf(failed))
        evaluate(standing, np.full(len(standing), severity))
    for _ in range(halvings):
        between = np.flatnonzero(np.isfinite(failed) & (failed > 0))
        evaluate(between, (held[between] + failed[between]) / 2)
    return Search(
        failed,
        held,
        step / 2**halvings,
        highest,
        look.evaluations,
        prediction,
        clean_confidence,
        held_confidence,
        failed_confidence,
    )


class _Looker:
    """What does the model take these samples for at these severities, and how sure is it?"""

    def __init__(
        self,
        model: Model,
        source: Drawn,
        labels: NDArray[np.integer],
        corruption: str,
        classes: Classes,
        batch_size: int,
        threads: int,
        tick: Tick | None,
    ) -> None:
        self.model, self.source, self.labels, self.corruption = model, source, labels, corruption
        self.classes, self.batch_size, self.threads, self.tick = classes, batch_size, threads, tick
        self.evaluations = np.zeros(len(source), np.int32)

    def __call__(self, samples: NDArray[np.int64], severities: Floats) -> Predictions:
        source, benchmark = self.source, self.source.benchmark
        assert benchmark is not None

        def draw(start: int) -> Image:
            stop = start + self.batch_size
            return np.stack(
                [
                    benchmark.apply(np.array(source.images[i]), self.corruption, float(s), source.ids[i])
                    if s
                    else source.images[i]
                    for i, s in zip(samples[start:stop], severities[start:stop], strict=True)
                ]
            )

        name = self.corruption.rpartition("/")[2]
        where = f"{name} at severities of {severities.min():g} to {severities.max():g}" if len(samples) else name
        found, sure = np.empty(len(samples), np.int32), np.empty(len(samples), np.float32)
        start = 0
        for images in ahead(draw, range(0, len(samples), self.batch_size), self.threads):
            stop = start + len(images)
            found[start:stop], sure[start:stop] = predict(self.model, images, self.classes, where=where)
            start = stop
            if self.tick is not None:
                self.tick(len(images))
        self.evaluations[samples] += 1
        return found, sure
