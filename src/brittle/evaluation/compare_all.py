"""All models of a benchmark against the best of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from brittle.benchmarks import Benchmark
from brittle.evaluation.results import Cells, Matrix, Results
from brittle.evaluation.scores import CLEAN_CELL, by_corruption, cells_of, check_same_images
from brittle.metrics import Estimate, differences


def compare_all(
    results: Results, benchmark: Benchmark | None, models: Sequence[str], *, resamples: int = 1000
) -> dict[str, Estimate]:
    """The mean accuracy of each further model minus that of the first, on the images that all of them have.

    The intervals hold together, whichever model was put first (see `differences`): use this, and not `compare` again
    and again, to hold several models against the best. Without a benchmark it is the accuracy on clean images.
    """
    check_same_images(results)
    if len(models) < 2:
        return {}
    cells: Cells = [CLEAN_CELL] if benchmark is None else cells_of(benchmark)
    tables = shared_rows(results, models, cells)
    mean = by_corruption(benchmark) if benchmark is not None else np.asarray
    names = [f"{model} − {models[0]}" for model in models[1:]]
    found = differences(tables, lambda x: mean(x).mean(-1), names=names, resamples=resamples)
    return dict(zip(models[1:], found, strict=True))


def shared_rows(results: Results, models: Sequence[str], cells: Cells) -> list[NDArray[np.bool_]]:
    """Right or wrong of each model, samples × cells, on the samples that all of them have."""
    found: list[Matrix] = [results.matrix(model, cells) for model in models]
    shared = reduce(np.intersect1d, [matrix.samples for matrix in found])
    if not shared.size:
        listed = ", ".join(map(repr, models))
        raise ValueError(f"{listed} were run on different images, so they cannot be compared in pairs")
    return [matrix.values[np.searchsorted(matrix.samples, shared)] for matrix in found]
