"""A file is there completely or not at all."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from secrets import token_hex

STALE = 3600.0
"""Seconds after which a part that nobody writes to is that of a process which died."""


def part(path: Path) -> Path:
    """Where a file is written before it gets its name: beside it, hidden, and at each call a place of its own.

    So two processes, or machines, that write the same file do not meet; the last to end gives it its content.
    """
    return path.with_name(f".{path.name}.{token_hex(4)}.part")


def sweep(path: Path) -> None:
    """Remove the parts of a file that were left by processes that were killed: those not written to for an hour.

    Before large files only: it lists the folder.
    """
    for left in path.parent.glob(f".{escape(path.name)}.*.part"):
        with suppress(OSError):  # somebody else was faster
            if time.time() - left.stat().st_mtime > STALE:
                left.unlink()


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary place to write to, which becomes `path` when the block ends well and vanishes when it does not."""
    temporary = part(path)
    try:
        yield temporary
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
