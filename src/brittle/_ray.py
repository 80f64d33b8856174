"""The same work on many tasks, on a Ray cluster."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from brittle._errors import RunError
from brittle._optional import how_to_install

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
            raise RunError(
                f"the Ray node {socket.gethostname()!r} has brittle {there[0]} {other}and this run has brittle "
                f"{here[0]}; install the same one on every node; what was finished is kept, the same command resumes"
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


RESUMES = "what was finished is kept, the same command resumes"

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


def ray_error(ray: Any, error: Exception, what: str, times: int) -> RunError:
    """The sentence for an error of Ray while `what` was done, after it was tried so many times."""
    reason = (str(error).strip().splitlines() or [""])[-1]
    for names, sentence in LOSSES:
        if isinstance(error, tuple(getattr(ray.exceptions, name) for name in names)):
            return RunError(f"{sentence.format(what=what, times=times, reason=reason)}; {RESUMES}")
    return RunError(f"Ray could not finish {what} ({type(error).__name__}: {reason}); {RESUMES}")
