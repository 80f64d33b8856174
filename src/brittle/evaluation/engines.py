"""Where cells are computed: here, or on a Ray cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, islice, product
from typing import Any

from brittle._ray import check_engine, map_on_ray, ray_cluster
from brittle.evaluation.cell import Cell, Drawn
from brittle.evaluation.inference import Classes, Predictions, infer, joined
from brittle.models.model import Model

Task = tuple[Cell, Sequence[int]]
"""A cell, and the numbers of the models that lack it."""

Done = Iterator[tuple[Task, list[Predictions]]]
Tick = Callable[[str, int], None]
"""Called with (the cell's name, images just done)."""


@dataclass(frozen=True)
class Job:
    """All that the cells of a run have in common."""

    source: Drawn
    classes: Classes
    models: Sequence[Model]
    batch_size: int
    threads: int | None
    data: str


def local(job: Job, tasks: Sequence[Task], tick: Tick) -> Done:
    """One cell after the other, though the batches of the next are begun when processors have nothing else to do."""
    for lacking, group in groupby(tasks, key=lambda task: list(task[1])):
        cells, starts = [cell for cell, _ in group], range(0, len(job.source), job.batch_size)
        batches = infer(
            [job.models[i] for i in lacking],
            lambda place: job.source.batch(*place, job.batch_size),
            list(product(cells, starts)),
            job.classes,
            threads=job.threads,
            where=lambda place: place[0].of(job.data),
        )
        for cell in cells:
            seen: list[list[Predictions]] = []
            for found in islice(batches, len(starts)):
                seen.append(found)
                tick(cell.title, len(found[0][0]))
            yield (cell, lacking), [joined(found) for found in zip(*seen, strict=True)]


def find_engine(name: str, address: str | None) -> Callable[[Job, Sequence[Task], Tick], Done]:
    """An engine by its name."""
    check_engine(name, address)
    if name == "local":
        return local

    def run(job: Job, tasks: Sequence[Task], tick: Tick) -> Any:
        return on_ray(job, tasks, tick, address)

    return run


def on_ray(job: Job, tasks: Sequence[Task], tick: Tick, address: str | None) -> Done:
    """The cells in the order in which they come back; nothing but predictions travels.

    Without an address a cluster of this machine is started, and stopped at the end. A task takes one processor, and
    one GPU if a model wants one. Errors of a model are raised here; only the loss of a worker is retried.
    """
    wants_gpu = any(str(getattr(model, "device", "cpu")).startswith("cuda") for model in job.models)
    with ray_cluster(address) as ray:
        shared = ray.put(replace(job, threads=1))
        work = [((cell, lacking), (shared, cell, list(lacking))) for cell, lacking in tasks]
        for (cell, lacking), found in map_on_ray(ray, _cell, work, gpu=wants_gpu, title=lambda task: task[0].title):
            tick(cell.title, len(job.source))
            yield (cell, lacking), found


def _cell(job: Job, cell: Cell, lacking: list[int]) -> list[Predictions]:
    [(_, found)] = local(job, [(cell, lacking)], lambda *_: None)
    return found
