"""Who computes the cells: this process, or a Ray cluster. Only the process that asked writes to disk."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from brittle.arrays import Image
from brittle.evaluation.cell import Cell
from brittle.evaluation.predict import Classes, Predictions, predict_all
from brittle.evaluation.source import Drawn
from brittle.models.model import Model
from brittle.threads import cores

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
    threads: int
    data: str


def local(job: Job, tasks: Sequence[Task], tick: Tick) -> Done:
    """One cell after the other: threads corrupt the next batches while the models look at this one."""
    for cell, lacking in tasks:
        models = [job.models[i] for i in lacking]
        batches = _counted(job.source.batches(cell, job.batch_size, job.threads), cell, tick)
        yield (cell, lacking), predict_all(models, batches, job.classes, where=cell.of(job.data))


def _counted(batches: Iterator[Image], cell: Cell, tick: Tick) -> Iterator[Image]:
    for images in batches:
        yield images
        tick(cell.title, len(images))


ENGINES = ("local", "ray")

__all__ = ["ENGINES", "Done", "Job", "Task", "Tick", "check_engine", "cores", "find_engine", "local"]


def check_engine(name: str, address: str | None) -> None:
    """Raise unless there is such an engine, and an address is one of Ray."""
    if name not in ENGINES:
        raise ValueError(f"there is no engine {name!r}; there are: {', '.join(ENGINES)}")
    if name == "local" and address is not None:
        raise ValueError(f"the local engine has no address, got {address!r}; did you mean engine='ray'?")


def find_engine(name: str, address: str | None) -> Callable[[Job, Sequence[Task], Tick], Done]:
    """An engine by its name."""
    check_engine(name, address)
    if name == "local":
        return local
    from brittle.evaluation.ray_engine import on_ray

    def run(job: Job, tasks: Sequence[Task], tick: Tick) -> Any:
        return on_ray(job, tasks, tick, address)

    return run
