"""Where cells are computed: here, or on a Ray cluster."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import groupby, islice, product
from typing import Any, TypeVar

from brittle._optional import how_to_install
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


ENGINES = ("local", "ray")


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


PATIENCE = 10.0
"""Seconds within which a cluster must answer."""

RETRIES = 5
"""How often work is tried again when the worker that had it dies."""

Item = TypeVar("Item")


@contextmanager
def ray_cluster(address: str | None) -> Iterator[Any]:
    """Ray, connected to the cluster at an address; without one, to a cluster of this machine that ends with it."""
    try:
        import ray
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"the Ray engine needs Ray: {how_to_install('ray')}") from error
    began = not ray.is_initialized()
    if began:
        check_reachable(address)
        try:
            ray.init(address=address, logging_level=logging.ERROR, log_to_driver=False, include_dashboard=False)
        except ConnectionError as error:
            raise ConnectionError(f"there is no Ray cluster at {address!r}: {error}") from error
    try:
        yield ray
    except ray.exceptions.RayError as error:  # outside any piece of work: sharing it out, waiting for it
        raise ray_error(ray, error, "the work of this run", 1) from error
    finally:
        if began:
            ray.shutdown()


def map_on_ray(
    ray: Any, work: Callable[..., Any], items: Sequence[tuple[Item, tuple[Any, ...]]], *, gpu: bool, title: Any
) -> Iterator[tuple[Item, Any]]:
    """`work(*arguments)` for each (item, arguments) on the workers, in the order in which they are done.

    Errors of the work are raised here; only the loss of a worker is retried, and one that is lost again and again is
    told in a sentence. `title(item)` names work that failed. A worker with another brittle, of another version or with
    other code, does nothing and says so, because its rows could be others.
    """

    look = version_and_code()

    def checked(here: tuple[str, str], *arguments: Any) -> Any:  # no importable name, so Ray sends this code itself
        import socket
        from importlib import import_module

        there = look()
        if there != here:
            other = "with other code " if there[0] == here[0] else ""
            raise RuntimeError(
                f"the Ray node {socket.gethostname()!r} has brittle {there[0]} {other}and this run has brittle "
                f"{here[0]}; install the same one on every node; what was finished is kept, the same command goes on"
            )
        return getattr(import_module(module), name)(*arguments)

    module, name = work.__module__, work.__qualname__
    here = look()
    remote = ray.remote(num_cpus=1, num_gpus=1 if gpu else 0, max_retries=RETRIES)(checked)
    waiting = {remote.remote(here, *arguments): item for item, arguments in items}
    try:
        while waiting:
            ready, _ = ray.wait(list(waiting), num_returns=1)
            for done in ready:
                item = waiting.pop(done)
                try:
                    found = ray.get(done)
                except ray.exceptions.RayError as error:
                    cause = error.cause if isinstance(error, ray.exceptions.RayTaskError) else error
                    if isinstance(cause, ray.exceptions.RayError):
                        raise ray_error(ray, cause, title(item), RETRIES + 1) from error
                    raise cause from error  # which tells the traceback that the worker saw
                yield item, found
    finally:
        for task in waiting:
            ray.cancel(task)


def version_and_code() -> Callable[[], tuple[str, str]]:
    """A function that gives the version of the brittle of its process and a digest of that one's code.

    It has no importable name, so Ray sends it to its workers as it is here, whatever is installed there.
    """

    def look() -> tuple[str, str]:
        from hashlib import sha256
        from pathlib import Path

        import brittle

        folder, digest = Path(brittle.__file__).parent, sha256()
        for path in sorted(folder.rglob("*.py")):
            digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
        return brittle.__version__, digest.hexdigest()

    return look


def check_reachable(address: str | None) -> None:
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


RESUMES = "what was finished is kept, the same command goes on"

LOSSES = (
    (
        ("OutOfMemoryError",),
        "the node that had {what} ran out of memory; have it do less at once (start it with a smaller --num-cpus, or "
        "take a smaller batch) or use one with more",
    ),
    (
        ("WorkerCrashedError",),
        "the worker process that had {what} died {times} times; either its node ran out of memory or the work itself "
        "ends its process, so try it with the local engine",
    ),
    (
        ("NodeDiedError", "LocalRayletDiedError", "ActorDiedError"),
        "the node that had {what} died or was cut off; look at it with `ray status`",
    ),
    (
        ("ObjectStoreFullError", "OutOfDiskError"),
        "the node that had {what} has no room left in its object store or on its disk; free some, or start Ray with a "
        "larger --object-store-memory",
    ),
    (
        ("ObjectLostError",),
        "what {what} needs was lost with a node of the cluster; look at it with `ray status`",
    ),
    (
        ("RaySystemError",),
        "a Ray worker could not take over {what} ({reason}); what a model needs must be installed on every node",
    ),
)
"""Errors of Ray with their sentences; the first that fits counts."""


def ray_error(ray: Any, error: Exception, what: str, times: int) -> RuntimeError:
    """The sentence for an error of Ray while `what` was done, after it was tried so many times."""
    reason = (str(error).strip().splitlines() or [""])[-1]
    for names, sentence in LOSSES:
        if isinstance(error, tuple(getattr(ray.exceptions, name) for name in names)):
            return RuntimeError(f"{sentence.format(what=what, times=times, reason=reason)}; {RESUMES}")
    return RuntimeError(f"Ray could not finish {what} ({type(error).__name__}: {reason}); {RESUMES}")
