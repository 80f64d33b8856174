"""Files that are being written: their temporary names, and which of them no process writes any more."""

from __future__ import annotations

import os
import platform
import re
import sys
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from secrets import token_hex

STALE_SECONDS = 3600.0
"""A .part file of another machine that was not written to for this long was left by a process that died."""


def part(path: Path) -> Path:
    """A temporary path for writing a file: hidden, in the same folder, and different at each call.

    Two processes or machines that write the same file do not collide; the last to finish wins. The name says which
    process writes it, so that `sweep` can tell whether it still lives.
    """
    return path.with_name(f".{shortened(path.name)}.{_machine()}-{os.getpid()}-{token_hex(4)}.part")


_WRITTEN = re.compile(r"\..+\.(?:(?P<machine>[0-9a-f]{8})-(?P<process>\d+)-)?[0-9a-f]{8}\.part", re.DOTALL)
"""Names that `part` gives, or gave before they had a machine and a process; other programs have .part files too."""


def is_part(path: str) -> bool:
    """Whether a path is one that `part` gives."""
    return _WRITTEN.fullmatch(os.path.basename(path)) is not None  # noqa: PTH119 - it may be no path at all


@cache
def _machine() -> str:
    """A digest of what tells processes with the same number apart: the host, its start, and the container."""
    known = [platform.node()]
    with suppress(OSError):  # Linux only
        known += [Path("/proc/sys/kernel/random/boot_id").read_text(), str(Path("/proc/self/ns/pid").readlink())]
    return sha256("\n".join(known).encode("utf-8", "surrogateescape")).hexdigest()[:8]


def shortened(name: str) -> str:
    """A name short enough to append to, since file systems allow 255 bytes; a long one becomes a digest."""
    encoded = os.fsencode(name)
    return name if len(encoded) <= 200 else sha256(encoded).hexdigest()[:16]


def sweep(folder: Path) -> list[Path]:
    """Remove the .part files directly in a folder that killed processes left, and return them."""
    removed = []
    for leftover in stale_parts(folder):
        with suppress(OSError):  # another process removed it first
            leftover.unlink()
            removed.append(leftover)
    return removed


def stale_parts(folder: Path) -> list[Path]:
    """The .part files directly in a folder whose writers are dead.

    That of a process of this machine is stale as soon as the process has ended, and not before, whatever the clock
    says. Another machine's is stale if it was not written to for an hour of the file system's own clock.
    """
    try:
        with os.scandir(folder) as entries:
            parts = {entry.name: match for entry in entries if (match := _WRITTEN.fullmatch(entry.name))}
    except OSError:
        return []
    left, now = [], None
    for name, writer in sorted(parts.items()):
        if writer["machine"] == _machine() and sys.platform != "win32":
            stale = not _lives(int(writer["process"]))
        else:
            now = _file_system_time(folder) if now is None else now
            try:
                stale = now - (folder / name).lstat().st_mtime > STALE_SECONDS
            except OSError:
                continue
        if stale:
            left.append(folder / name)
    return left


def _lives(process: int) -> bool:
    """Whether a process exists; not for Windows, where the signal 0 is Ctrl+C."""
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:  # of another user
        return True
    return True


def _file_system_time(folder: Path) -> float:
    """The time by the clock that stamps files in a folder, which on a network is another machine's."""
    probe = part(folder / "time")
    try:
        probe.touch()
        return probe.stat().st_mtime
    except OSError:  # it cannot be written to, so nothing is removed either
        return 0.0
    finally:
        with suppress(OSError):  # on a disk that is read only even a missing file cannot be removed
            probe.unlink()
