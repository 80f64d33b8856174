"""How many threads torch computes with, and how they wait for each other."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

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


def check_threads(threads: int | None) -> None:
    """Raise unless this is a number of threads, or None."""
    if threads is not None and threads < 1:
        raise ValueError(f"the number of threads must be at least 1, got {threads}")


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
