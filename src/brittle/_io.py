"""Files that are whole or not there, TOML, and folders that belong to one piece of work."""

from __future__ import annotations

import json
import os
import re
import sys
import time
import tomllib
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from glob import escape
from hashlib import sha256
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any

import tomli_w

from brittle._errors import BrittleError
from brittle._identity import as_data

if sys.platform != "win32":
    import fcntl

STALE = 3600.0
"""Seconds after which a part that nobody writes to is that of a process which died."""

LONGEST = 80
"""Characters of a name that its file keeps."""

if TYPE_CHECKING:
    import polars as pl


class DamagedFile(UserWarning):
    """A file that a crash left empty or cut off; it counts as missing."""


def part(path: Path) -> Path:
    """Where a file is written before it gets its name: beside it, hidden, and at each call a place of its own.

    So two processes, or machines, that write the same file do not meet; the last to end gives it its content.
    """
    return path.with_name(f".{_short(path.name)}.{token_hex(4)}.part")


def _short(name: str) -> str:
    """A name to which something can be added: file systems take 255 bytes."""
    encoded = os.fsencode(name)
    return name if len(encoded) <= 200 else sha256(encoded).hexdigest()[:16]


def sweep(path: Path) -> None:
    """Remove the parts of a file that were left by processes that were killed: those not written to for an hour.

    Before large files only: it lists the folder.
    """
    for left in path.parent.glob(f".{escape(_short(path.name))}.*.part"):
        with suppress(OSError):  # somebody else was faster
            if time.time() - left.stat().st_mtime > STALE:
                left.unlink()


@contextmanager
def atomic_write(path: Path, *, durable: bool = True) -> Iterator[Path]:
    """A temporary place to write to, which becomes `path` when the block ends well and vanishes when it does not.

    The content reaches the disk before the name does, so that a power cut leaves the old file or the new one. Many
    small files may be written without (`durable=False`), if `flush` follows and `is_whole` is asked before reuse.
    """
    temporary = part(path)
    try:
        yield temporary
        atomic_rename(temporary, path, durable=durable)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def atomic_rename(temporary: Path, path: Path, *, durable: bool = True) -> None:
    """Give a file that was written under a temporary name its own: first its content to the disk, then the name."""
    if not durable:
        temporary.replace(path)
        return
    _flush_file(temporary)
    temporary.replace(path)
    _flush_folder(path.parent)


def create(path: Path, text: str) -> bool:
    """Write a file that nobody has written yet; False if somebody has. Of several processes one gets True."""
    temporary = part(path)
    try:
        temporary.write_text(text, encoding="utf-8")
        _flush_file(temporary)
        try:
            os.link(temporary, path)
        except FileExistsError:
            return False
        except OSError:  # a file system without links
            try:
                with path.open("x", encoding="utf-8") as file:
                    file.write(text)
            except FileExistsError:
                return False
            _flush_file(path)
        _flush_folder(path.parent)
    finally:
        temporary.unlink(missing_ok=True)
    return True


def make_folder(folder: Path) -> list[Path]:
    """Make a folder that lasts, and give those that were not there before, the innermost first."""
    missing = []
    for one in (folder, *folder.parents):
        if one.exists():
            break
        missing.append(one)
    folder.mkdir(parents=True, exist_ok=True)
    for one in reversed(missing):
        _flush_folder(one.parent)
    return missing


def flush() -> None:
    """Bring all that was written to the disk, where the system can do that: for many small files at once."""
    if hasattr(os, "sync"):
        os.sync()


def _flush_file(path: Path) -> None:
    descriptor = os.open(path, os.O_RDWR | getattr(os, "O_BINARY", 0))
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _flush_folder(folder: Path) -> None:
    with suppress(OSError):  # some systems cannot open or flush a folder
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Work in a folder that no other process does in its own `locked` block; the folder is made if need be.

    Where the file system has no locks it is only made.
    """
    while True:
        make_folder(folder)
        try:
            descriptor = os.open(folder, os.O_RDONLY)
        except FileNotFoundError:  # its last user has just removed it
            continue
        except OSError:  # Windows opens no folders
            yield
            return
        try:
            _lock(descriptor)
            if _is_at(descriptor, folder):
                yield
                return
        finally:
            os.close(descriptor)


def _is_at(descriptor: int, path: Path) -> bool:
    """Whether an open folder is still the one at a path; while one waits its last user may remove it."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


