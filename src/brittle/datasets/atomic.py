"""A file is there completely or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def part(path: Path) -> Path:
    """Where a file is written before it gets its name: beside it, hidden."""
    return path.with_name(f".{path.name}.part")


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
