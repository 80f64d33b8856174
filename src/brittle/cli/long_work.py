"""Work that takes its time: a bar while it goes on, one line if it is interrupted."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from brittle.cli.console import interrupted, progress_bar

if TYPE_CHECKING:
    from rich.progress import Progress


@contextmanager
def long_work() -> Iterator[Progress]:
    """A progress bar; Ctrl-C takes it away, says that nothing is lost, and leaves."""
    with progress_bar() as bar:
        try:
            yield bar
        except KeyboardInterrupt:
            bar.stop()
            interrupted()
