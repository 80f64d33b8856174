"""Compile the loops of many corruptions before their first use, in several processes."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from multiprocessing import current_process, get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import numpy as np

from brittle._errors import BrittleError
from brittle._parallel import cores
from brittle.corruptions.images import corrupt
from brittle.corruptions.registry import Corruption, get_corruption, list_corruptions

WORTH = 3
"""Corruptions for which one more process pays: it takes as long to start as one or two take to compile."""

SIDE, TABLE, NEARLY_CLEAN = 32, 224, 0.02
"""A small image, parameters of a large one, and a severity next to 0 lead through every loop that there is."""

WAITING, STARTED, DONE = range(3)


def uncompiled(corruptions: Iterable[Corruption]) -> list[Corruption]:
    """Those of the corruptions, each once, that have loops which numba has not compiled and cached yet.

    Corruptions of users are never among them, nor is any where there is no folder that numba could write to.
    """
    return [each for each in dict.fromkeys(corruptions) if each.bundled and not all(map(_is_cached, _loops(each)))]


def compile_corruptions(
    corruptions: Iterable[str | Corruption] | None = None,
    *,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> int:
    """Compile what these corruptions, or all, have not compiled yet, and cache it on disk; return how many had to be.

    Optional: a corruption compiles its loops by itself when it is first used, which takes one to three seconds. With
    `workers` processes, this one counted, it is done sooner for many; as wherever Python starts processes, a script
    then does its work under `if __name__ == "__main__"`.

    Args:
        corruptions: names, ids or corruptions; None is all that there are.
        workers: number of processes; None is one for each processor, fewer when there is little to do.
        progress: is called with how many are done, and of how many.
    """
    if workers is not None and workers < 1:
        raise BrittleError(f"workers must be at least 1, got {workers}")
    chosen = list_corruptions() if corruptions is None else [get_corruption(each) for each in corruptions]
    missing = [each.id for each in uncompiled(chosen)]
    workers = min(cores(), len(missing) // WORTH) if workers is None else workers
    states: Any = bytearray(len(missing))
    helpers: list[BaseProcess] = []
    on_progress = progress or (lambda *_: None)
    try:
        if workers > 1 and not current_process().daemon:
            with suppress(OSError, ImportError):  # where processes cannot share memory, this one works alone
                context = get_context("spawn")
                states = context.Array("b", len(missing))
                for worker in range(1, workers):
                    helpers.append(
                        context.Process(target=_help, args=(missing, states, worker * len(missing) // workers))
                    )
                    helpers[-1].start()
        _compile(missing, states, 0, lambda: on_progress(sum(state == DONE for state in states), len(missing)))
        while any(helper.is_alive() for helper in helpers):
            on_progress(sum(state == DONE for state in states), len(missing))
            time.sleep(0.05)
    finally:
        for helper in helpers:
            if helper.is_alive():
                helper.terminate()  # numba writes its files whole or not at all
            if helper.pid is not None:
                helper.join()
    on_progress(len(missing), len(missing))
    return len(missing)


def _help(names: Sequence[str], states: Any, start: int) -> None:
    """The work of a helper process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # an interrupt is the parent's to handle
    _compile(names, states, start)


def _compile(names: Sequence[str], states: Any, start: int, on_progress: Callable[[], None] = lambda: None) -> None:
    """Draw with each corruption that no process has started, beginning at `start` and going round.

    Neighbours share loops, so whoever begins elsewhere seldom compiles what another is compiling.
    """
    for i in (*range(start, len(names)), *range(start)):
        with getattr(states, "get_lock", suppress)():
            if states[i] != WAITING:
                continue
            states[i] = STARTED
        with suppress(Exception):  # it is raised again, and reported, where the corruption is used
            _draw(get_corruption(names[i]))
        states[i] = DONE
        on_progress()


def _draw(corruption: Corruption) -> None:
    image = np.random.default_rng(0).integers(0, 256, (SIDE, SIDE, 3), np.uint8)
    for table in {None, TABLE if TABLE in corruption.table_sides else None}:
        for severity in (NEARLY_CLEAN, *range(1, corruption.max_severity + 1)):
            corrupt(image, corruption, severity, table=table)
    if corruption.channels != "rgb":
        corrupt(image[..., :1], corruption, 1)  # some have a loop of their own for grey images


def _loops(corruption: Corruption) -> list[Any]:
    """The loops that numba compiles for a corruption: those that plain code calls, which hold all others."""
    waiting: list[Any] = [corruption.function]
    seen: set[int] = set()
    loops = []
    while waiting:
        function = waiting.pop()
        plain = getattr(function, "py_func", function)
        if id(function) in seen or not hasattr(plain, "__code__") or not plain.__module__.startswith("brittle."):
            continue
        seen.add(id(function))
        if plain is not function:
            loops.append(function)
            continue
        waiting += [plain.__globals__[name] for name in plain.__code__.co_names if name in plain.__globals__]
    return loops


def _is_cached(loop: Any) -> bool:
    """Whether a loop was compiled since its file was written; numba names its cache files by module, name and line."""
    place, code = loop.stats.cache_path, loop.py_func.__code__
    if place is None:  # there is nowhere to keep it
        return True
    name = f"{Path(code.co_filename).stem}.{loop.py_func.__qualname__}-{code.co_firstlineno}.*.nbi"
    written = Path(code.co_filename).stat().st_mtime
    return any(cached.stat().st_mtime >= written for cached in Path(place).glob(name))
