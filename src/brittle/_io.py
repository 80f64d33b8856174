"""Atomic writes, locks, checks for damaged files, and folders that belong to one run."""

from __future__ import annotations

import errno
import json
import os
import re
import sys
import tomllib
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from tokenize import TokenError
from typing import TYPE_CHECKING, Any

import tomli_w

from brittle._errors import BrittleError
from brittle._identity import as_data
from brittle._parts import part, shortened, sweep

if sys.platform != "win32":
    import fcntl

MAX_NAME_LENGTH = 80
"""Characters of a name that are kept in its file name."""

if TYPE_CHECKING:
    import numpy as np


class DamagedFile(UserWarning):
    """A file that a crash left empty or truncated; it counts as missing."""


@contextmanager
def atomic_write(path: Path, *, durable: bool = True) -> Iterator[Path]:
    """A temporary path to write to; it is renamed to `path` when the block succeeds and deleted when it fails.

    The content is flushed to disk before the rename, so a power cut leaves the old file or the new one. Many small
    files may skip that (`durable=False`), if `flush` follows and `is_complete` is checked before reuse.
    """
    _sweep_once(path.parent)
    temporary = part(path)
    try:
        yield temporary
        atomic_rename(temporary, path, durable=durable)
    except BaseException as error:
        full = _full(temporary, error)
        temporary.unlink(missing_ok=True)
        if full is None:
            raise
        raise OSError(full.errno, full.strerror, full.filename or str(path)) from error


def _full(temporary: Path, error: BaseException) -> OSError | None:
    """The error of a full disk, if one ended a write: torch, safetensors and Polars make others of it."""
    if isinstance(error, Exception) and not isinstance(error, OSError | BrittleError) and temporary.exists():
        try:
            with temporary.open("ab") as file:
                file.write(bytes(1 << 20))
        except OSError as told:
            error = told
    return error if isinstance(error, OSError) and error.errno in (*FULL, errno.EFBIG) else None


@lru_cache(maxsize=1000)
def _sweep_once(folder: Path) -> None:
    """Remove what killed processes left half-written, before this process first writes to a folder."""
    sweep(folder)


def atomic_rename(temporary: Path, path: Path, *, durable: bool = True) -> None:
    """Rename a temporary file to `path`, after its content was flushed to disk."""
    if not durable:
        temporary.replace(path)
        return
    _flush_file(temporary)
    temporary.replace(path)
    _flush_folder(path.parent)


def allocated_array(path: Path, shape: tuple[int, ...], dtype: Any) -> np.memmap[Any, Any]:
    """A new .npy file mapped into memory, all of whose bytes the disk has set aside.

    Without that a full disk is noticed only when a page is written back, which ends the process by a signal.
    """
    import numpy as np

    array = np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=shape)
    if hasattr(os, "posix_fallocate"):
        with path.open("r+b") as file:
            try:
                os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
            except OSError as error:
                if error.errno not in FULL:  # a file system that cannot set space aside
                    return array
                raise OSError(error.errno, f"{error.strerror}, {array.nbytes:,} bytes are needed", str(path)) from error
    return array


FULL = (errno.ENOSPC, errno.EDQUOT)
"""The numbers of the errors of a full disk, and of a user's share of it."""


def create(path: Path, text: str) -> bool:
    """Write a file unless it exists; whether it was written. Of concurrent processes exactly one gets True."""
    _sweep_once(path.parent)
    temporary = part(path)
    try:
        temporary.write_text(text, encoding="utf-8")
        _flush_file(temporary)
        try:
            os.link(temporary, path)
        except FileExistsError:
            return False
        except OSError:  # a file system without hard links
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
    """Create a folder durably; the folders that did not exist before, the innermost first."""
    missing = []
    for path in (folder, *folder.parents):
        if path.exists():
            break
        missing.append(path)
    folder.mkdir(parents=True, exist_ok=True)
    for path in reversed(missing):
        _flush_folder(path.parent)
    return missing


def flush() -> None:
    """Flush all written files to disk, where the system supports it: for many small files at once."""
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
    """Hold an exclusive lock on a folder, which is created if missing.

    Where the file system has no locks, the folder is only created.
    """
    while True:
        make_folder(folder)
        try:
            descriptor = os.open(folder, os.O_RDONLY)
        except FileNotFoundError:  # another process has just removed it
            continue
        except OSError:  # Windows cannot open folders
            yield
            return
        try:
            _lock(descriptor)
            if _is_still_at(descriptor, folder):
                yield
                return
        finally:
            os.close(descriptor)


