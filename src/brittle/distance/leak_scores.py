"""What a benchmark says with and without the corruptions that the training leaked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from brittle.benchmarks import Benchmark
from brittle.datasets.near import nearest
from brittle.evaluation.results import Results
from brittle.evaluation.scores import scores


def leak_scores(
    results: Results,
    benchmark: Benchmark,
    leaked: Sequence[str],
    *,
    models: Sequence[str] | None = None,
    resamples: int = 1000,
) -> pl.DataFrame:
    """The mean accuracy of each model over "all" corruptions, the "kept" ones, and the "leaked" ones, with intervals.

    Columns: model, corruptions (which of the three), count, mean_accuracy, low, high. A part without corruptions is
    left out. If a method's gain is in the leaked ones alone, it did not generalise.
    """
    known = [entry.id for entry in benchmark.entries]
    for name in leaked:
        if name not in known:
            raise ValueError(f"{name!r} is not part of {benchmark.name!r}; {nearest(name, known)}")
    parts = {
        "all": known,
        "kept": [name for name in known if name not in leaked],
        "leaked": [name for name in known if name in leaked],
    }
    rows = []
    for part, names in parts.items():
        if not names:
            continue
        chosen = replace(benchmark, entries=tuple(entry for entry in benchmark.entries if entry.id in names))
        for mine in scores(results, chosen, models=models, resamples=resamples):
            score = mine.mean_accuracy
            rows.append((mine.model, part, len(names), score.value, score.low, score.high))
    columns = ["model", "corruptions", "count", "mean_accuracy", "low", "high"]
    return pl.DataFrame(rows, schema=columns, orient="row").sort("model", maintain_order=True)
