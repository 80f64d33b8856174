"""The same work on many tasks, in this process or in several."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from multiprocessing.synchronize import Event
from typing import TypeVar

Task = TypeVar("Task")
Result = TypeVar("Result")

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
        raise ValueError(f"jobs must be at least 1, got {jobs}")
    return max(1, min(jobs, tasks))


def spread(work: Callable[[Task], Result], tasks: Iterable[Task], *, jobs: int) -> Generator[Result, None, None]:
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
            raise RuntimeError(
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
