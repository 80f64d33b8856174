"""Cells as tasks of a Ray cluster: images and models travel once to each node, a lost worker's cells are done again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from brittle.evaluation.cell import Cell
from brittle.evaluation.cluster import cluster, spread
from brittle.evaluation.engines import Done, Job, Task, Tick
from brittle.evaluation.predict import Predictions, predict_all


def on_ray(job: Job, tasks: Sequence[Task], tick: Tick, address: str | None) -> Done:
    """The cells in the order in which they come back; nothing but predictions travels.

    Without an address a cluster of this machine is started, and stopped at the end. A task takes one processor, and
    one GPU if a model wants one. Errors of a model are raised here; only the loss of a worker is retried.
    """
    wants_gpu = any(str(getattr(model, "device", "cpu")).startswith("cuda") for model in job.models)
    with cluster(address) as ray:
        shared = ray.put(replace(job, threads=1))
        work = [((cell, lacking), (shared, cell, list(lacking))) for cell, lacking in tasks]
        for (cell, lacking), found in spread(ray, _cell, work, gpu=wants_gpu, title=lambda task: task[0].title):
            tick(cell.title, len(job.source))
            yield (cell, lacking), found


def _cell(job: Job, cell: Cell, lacking: list[int]) -> list[Predictions]:
    models = [job.models[i] for i in lacking]
    batches = job.source.batches(cell, job.batch_size, job.threads)
    return predict_all(models, batches, job.classes, where=cell.of(job.data))
