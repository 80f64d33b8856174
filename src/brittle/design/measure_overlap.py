"""From candidate corruptions to their overlap: train a model on each, test every model on each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brittle.benchmarks import Benchmark
from brittle.datasets.dataset import Dataset
from brittle.design.claim import claim, weights_key
from brittle.design.overlap_models import OverlapModels, Progress
from brittle.design.overlap_plan import STANDARD, Plan
from brittle.evaluation import Results, evaluate
from brittle.evaluation.engines import check_engine
from brittle.evaluation.scores import by_corruption, cells_of
from brittle.models import TorchModel, from_torch

TOGETHER = 12
"""So many models are tested at once: they share the drawing of the corruptions, and must fit into memory."""


def measure_overlap(
    training: Dataset,
    test: Dataset,
    candidates: Benchmark,
    folder: str | Path,
    plan: Plan | None = None,
    *,
    start: str | Path | None = None,
    batch_size: int = 128,
    engine: str = "local",
    address: str | None = None,
    device: str = "auto",
    progress: Progress | None = None,
) -> Results:
    """Make the k + 1 models of an overlap matrix and run each through all candidates; what is there stays.

    A candidate with a range draws the severity of each image from it. One with several levels, such as those of
    ImageNet-C, draws one of them for each training image, as NOC does (section 5.1); every model is tested at all of
    them, which has the mean of NOC's random one and less noise.

    `start` is a file of weights for the standard model, which is trained otherwise. Weights land in `folder`/models,
    predictions in `folder`/run as those of any run; `accuracy_table` and `correct_cube` read them. The local engine
    goes on inside a training that was interrupted; with "ray" the workers of a cluster make whole models, and then
    test them.
    """
    plan = plan or Plan()
    folder = Path(folder)
    check_engine(engine, address)
    if training.labels is None or test.labels is None:
        raise ValueError("training and test data need labels")
    about = {
        "plan": repr(plan),
        "candidates": candidates.hash,
        "training": training.key,
        "start": weights_key(start),
    }
    claim(folder / "overlap.json", about, "overlap models")
    models = OverlapModels(training, candidates, plan, folder / "models", start=start, device=device, progress=progress)
    if engine == "ray":
        models.make_on_ray(address)
    for name in models.names:
        models.network(name)
    results: Results | None = None
    for start_at in range(0, len(models.names), TOGETHER):
        some = [_model(models, name, device) for name in models.names[start_at : start_at + TOGETHER]]
        results = evaluate(
            some,
            test,
            candidates,
            folder / "run",
            batch_size=batch_size,
            engine=engine,
            address=address,
            progress=_testing(start_at, len(models.names), progress),
        )
    assert results is not None
    return results


def _model(models: OverlapModels, name: str, device: str) -> TorchModel:
    recipe = models.plan.standard
    return from_torch(models.network(name), name=name, mean=recipe.mean, std=recipe.std, device=device)


def _testing(before: int, models: int, progress: Progress | None) -> Callable[[str, int, int], None] | None:
    if progress is None:
        return None
    parts = -(-models // TOGETHER)
    return lambda what, done, total: progress(f"testing under {what}", before // TOGETHER * total + done, parts * total)


def accuracy_table(results: Results, candidates: Benchmark) -> NDArray[np.float64]:
    """The (k + 1) × (k + 1) accuracies: row = trained on, column = tested on, the first of both standard and clean."""
    return np.asarray(correct_cube(results, candidates).mean(axis=-1))


def correct_cube(results: Results, candidates: Benchmark) -> NDArray[Any]:
    """Right or wrong, trained on × tested on × sample, from which intervals are drawn.

    If a candidate has several levels, it is the share of them at which a sample is right.
    """
    cells = [("clean", 0.0), *cells_of(candidates)]
    names = [STANDARD, *(entry.id for entry in candidates.entries)]
    rows = [results.matrix(name, cells).values for name in names]
    if len(candidates) > len(candidates.entries):
        mean = by_corruption(candidates)
        rows = [np.column_stack([correct[:, 0], np.minimum(mean(correct[:, 1:]), 1)]) for correct in rows]
    return np.stack([correct.T for correct in rows])
