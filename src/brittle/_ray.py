"""Run the same function on many tasks on a Ray cluster."""

from __future__ import annotations

import atexit
import logging
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from threading import Thread
from time import monotonic
from typing import Any, Generic, NamedTuple, TypeVar

from brittle._errors import RunError
from brittle._optional import how_to_install

CONNECT_TIMEOUT = 10.0
"""Seconds to wait for a cluster to answer."""

RETRIES = 5
"""How often a task is retried when its worker dies."""

WAIT, PROBE_TIMEOUT, SILENCE = 5.0, 3.0, 25.0
"""Seconds between two checks of the cluster, for an answer, and without any answer until the work is given up.

Ray itself ends this process without a word of ours 60 s after it has lost the head, and waits for minutes for a node
that is cut off.
"""

Item = TypeVar("Item")


class Done(NamedTuple, Generic[Item]):
    """A task that is done: its item, its result, and the address of its node, if there is more than one."""

    item: Item
    result: Any
    node: str

    @property
    def where(self) -> str:
        """What follows the name of a task: " on 10.0.0.2", or nothing."""
        return f" on {self.node}" if self.node else ""


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
    patience = None
    try:
        yield ray
    except LostHeadError:
        patience = PROBE_TIMEOUT
        raise
    except ray.exceptions.RayError as error:  # outside any task: while submitting or waiting
        raise ray_error(ray, error, "the work of this run", 1) from error
    finally:
        if started:
            answer_within(patience, ray.shutdown)
            if patience is not None:
                atexit.unregister(ray.shutdown)  # it would wait for the head once more
                global _abandoned
                _abandoned = True


_abandoned = False


def is_abandoned() -> bool:
    """Whether a lost head left threads of Ray in this process, which may crash it when Python ends."""
    return _abandoned


def map_on_ray(
    ray: Any, work: Callable[..., Any], items: Sequence[tuple[Item, tuple[Any, ...]]], *, gpu: bool, title: Any
) -> Iterator[Done[Item]]:
    """`work(*arguments)` for each (item, arguments) on the workers, in order of completion.

    Errors of the work are raised here; only the loss of a worker is retried, and repeated losses raise a `RunError`.
    `title(item)` names work that failed. A worker with another version or other code of brittle raises, because its
    results could differ. A head or node that does not answer any more raises within a minute.
    """

    installed = version_and_code()

    def checked(driver: tuple[str, str], *arguments: Any) -> Any:  # no importable name, so Ray pickles its code
        import socket
        from importlib import import_module

        import ray

        address = ray.util.get_node_ip_address()  # type: ignore[no-untyped-call]
        worker = installed()
        if worker != driver:
            difference = "with other code " if worker[0] == driver[0] else ""
            raise RunError(
                f"the Ray node {address} ({socket.gethostname()}) has brittle {worker[0]} {difference}and this run has "
                f"brittle {driver[0]}; install the same one on every node; finished results are kept, the same command "
                "resumes"
            )
        return address, getattr(import_module(module), name)(*arguments)

    module, name = work.__module__, work.__qualname__
    driver = installed()
    remote = ray.remote(num_cpus=1, num_gpus=1 if gpu else 0, max_retries=RETRIES)(checked)
    pending = {remote.remote(driver, *arguments): item for item, arguments in items}
    watch = Watch(ray)
    try:
        while pending:
            ready, _ = ray.wait(list(pending), num_returns=1, timeout=WAIT)
            watch.check(len(items) - len(pending), len(items))
            for task in ready:
                item = pending.pop(task)
                try:
                    address, result = ray.get(task)
                except ray.exceptions.RayError as error:
                    cause = error.cause if isinstance(error, ray.exceptions.RayTaskError) else error
                    if isinstance(cause, ray.exceptions.RayError):
                        raise ray_error(ray, cause, title(item), RETRIES + 1) from error
                    raise cause from error  # it shows the worker's traceback
                yield Done(item, result, address if watch.nodes > 1 else "")
    finally:
        for task in pending if watch.is_connected else ():
            ray.cancel(task)


class LostHeadError(RunError):
    """The head of a cluster does not answer, so that Ray's own calls may wait for minutes."""


def answer_within(seconds: float | None, call: Callable[[], Any]) -> Any:
    """What a call returns; None if it fails or takes longer, in which case a thread is left behind with it."""
    answers: list[Any] = []

    def ask() -> None:
        with suppress(Exception):
            answers.append(call())

    if seconds is None:
        return call()
    asking = Thread(target=ask, name="ask Ray", daemon=True)
    asking.start()
    asking.join(seconds)
    return answers[0] if answers else None


class Watch:
    """Whether the head and the nodes of a cluster still answer, as this process sees them.

    Only what has answered once is watched: a driver outside of a cluster may see its head alone.
    """

    def __init__(self, ray: Any) -> None:
        self._ray = ray
        self.head = str(ray.get_runtime_context().gcs_address)
        self.answered: set[str] = set()
        self._silent_since: dict[str, float] = {}
        self.is_connected = True
        self._next = 0.0
        self.check(0, 0)

    @property
    def nodes(self) -> int:
        """How many nodes have answered."""
        return len(self.answered - {"head"})

    def check(self, done: int, total: int) -> None:
        """Ask head and nodes, not more often than every few seconds; raise if one has been silent for too long.

        Silence is counted from the first question without an answer: the work between two questions may take long.
        """
        if monotonic() < self._next:
            return
        head = self._answers("head", self.head)
        nodes = answer_within(PROBE_TIMEOUT, self._ray.nodes) if head else None
        silent = [] if head else ["head"]
        for address, place in self._alive(nodes or ()).items():
            if not self._answers(address, place):
                silent.append(address)
        self._next = monotonic() + (WAIT if not silent else 1.0)
        for name in silent:
            since = self._silent_since.setdefault(name, monotonic())
            seconds = monotonic() - since
            if seconds >= SILENCE:
                self.is_connected = name != "head"
                what = f"head of the Ray cluster at {self.head}" if name == "head" else f"Ray node {name}"
                raise (RunError if self.is_connected else LostHeadError)(
                    f"the {what} has not answered for {seconds:.0f} s, after {done} of {total} tasks; look at it with "
                    f"`ray status`, or start the cluster again without it; {RESUMES}"
                )

    def _alive(self, known: Sequence[Mapping[str, Any]]) -> dict[str, str]:
        """The nodes that Ray takes for alive, by address, each with the address and port where it answers."""
        nodes = {
            str(node["NodeManagerAddress"]): f"{node['NodeManagerAddress']}:{node['NodeManagerPort']}"
            for node in known
            if node["Alive"]
        }
        if not known:  # Ray did not answer
            return nodes
        for gone in self.answered - nodes.keys() - {"head"}:  # Ray knows, and does its tasks again elsewhere
            self.answered.discard(gone)
            self._silent_since.pop(gone, None)
        return nodes

    def _answers(self, name: str, address: str) -> bool:
        host, _, port = address.rpartition(":")
        try:
            socket.create_connection((host, int(port)), timeout=PROBE_TIMEOUT).close()
        except OSError:
            return name not in self.answered
        self.answered.add(name)
        self._silent_since.pop(name, None)
        return True


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
