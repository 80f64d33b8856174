"""The same work on many tasks, in threads or in processes."""

from __future__ import annotations

import ctypes
import os
import platform
import signal
import sys
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.synchronize import Event
from typing import TypeVar

from brittle._errors import BrittleError, RunError

PATIENCE = {"GOMP_SPINCOUNT": "0", "OMP_WAIT_POLICY": "PASSIVE", "KMP_BLOCKTIME": "0"}
"""What tells the OpenMP libraries of GNU, and of Intel and LLVM, to let waiting threads sleep."""


def wait_passively() -> None:
    """Let torch's threads sleep while they wait for each other, if torch is not loaded yet and nobody said otherwise.

    By default they spin, which is a little faster on a machine that is all ours. Beside other work, and that includes
    threads that corrupt images, the spinning ones take the processor from those that they wait for, and two threads
    are many times slower than one. OpenMP reads the environment once, when torch is loaded.
    """
    if "torch" in sys.modules or any(name in os.environ for name in PATIENCE):
        return
    os.environ.update(PATIENCE)


M_TRIM_THRESHOLD, M_MMAP_MAX, M_ARENA_MAX = -1, -4, -8
"""What glibc's mallopt calls its settings."""


def keep_freed_memory() -> None:
    """Let this process keep memory that it freed, where its C library is glibc and nobody said otherwise.

    By default glibc gives a layer's output back to the system when the next layer has read it, and the system fills
    the next one with zeros before it hands it out: for photographs that takes as long as the network itself. The peak
    of memory stays what it was.
    """
    if platform.libc_ver()[0] != "glibc" or any(name.startswith("MALLOC_") for name in os.environ):
        return
    for setting, value in ((M_MMAP_MAX, 0), (M_TRIM_THRESHOLD, 2**31 - 1), (M_ARENA_MAX, 1)):
        ctypes.CDLL(None).mallopt(setting, value)


def check_threads(threads: int | None) -> None:
    """Raise unless this is a number of threads, or None."""
    if threads is not None and threads < 1:
        raise BrittleError(f"the number of threads must be at least 1, got {threads}")


def cores() -> int:
    """How many threads work if nobody says: one for each processor of this process, or what `use_threads` was told."""
    if _given is not None:
        return _given
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_given: int | None = None


def use_threads(threads: int | None) -> None:
    """Let so many threads corrupt images, and torch compute with so many, from now on; None changes nothing."""
    global _given
    check_threads(threads)
    if threads is None:
        return
    _given = threads
    os.environ["OMP_NUM_THREADS"] = str(threads)
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(threads)


@contextmanager
def torch_threads(threads: int | None) -> Iterator[None]:
    """Let torch, where it is loaded, compute with so many threads for a while; None changes nothing."""
    check_threads(threads)
    torch = sys.modules.get("torch")
    if threads is None or torch is None:
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


SIDE_BY_SIDE = 8
"""Batches that networks are shown at the same time, at most: each needs memory for what its layers compute."""


def side_by_side(threads: int | None) -> tuple[int, int]:
    """How many batches are computed at the same time, and with how many threads each, with so many threads in all.

    If nobody says how many, there are two for each processor: where other programs want the processors too, whoever
    has more to do at a time gets more of them.
    """
    check_threads(threads)
    threads = threads or _given or 2 * cores()
    batches = min(threads, SIDE_BY_SIDE)
    return batches, threads // batches


Task = TypeVar("Task")
Result = TypeVar("Result")

PREFETCHED = 2
"""Tasks that each thread may be ahead of whoever consumes them: enough never to wait, few enough to save memory."""


def prefetch(
    work: Callable[[Task], Result], items: Sequence[Task], threads: int, *, torch: int | None = None
) -> Iterator[Result]:
    """work(item) for each item in order, done by threads a few items ahead of whoever consumes them.

    In each of them torch computes with `torch` threads; None changes nothing.
    """
    with ThreadPoolExecutor(threads, initializer=_set_torch_threads, initargs=(torch,)) as pool:
        waiting: deque[Future[Result]] = deque()
        try:
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) > threads * PREFETCHED:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def _set_torch_threads(threads: int | None) -> None:
    """Torch keeps this number for every thread that calls it."""
    torch_threads(threads).__enter__()


AHEAD = 4
"""Tasks given out per worker: enough to keep it busy, few enough to stop soon and to need little memory."""

WORTH = 8
"""Tasks for which starting one more process pays."""

_stop: Event | None = None


def check_jobs(jobs: int | None, tasks: int) -> int:
    """How many processes to use; None is one for each processor, fewer when there is little to do."""
    if jobs is None:
        processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        return max(1, min(processors, tasks // WORTH))
    if jobs < 1:
        raise BrittleError(f"jobs must be at least 1, got {jobs}")
    return max(1, min(jobs, tasks))


def parallel_map(work: Callable[[Task], Result], tasks: Iterable[Task], *, jobs: int) -> Generator[Result, None, None]:
    """The results as they get ready, in any order. One job works in this process; results never depend on jobs.

    On an interrupt, or when it is closed early, running tasks are told through `stopped()` to end soon.
    """
    if jobs == 1:
        yield from map(work, tasks)
        return
    context = get_context("spawn")
    stop = context.Event()
    waiting: set[Future[Result]] = set()
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_start, initargs=(stop,)) as pool:
        try:
            for task in tasks:
                waiting.add(pool.submit(work, task))
                if len(waiting) >= AHEAD * jobs:
                    done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                    yield from (future.result() for future in done)
            while waiting:
                done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in done)
        except BrokenProcessPool as error:
            raise RunError(
                "a worker process died, most likely for want of memory; finished files are kept, "
                "so run the same command again with fewer jobs"
            ) from error
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)


def stopped() -> bool:
    """Whether the worker should end its task early."""
    return _stop is not None and _stop.is_set()


def _start(stop: Event) -> None:
    global _stop
    import cv2

    _stop = stop
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is the parent's to handle
    cv2.setNumThreads(1)


ENGINES = ("local", "ray")


def check_engine(name: str, address: str | None) -> None:
    """Raise unless there is such an engine, and an address is one of Ray."""
    if name not in ENGINES:
        raise BrittleError(f"there is no engine {name!r}; there are: {', '.join(ENGINES)}")
    if name == "local" and address is not None:
        raise BrittleError(f"the local engine has no address, got {address!r}; did you mean engine='ray'?")