class Presence:
    """A sign that a process works with a file, which lasts until it is closed or the process ends, however it ends."""

    def __init__(self, path: Path) -> None:
        self._descriptor: int | None = os.open(path, os.O_RDONLY)
        _lock(self._descriptor, shared=True)

    def alone(self) -> bool:
        """Whether no other process has such a sign; False as well where the file system cannot tell."""
        if self._descriptor is None or not _lock(self._descriptor, wait=False):
            return False
        _lock(self._descriptor, shared=True)
        return True

    def close(self) -> None:
        """Work with it no longer."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    __del__ = close


def _lock(descriptor: int, *, shared: bool = False, wait: bool = True) -> bool:
    """Whether the lock was got; on Windows nobody can be asked."""
    if sys.platform == "win32":
        return False
    how = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    try:
        fcntl.flock(descriptor, how if wait else how | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


PLAIN = re.compile(r"[a-z0-9_][a-z0-9_+-]*(/[a-z0-9_][a-z0-9_+-]*)?")


def file_name(name: str) -> str:
    """A name as part of a file's name: short, harmless on every system, and another one for every other name.

    Names such as fog, imagenet-c/fog (imagenet-c.fog) and augmix+noise can be read; all others keep their letters,
    digits and dots and get a digest, also because some systems take Fog and fog for one file.
    """
    if len(name) <= LONGEST and PLAIN.fullmatch(name):
        return name.replace("/", ".")
    plain = re.sub(r"[^A-Za-z0-9_.+-]", "_", name)[:LONGEST].lstrip(".-")
    return f"{plain}~{sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"


def is_whole(path: Path) -> bool:
    """Whether a file is there and neither empty nor cut off, as far as its format tells."""
    try:
        size = path.stat().st_size if path.is_file() else 0
        check = _CHECKS.get(path.suffix.lower())
        return size > 0 and (check is None or check(path, size))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, EOFError):
        return False


def missing_or_damaged(path: Path, then: str) -> bool:
    """Whether a file counts as missing; one that is there but not whole is named, with what happens then."""
    if is_whole(path):
        return False
    if path.is_file():
        warnings.warn(DamagedFile(f"{str(path)!r} is empty or cut off; {then}"), stacklevel=3)
    return True


def _begins_and_ends(begin: bytes, end: bytes) -> Callable[[Path, int], bool]:
    def check(path: Path, size: int) -> bool:
        if size < len(begin) + len(end):
            return False
        with path.open("rb") as file:
            first = file.read(len(begin))
            file.seek(-len(end), os.SEEK_END)
            return first == begin and file.read() == end

    return check


def _is_json(path: Path, _size: int) -> bool:
    json.loads(path.read_text(encoding="utf-8"))
    return True


def _is_toml(path: Path, _size: int) -> bool:
    text = path.read_text(encoding="utf-8")
    return text.endswith("\n") and bool(tomllib.loads(text))


def _is_array(path: Path, size: int) -> bool:
    import numpy as np

    with path.open("rb") as file:
        major, _ = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0 if major == 1 else np.lib.format.read_array_header_2_0
        shape, _, dtype = read(file)
        return size == file.tell() + int(np.prod(shape, dtype=object)) * dtype.itemsize


def _is_safetensors(path: Path, size: int) -> bool:
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if length > size - 8:
            return False
        header = json.loads(file.read(length))
    ends = [about["data_offsets"][1] for name, about in header.items() if name != "__metadata__"]
    return size == 8 + length + max(ends, default=0)


_JPEG = _begins_and_ends(b"\xff\xd8", b"\xff\xd9")
_CHECKS: dict[str, Callable[[Path, int], bool]] = {
    ".parquet": _begins_and_ends(b"PAR1", b"PAR1"),
    ".jpeg": _JPEG,
    ".jpg": _JPEG,
    ".png": _begins_and_ends(b"\x89PNG\r\n\x1a\n", b"IEND\xaeB`\x82"),
    ".json": _is_json,
    ".toml": _is_toml,
    ".npy": _is_array,
    ".safetensors": _is_safetensors,
    ".pt": lambda path, _size: zipfile.is_zipfile(path),
}


def toml_text(data: Mapping[str, Any]) -> str:
    """Plain data as TOML, which people read and change; what is None is left out."""
    return tomli_w.dumps(as_data({key: value for key, value in data.items() if value is not None}))


def read_csv(path: str | Path) -> pl.DataFrame:
    """A CSV file as a table of texts: an empty cell is null, empty lines are left out."""
    import polars as pl

    try:
        table = pl.read_csv(path, glob=False, infer_schema=False)
    except pl.exceptions.PolarsError as error:
        reason = str(error).partition("\n")[0]
        raise BrittleError(f"{str(path)!r} is not a CSV table with a first row of names: {reason}") from error
    return table.filter(~pl.all_horizontal(pl.all().is_null()))


RESULTS = (".safetensors", ".pt", ".parquet", ".csv", ".npy")
"""What a folder holds once work was done in it."""


def claim(path: Path, about: Mapping[str, Any], what: str) -> None:
    """Write down in `path` what a folder holds, or raise if it holds something else already."""
    wanted = json.loads(json.dumps(about))
    with locked(path.parent):
        if missing_or_damaged(path, "it is written again if there is nothing beside it"):
            if path.is_file() and any(item.suffix in RESULTS for item in path.parent.rglob("*")):
                raise BrittleError(
                    f"{str(path)!r} is empty or cut off, so nobody knows how the {what} beside it were made; choose "
                    "another folder, or remove this one"
                )
            path.unlink(missing_ok=True)
            create(path, json.dumps(wanted, indent=1))
        known = json.loads(path.read_text(encoding="utf-8"))
    for key, value in wanted.items():
        if known.get(key) != value:
            raise BrittleError(
                f"{str(path.parent)!r} holds {what} with {key} {known.get(key)}, and this asks for {value}; choose "
                "another folder"
            )


def weights_key(path: str | Path | None) -> str | None:
    """A file of weights by its name and what is in it: another file of the same name is another start."""
    if path is None:
        return None
    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(f"there is no file of weights {str(path)!r} to start from")
    return f"{file.name} {sha256(file.read_bytes()).hexdigest()[:8]}"