def _is_still_at(descriptor: int, path: Path) -> bool:
    """Whether an open folder is still the one at `path`; another process may remove it while we wait for the lock."""
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


class Presence:
    """A shared lock that marks a file as in use until it is closed or the process ends, even by a crash."""

    def __init__(self, path: Path) -> None:
        self._descriptor: int | None = os.open(path, os.O_RDONLY)
        _lock(self._descriptor, shared=True)

    def alone(self) -> bool:
        """Whether no other process holds such a lock; also False where the file system has no locks."""
        if self._descriptor is None or not _lock(self._descriptor, wait=False):
            return False
        _lock(self._descriptor, shared=True)
        return True

    def close(self) -> None:
        """Release the lock."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    __del__ = close


def in_use(path: Path) -> bool:
    """Whether a process holds a `Presence` on a file; False where the file system has no locks."""
    if sys.platform == "win32":
        return False
    with path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            return False
    return False


def _lock(descriptor: int, *, shared: bool = False, wait: bool = True) -> bool:
    """Whether the lock was acquired; always False on Windows."""
    if sys.platform == "win32":
        return False
    operation = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    try:
        fcntl.flock(descriptor, operation if wait else operation | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


READABLE_NAME = re.compile(r"[a-z0-9_][a-z0-9_+-]*(/[a-z0-9_][a-z0-9_+-]*)?")


def file_name(name: str) -> str:
    """A name as part of a file name: short, valid on every system, and unique for each name.

    Names such as fog, imagenet-c/fog (imagenet-c.fog) and augmix+noise stay readable; all others keep their letters,
    digits and dots and get a digest, also because some file systems ignore case.
    """
    if len(name) <= MAX_NAME_LENGTH and READABLE_NAME.fullmatch(name):
        return name.replace("/", ".")
    stem = re.sub(r"[^A-Za-z0-9_.+-]", "_", name)[:MAX_NAME_LENGTH].lstrip(".-")
    return f"{stem}~{sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"


def is_complete(path: Path) -> bool:
    """Whether a file exists and is neither empty nor truncated, as far as its format shows."""
    try:
        size = path.stat().st_size if path.is_file() else 0
        check = _CHECKS.get(path.suffix.lower())
        return size > 0 and (check is None or check(path, size))
    except (OSError, ValueError, KeyError, TypeError, AttributeError, EOFError, RecursionError):
        return False


def missing_or_damaged(path: Path, then: str) -> bool:
    """Whether a file is missing or damaged; a damaged one gives a warning that states what happens `then`."""
    if is_complete(path):
        return False
    if os.path.lexists(path):
        warn_damaged(path, then)
    return True


def warn_damaged(path: Path, then: str, reason: str = "") -> None:
    """Warn of a damaged file with what is wrong with it, and what happens `then`."""
    if not reason:
        readable = "is empty, cut off or garbled" if os.access(path, os.R_OK) else "may not be read by this user"
        reason = readable if path.is_file() else "is no file"
    warnings.warn(DamagedFile(f"{str(path)!r} {reason}; {then}"), stacklevel=4)


def set_aside(path: Path) -> Path:
    """Rename a damaged file, or a folder in its place, so that it can be written again; its new path.

    Nothing is removed: `run.toml` becomes `run.toml.damaged`, or `run.toml.2.damaged` if that exists.
    """
    for number in range(1, 10_000):
        kept = path.with_name(f"{shortened(path.name)}{f'.{number}' * (number > 1)}{DAMAGED}")
        if not os.path.lexists(kept):
            path.rename(kept)
            return kept
    raise BrittleError(f"{str(path.parent)!r} holds thousands of files {DAMAGED}; remove them")


DAMAGED = ".damaged"
"""The suffix of what was set aside."""


def make_way(path: Path, *, folder: bool = False) -> None:
    """Set aside what is no file where one is to be written, such as a pipe, or what is no `folder` where one is."""
    fitting = path.is_dir() if folder else path.is_file() or path.is_symlink()
    if os.path.lexists(path) and not fitting:
        kept, what = set_aside(path), "folder" if folder else "file"
        warnings.warn(DamagedFile(f"{str(path)!r} is no {what}; it is now {kept.name!r}"), stacklevel=3)


def _begins_and_ends(prefix: bytes, suffix: bytes) -> Callable[[Path, int], bool]:
    def check(path: Path, size: int) -> bool:
        if size < len(prefix) + len(suffix):
            return False
        with path.open("rb") as file:
            head = file.read(len(prefix))
            file.seek(-len(suffix), os.SEEK_END)
            return head == prefix and file.read() == suffix

    return check


SEAL = "brittle.seal"
"""The key under which a sealed Parquet file has a digest of its other bytes."""

UNSEALED = "0" * 64
"""What stands in place of the digest until it is known, and while it is computed."""


def sealed(content: bytes) -> bytes:
    """The bytes of a Parquet file with their digest in the metadata, where `UNSEALED` stands under the key `SEAL`.

    Parquet has no check sums of its own here, and a flipped bit may give other numbers without an error.
    """
    place = _seal_place(content)
    return content[:place] + sha256(content).hexdigest().encode() + content[place + len(UNSEALED) :]


def _seal_place(content: bytes) -> int:
    """Where the digest begins: behind its key and the length of a text of 64 characters; -1 if there is none."""
    key = SEAL.encode() + b"\x18\x40"
    place = content.rfind(key)
    return place if place < 0 else place + len(key)


def _is_parquet(path: Path, size: int) -> bool:
    status = path.stat()
    return _is_sealed_parquet(str(path), size, status.st_mtime_ns, status.st_ino)


@lru_cache(maxsize=1 << 16)
def _is_sealed_parquet(path: str, size: int, _modified: int, _inode: int) -> bool:
    """Whether a file is as it was written; of one without a seal only that it begins and ends as it should."""
    content = Path(path).read_bytes()
    if size < 12 or content[:4] != b"PAR1" or content[-4:] != b"PAR1":
        return False
    place = _seal_place(content)
    if place < 0:
        return True
    digest, zeroed = content[place : place + 64], sha256(memoryview(content)[:place])
    zeroed.update(UNSEALED.encode())
    zeroed.update(memoryview(content)[place + 64 :])
    return digest == zeroed.hexdigest().encode()


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
        try:
            shape, _, dtype = read(file)
        except (TokenError, SyntaxError):  # NumPy tries to read a garbled header as one of Python 2
            return False
        return size == file.tell() + int(np.prod(shape, dtype=object)) * dtype.itemsize


def _is_safetensors(path: Path, size: int) -> bool:
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if length > size - 8:
            return False
        header = json.loads(file.read(length))
    ends = [entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"]
    return size == 8 + length + max(ends, default=0)


_JPEG = _begins_and_ends(b"\xff\xd8", b"\xff\xd9")
_CHECKS: dict[str, Callable[[Path, int], bool]] = {
    ".parquet": _is_parquet,
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
    """Plain data as TOML; values that are None are left out."""
    return tomli_w.dumps(as_data({key: value for key, value in data.items() if value is not None}))


RESULT_SUFFIXES = (".safetensors", ".pt", ".parquet", ".csv", ".npy")
"""Suffixes of result files: a folder with one of them is in use."""


COMMAND = "command.toml"
"""The call of the command line that made a folder, which the folder keeps."""


def claim(path: Path, settings: Mapping[str, Any], contents: str) -> None:
    """Record in `path` the settings a folder is made with, or raise if it was made with others."""
    requested = json.loads(json.dumps(settings))
    with locked(path.parent):
        if missing_or_damaged(path, "it is written again if the folder has no results"):
            if path.is_file() and any(item.suffix in RESULT_SUFFIXES for item in path.parent.rglob("*")):
                raise BrittleError(
                    f"{str(path)!r} is empty or cut off, so the settings of the {contents} beside it are unknown; "
                    "choose another folder, or remove this one"
                )
            path.unlink(missing_ok=True)
            create(path, json.dumps(requested, indent=1))
        recorded = json.loads(path.read_text(encoding="utf-8"))
    for key, value in requested.items():
        if recorded.get(key) != value:
            name, recorded_value, requested_value = _first_difference(key, recorded.get(key), value)
            raise BrittleError(
                f"{str(path.parent)!r} holds {contents} with {name} {recorded_value}, and this asks for "
                f"{requested_value}; choose another folder"
            )


def _first_difference(name: str, recorded: Any, requested: Any) -> tuple[str, Any, Any]:
    """The first setting that differs, by its dotted name; settings that are not written have their default."""
    if isinstance(recorded, dict) and isinstance(requested, dict):
        for key in [*requested, *recorded]:
            pair = recorded.get(key, "the default"), requested.get(key, "the default")
            if pair[0] != pair[1]:
                return _first_difference(f"{name}.{key}", *pair)
    return name, recorded, requested


def weights_key(path: str | Path | None) -> str | None:
    """A key of a weights file: its name and a digest of its content; None if there is no file."""
    if path is None:
        return None
    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(f"there is no file of weights {str(path)!r} to start from")
    return f"{file.name} {sha256(file.read_bytes()).hexdigest()[:8]}"
