"""Cells as tasks of a Ray cluster: images and models travel once to each node, a lost worker's cells are done again."""

from __future__ import annotations

import logging
import socket
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from brittle.evaluation.cell import Cell
from brittle.evaluation.engines import Done, Job, Task, Tick
from brittle.evaluation.predict import Predictions, predict_all

PATIENCE = 10.0
"""Seconds within which a cluster must answer."""

RETRIES = 5
"""How often a cell is tried again when the worker that had it dies."""


def on_ray(job: Job, tasks: Sequence[Task], tick: Tick, address: str | None) -> Done:
    """The cells in the order in which they come back; nothing but predictions travels.

    Without an address a cluster of this machine is started, and stopped at the end. A task takes one processor, and
    one GPU if a model wants one. Errors of a model are raised here; only the loss of a worker is retried.
    """
    try:
        import ray
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("the Ray engine needs Ray: pip install 'brittle[ray]'") from error
    began = not ray.is_initialized()
    if began:
        _check_reachable(address)
        try:
            ray.init(address=address, logging_level=logging.ERROR, log_to_driver=False, include_dashboard=False)
        except ConnectionError as error:
            raise ConnectionError(f"there is no Ray cluster at {address!r}: {error}") from error
    try:
        yield from _spread(ray, job, tasks, tick)
    finally:
        if began:
            ray.shutdown()


def _check_reachable(address: str | None) -> None:
    """Raise at once if nothing answers at an address; Ray itself would try for minutes."""
    host, colon, port = (address or "").rpartition("://")[2].rpartition(":")
    if not colon or not port.isdecimal():
        return
    try:
        socket.create_connection((host, int(port)), timeout=PATIENCE).close()
    except OSError as error:
        raise ConnectionError(
            f"there is no Ray cluster at {address!r} ({error}); start one with `ray start`"
        ) from error


def _spread(ray: Any, job: Job, tasks: Sequence[Task], tick: Tick) -> Done:
    shared = ray.put(replace(job, threads=1))
    wants_gpu = any(str(getattr(model, "device", "cpu")).startswith("cuda") for model in job.models)
    work = ray.remote(num_cpus=1, num_gpus=1 if wants_gpu else 0, max_retries=RETRIES)(_cell)
    waiting = {work.remote(shared, cell, list(lacking)): (cell, lacking) for cell, lacking in tasks}
    try:
        while waiting:
            ready, _ = ray.wait(list(waiting), num_returns=1)
            for done in ready:
                cell, lacking = waiting.pop(done)
                try:
                    found: list[Predictions] = ray.get(done)
                except ray.exceptions.RaySystemError as error:
                    reason = str(error).strip().splitlines()[-1]
                    raise RuntimeError(
                        f"a Ray worker could not take over {cell.title} ({reason}); what a model needs must be "
                        "installed on every node"
                    ) from error
                except ray.exceptions.RayTaskError as error:
                    raise error.cause from None
                except ray.exceptions.WorkerCrashedError as error:
                    raise RuntimeError(
                        f"the workers that had {cell.title} died {RETRIES + 1} times; is there enough memory?"
                    ) from error
                tick(cell.title, len(job.source))
                yield (cell, lacking), found
    finally:
        for task in waiting:
            ray.cancel(task)


def _cell(job: Job, cell: Cell, lacking: list[int]) -> list[Predictions]:
    models = [job.models[i] for i in lacking]
    return predict_all(models, job.source.batches(cell, job.batch_size, job.threads), job.classes)
