"""What flips the prediction for one photograph, and at what severity."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from brittle._errors import BrittleError
from brittle.benchmarks import Benchmark
from brittle.datasets.images import any_image, read_image
from brittle.evaluation.cell import Classes, Drawn, predict
from brittle.evaluation.failures.search import bisect
from brittle.evaluation.inputs import needed_benchmark
from brittle.models import wrap_model


@dataclass(frozen=True)
class Flip:
    """The severity at which a corruption flips the prediction: median, least and most over repeated draws.

    `draw` is the one in the middle: unmoved up to `held`, it `becomes` another class at the median. Never flipping is
    `inf`. `held_confidence` is that of the unmoved prediction at `held`, `confidence` that of the other one.
    """

    corruption: str
    median: float
    least: float
    most: float
    draw: int
    held: float
    becomes: int | None
    held_confidence: float = float("nan")
    confidence: float = float("nan")


@dataclass(frozen=True)
class Probe:
    """The prediction for the clean photograph, and what flips it, the most brittle first."""

    prediction: int
    confidence: float
    draws: int
    flips: tuple[Flip, ...]


def probe(
    model: Any,
    image: Any,
    benchmark: str | Path | Benchmark = "imagenet-c",
    *,
    draws: int = 5,
    tolerance: float = 0.05,
    progress: Callable[[], None] | None = None,
) -> Probe:
    """Find where the prediction for an image leaves that for the clean one, for every corruption of a benchmark.

    >>> import brittle
    >>> data = brittle.load_dataset("demo")
    >>> blur = brittle.Benchmark("blur", [brittle.benchmarks.Entry("gaussian_blur", [1, 5])])
    >>> found = brittle.probe("demo:augmix", data.image(0), blur, draws=1)
    >>> data.classes[found.prediction], [flip.corruption for flip in found.flips]
    ('cat', ['imagenet-c/gaussian_blur'])

    No label is needed. The model is given as to `evaluate`; the image as H×W×3 or a PIL image, at the size at which it
    is to be corrupted, or as the path of a file. `draws` sample ids are tried, since a corruption is random;
    `progress` is called after each corruption.
    """
    model, benchmark = wrap_model(model), needed_benchmark(benchmark)
    image = read_image(Path(image)) if isinstance(image, str | Path) else any_image(image)
    if draws < 1:
        raise BrittleError(f"draws must be at least 1, got {draws}")
    [prediction], [confidence] = predict(model, image[np.newaxis], Classes(), where="the clean photograph")
    source = Drawn(np.repeat(image[np.newaxis], draws, axis=0), range(draws), benchmark)
    flips = []
    for entry in benchmark.entries:
        search = bisect(model, source, np.full(draws, prediction), entry.id, tolerance=tolerance, batch_size=draws)
        middle = int(np.argsort(search.failed, kind="stable")[(draws - 1) // 2])
        median = float(search.failed[middle])
        becomes = int(search.prediction[middle]) if np.isfinite(median) else None
        least, most = float(search.failed.min()), float(search.failed.max())
        sure = float(search.held_confidence[middle]), float(search.failed_confidence[middle])
        flips.append(Flip(entry.id, median, least, most, middle, float(search.held[middle]), becomes, *sure))
        if progress is not None:
            progress()
    longest = {entry.id: entry.corruption.max_severity for entry in benchmark.entries}
    flips.sort(key=lambda flip: (flip.median / longest[flip.corruption], flip.least))
    return Probe(int(prediction), float(confidence), draws, tuple(flips))
