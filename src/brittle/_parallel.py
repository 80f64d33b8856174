"""Threads and processes: how many there are, `prefetch` and `parallel_map`."""

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
from typing import Any, TypeVar

from brittle._errors import BrittleError, RunError

PASSIVE_WAIT = {"GOMP_SPINCOUNT": "0", "OMP_WAIT_POLICY": "PASSIVE", "KMP_BLOCKTIME": "0"}
"""Environment variables that let waiting OpenMP threads sleep, for the libraries of GNU, Intel and LLVM."""


def wait_passively() -> None:
    """Let torch's threads sleep while they wait for each other, unless torch is loaded or the variables are set.

    By default they spin, which is a little faster on an idle machine. Beside other work, such as threads that corrupt
    images, spinning threads take the processor from those that they wait for, and two threads are many times slower
    than one. OpenMP reads the environment once, when torch is loaded.
    """
    if "torch" in sys.modules or any(name in os.environ for name in PASSIVE_WAIT):
        return
    os.environ.update(PASSIVE_WAIT)


M_TRIM_THRESHOLD, M_MMAP_MAX, M_ARENA_MAX = -1, -4, -8
"""Parameters of glibc's mallopt."""


def keep_freed_memory() -> None:
    """Let this process reuse memory that it freed, if its C library is glibc and no MALLOC_ variable is set.

    By default glibc returns a layer's output to the system when the next layer has read it, and the system zeroes the
    pages of the next one: for photographs that takes as long as the network itself. Peak memory does not change.
    """
    if platform.libc_ver()[0] != "glibc" or any(name.startswith("MALLOC_") for name in os.environ):
        return
    for setting, value in ((M_MMAP_MAX, 0), (M_TRIM_THRESHOLD, 2**31 - 1), (M_ARENA_MAX, 1)):
        ctypes.CDLL(None).mallopt(setting, value)


def check_threads(threads: int | None) -> None:
    """Raise unless `threads` is at least 1, or None."""
    if threads is not None and threads < 1:
        raise BrittleError(f"the number of threads or workers must be at least 1, got {threads}")


def cores() -> int:
    """The default number of threads: what `use_threads` set, else one for each processor of this process."""
    if _thread_count is not None:
        return _thread_count
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_thread_count: int | None = None


def use_threads(threads: int | None) -> None:
    """Set the number of threads that corrupt images and that torch computes with; None changes nothing."""
    global _thread_count
    check_threads(threads)
    if threads is None:
        return
    _thread_count = threads
    os.environ["OMP_NUM_THREADS"] = str(threads)
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(threads)


@contextmanager
def torch_threads(threads: int | None) -> Iterator[None]:
    """Set torch's number of threads inside the block, if torch is loaded; None changes nothing."""
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
"""The most batches that are predicted at the same time: each needs memory for its activations."""


def side_by_side(threads: int | None) -> tuple[int, int]:
    """How many batches are predicted at the same time, and the threads of each, out of `threads` in all.

    By default there are two threads for each processor: beside other programs, more threads get a larger share.
    """
    check_threads(threads)
    threads = threads or _thread_count or 2 * cores()
    batches = min(threads, SIDE_BY_SIDE)
    return batches, threads // batches


Task = TypeVar("Task")
Result = TypeVar("Result")


def thread_map(work: Callable[[int], Result], count: int, threads: int) -> list[Result]:
    """[work(0), … work(count − 1)] by threads, of which each takes the next number when it has done one."""
    results: list[Any] = [None] * count
    numbers = iter(range(count))

    def take() -> None:
        for number in numbers:
            results[number] = work(number)

    if threads == 1:
        take()
        return results
    with ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(take) for _ in range(threads)]:
            done.result()
    return results


PREFETCHED = 2
"""Tasks computed ahead per thread: enough that the consumer never waits, few enough to save memory."""


def prefetch(
    work: Callable[[Task], Result], items: Sequence[Task], threads: int, *, torch: int | None = None
) -> Iterator[Result]:
    """work(item) for each item in order, computed by threads a few items ahead of the consumer.

    Inside each thread torch computes with `torch` threads; None changes nothing.
    """
    with ThreadPoolExecutor(threads, initializer=_set_torch_threads, initargs=(torch,)) as pool:
        pending: deque[Future[Result]] = deque()
        try:
            for item in items:
                pending.append(pool.submit(work, item))
                if len(pending) > threads * PREFETCHED:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()


def _set_torch_threads(threads: int | None) -> None:
    """Set torch's number of threads, which it keeps for each calling thread."""
    torch_threads(threads).__enter__()


TASKS_PER_WORKER = 4
"""Tasks submitted per process: enough to keep it busy, few enough to stop soon and to need little memory."""

MIN_TASKS_PER_WORKER = 8
"""Fewer tasks than this do not pay for starting one more process."""

_stop_event: Event | None = None


def check_workers(workers: int | None, tasks: int) -> int:
    """The number of processes; None is one for each processor, fewer if there are few tasks."""
    if workers is None and _thread_count is not None:
        return max(1, min(_thread_count, tasks))
    if workers is None:
        processors = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        return max(1, min(processors, tasks // MIN_TASKS_PER_WORKER))
    if workers < 1:
        raise BrittleError(f"workers must be at least 1, got {workers}")
    return max(1, min(workers, tasks))


def parallel_map(
    work: Callable[[Task], Result], tasks: Iterable[Task], *, workers: int
) -> Generator[Result, None, None]:
    """The results of all tasks in order of completion. One worker is this process; their number changes no result.

    On an interrupt, or when it is closed early, `stopped()` becomes true in running tasks, so that they end soon.
    """
    if workers == 1:
        yield from map(work, tasks)
        return
    context = get_context("spawn")
    stop = context.Event()
    pending: set[Future[Result]] = set()
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_start_worker, initargs=(stop,)) as pool:
        try:
            for task in tasks:
                pending.add(pool.submit(work, task))
                if len(pending) >= TASKS_PER_WORKER * workers:
                    done, pending = wait(pending, return_when=FIRST_COMPLETED)
                    yield from (future.result() for future in done)
            while pending:
                done, pending = wait(pending, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in done)
        except BrokenProcessPool as error:
            raise RunError(
                "a worker process died, most likely out of memory; finished files are kept, "
                "so run the same command again with fewer workers"
            ) from error
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)


def stopped() -> bool:
    """Whether the worker should end its task early."""
    return _stop_event is not None and _stop_event.is_set()


def _start_worker(stop: Event) -> None:
    global _stop_event
    import cv2

    _stop_event = stop
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent process handles interrupts
    cv2.setNumThreads(1)


ENGINES = ("local", "ray")


def check_engine(name: str, address: str | None) -> None:
    """Raise unless the engine exists; only Ray takes an address."""
    if name not in ENGINES:
        raise BrittleError(f"there is no engine {name!r}; there are: {', '.join(ENGINES)}")
    if name == "local" and address is not None:
        raise BrittleError(f"the local engine has no address, got {address!r}; did you mean engine='ray'?")
