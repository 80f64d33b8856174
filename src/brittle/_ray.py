"""Run the same function on many tasks on a Ray cluster."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from brittle._errors import RunError
from brittle._optional import how_to_install

CONNECT_TIMEOUT = 10.0
"""Seconds to wait for a cluster to answer."""

RETRIES = 5
"""How often a task is retried when its worker dies."""

Item = TypeVar("Item")


@contextmanager
def ray_cluster(address: str | None) -> Iterator[Any]:
    """Ray, connected to the cluster at an address; without one, to a local cluster that ends with the block."""
    try:
        import ray
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"the Ray engine needs Ray: {how_to_install('ray')}") from error
    started = not ray.is_initialized()
    if started:
        check_reachable(address)
        try:
            ray.init(address=address, logging_level=logging.ERROR, log_to_driver=False, include_dashboard=False)
        except ConnectionError as error:
            raise ConnectionError(f"there is no Ray cluster at {address!r}: {error}") from error
    try:
        yield ray
    except ray.exceptions.RayError as error:  # outside any task: while submitting or waiting
        raise ray_error(ray, error, "the work of this run", 1) from error
    finally:
        if started:
            ray.shutdown()


def map_on_ray(
    ray: Any, work: Callable[..., Any], items: Sequence[tuple[Item, tuple[Any, ...]]], *, gpu: bool, title: Any
) -> Iterator[tuple[Item, Any]]:
    """`work(*arguments)` for each (item, arguments) on the workers, in order of completion.

    Errors of the work are raised here; only the loss of a worker is retried, and repeated losses raise a `RunError`.
    `title(item)` names work that failed. A worker with another version or other code of brittle raises, because its
    results could differ.
    """

    installed = version_and_code()

    def checked(driver: tuple[str, str], *arguments: Any) -> Any:  # no importable name, so Ray pickles its code
        import socket
        from importlib import import_module

        worker = installed()
        if worker != driver:
            difference = "with other code " if worker[0] == driver[0] else ""
            raise RunError(
                f"the Ray node {socket.gethostname()!r} has brittle {worker[0]} {difference}and this run has brittle "
                f"{driver[0]}; install the same one on every node; finished results are kept, the same command resumes"
            )
        return getattr(import_module(module), name)(*arguments)

    module, name = work.__module__, work.__qualname__
    driver = installed()
    remote = ray.remote(num_cpus=1, num_gpus=1 if gpu else 0, max_retries=RETRIES)(checked)
    pending = {remote.remote(driver, *arguments): item for item, arguments in items}
    try:
        while pending:
            ready, _ = ray.wait(list(pending), num_returns=1)
            for task in ready:
                item = pending.pop(task)
                try:
                    result = ray.get(task)
                except ray.exceptions.RayError as error:
                    cause = error.cause if isinstance(error, ray.exceptions.RayTaskError) else error
                    if isinstance(cause, ray.exceptions.RayError):
                        raise ray_error(ray, cause, title(item), RETRIES + 1) from error
                    raise cause from error  # it shows the worker's traceback
                yield item, result
    finally:
        for task in pending:
            ray.cancel(task)


def version_and_code() -> Callable[[], tuple[str, str]]:
    """A function that returns the version of brittle in its process and a digest of its code.

    It has no importable name, so Ray pickles it, whatever is installed on the worker.
    """

    def installed() -> tuple[str, str]:
        from hashlib import sha256
        from pathlib import Path

        import brittle

        folder, digest = Path(brittle.__file__).parent, sha256()
        for path in sorted(folder.rglob("*.py")):
            digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes())
        return brittle.__version__, digest.hexdigest()

    return installed


def check_reachable(address: str | None) -> None:
    """Raise at once if nothing answers at an address; Ray itself would retry for minutes."""
    host, colon, port = (address or "").rpartition("://")[2].rpartition(":")
    if not colon or not port.isdecimal():
        return
    try:
        socket.create_connection((host, int(port)), timeout=CONNECT_TIMEOUT).close()
    except OSError as error:
        raise ConnectionError(
            f"there is no Ray cluster at {address!r} ({error}); start one with `ray start`"
        ) from error


RESUMES = "finished results are kept, the same command resumes"

ERROR_MESSAGES = (
    (
        ("OutOfMemoryError",),
        "the node that had {task} ran out of memory; have it do less at once (start it with a smaller --num-cpus, or "
        "take a smaller batch) or use one with more",
    ),
    (
        ("WorkerCrashedError",),
        "the worker process that had {task} died {times} times; either its node ran out of memory or the work itself "
        "ends its process, so try it with the local engine",
    ),
    (
        ("NodeDiedError", "LocalRayletDiedError", "ActorDiedError"),
        "the node that had {task} died or was cut off; look at it with `ray status`",
    ),
    (
        ("ObjectStoreFullError", "OutOfDiskError"),
        "the node that had {task} has no room left in its object store or on its disk; free some, or start Ray with a "
        "larger --object-store-memory",
    ),
    (
        ("ObjectLostError",),
        "what {task} needs was lost with a node of the cluster; look at it with `ray status`",
    ),
    (
        ("RaySystemError",),
        "a Ray worker could not take over {task} ({reason}); what a model needs must be installed on every node",
    ),
)
"""Exceptions of Ray by name, and their messages; the first match counts."""


def ray_error(ray: Any, error: Exception, task: str, times: int) -> RunError:
    """The `RunError` for an exception of Ray in `task`, after `times` attempts."""
    reason = (str(error).strip().splitlines() or [""])[-1]
    for names, message in ERROR_MESSAGES:
        if isinstance(error, tuple(getattr(ray.exceptions, name) for name in names)):
            return RunError(f"{message.format(task=task, times=times, reason=reason)}; {RESUMES}")
    return RunError(f"Ray could not finish {task} ({type(error).__name__}: {reason}); {RESUMES}")
