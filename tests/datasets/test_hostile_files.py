"""Pipes, devices, names that are no text, headers that lie."""

import gzip
import os
import struct
import warnings
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Pil

from brittle import BrittleError
from brittle._types import printable
from brittle.benchmarks import Benchmark, Entry
from brittle.datasets import load_dataset, write_corrupted
from brittle.datasets.images import image_size, read_image
from brittle.evaluation import evaluate, load_results
from brittle.report import write_report
from tests.errors import naming

RECIPE = Benchmark("one", (Entry("imagenet-c/contrast", (1,)),))


def photos(folder: Path) -> Path:
    rng = np.random.default_rng(0)
    for name in ("cat/0.png", "cat/1.png", "dog/0.png"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Pil.fromarray(rng.integers(0, 256, (8, 8, 3), np.uint8)).save(folder / name)
    return folder


def scores(images: np.ndarray) -> np.ndarray:
    return np.eye(2)[images.mean((1, 2, 3)).astype(int) % 2]


def test_pipes_and_devices_are_skipped_with_a_reason(tmp_path: Path) -> None:
    folder = photos(tmp_path / "photos")
    os.mkfifo(folder / "cat" / "pipe.png")
    (folder / "cat" / "zero.png").symlink_to("/dev/zero")
    (folder / "cat" / "itself.png").symlink_to("itself.png")
    odd = {"cat/pipe.png", "cat/zero.png", "cat/itself.png"}
    results = evaluate(scores, load_dataset(folder), RECIPE, tmp_path / "run")
    assert set(results.runs[0].skipped) == odd
    assert set(write_corrupted(folder, tmp_path / "out", RECIPE, workers=1).skipped) == odd
    assert image_size(folder / "cat" / "pipe.png") is None


@pytest.mark.parametrize("place", [b"cat/caf\xe9.png", b"k\xe4t/0.png"], ids=["file", "class"])
def test_names_that_are_not_utf_8_are_kept_apart_and_stored_as_text(tmp_path: Path, place: bytes) -> None:
    folder = photos(tmp_path / "photos")
    target = Path(os.fsdecode(os.fsencode(folder) + b"/" + place))
    target.parent.mkdir(exist_ok=True)
    (folder / "cat" / "1.png").rename(target)
    data = load_dataset(folder)
    results = evaluate(lambda images: np.eye(len(data.classes))[[0] * len(images)], data, RECIPE, tmp_path / "run")
    name = place.decode("utf-8", "backslashreplace")
    assert name in results.rows.collect()["sample"].to_list()
    write_report(load_results(tmp_path / "run"), tmp_path / "report.html")
    assert write_corrupted(folder, tmp_path / "out", RECIPE, workers=1).written == 3


def test_a_run_s_own_folder_must_be_text(tmp_path: Path) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/r\xff"))
    with pytest.raises(BrittleError, match=r"\\xff"):
        evaluate(scores, load_dataset(photos(tmp_path / "photos")), RECIPE, folder)
    assert not folder.exists()


@pytest.mark.parametrize("name", ["fog.png", "ü", "a\\b", "日本", ""])
def test_text_stays_as_it_is(name: str) -> None:
    assert printable(name) == name


def test_half_of_a_pair_can_be_stored() -> None:
    assert printable("a\ud800b").encode() == b"a\\ud800b"


@pytest.mark.parametrize("shape", [(-1, 8, 8, 3), (2, -8, -8, 3), (10**15, 8, 8, 3), (0, 8, 8, 3)], ids=str)
def test_an_array_whose_header_lies_is_named(tmp_path: Path, shape: tuple[int, ...]) -> None:
    header = str({"descr": "|u1", "fortran_order": False, "shape": shape}).ljust(117) + "\n"
    path = tmp_path / "lies.npy"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + bytes(400))
    with pytest.raises(BrittleError, match=r"lies\.npy"):
        load_dataset(path)


def test_an_archive_that_unpacks_to_more_than_there_is_memory_is_not_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "bomb.npz"
    np.savez_compressed(path, images=np.zeros((300, 32, 32, 3), np.uint8))
    load_dataset(path)
    monkeypatch.setattr(os, "sysconf", lambda name: {"SC_PHYS_PAGES": 100, "SC_PAGE_SIZE": 4096}[name])
    with pytest.raises(BrittleError, match=naming("bomb.npz", ".npy")):
        load_dataset(path)


def test_a_compressed_file_is_read_up_to_the_size_of_the_largest_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("brittle.datasets.array_files.LARGEST_IDX", 1 << 12)
    head = bytes((0, 0, 8, 3)) + struct.pack(">III", 1 << 10, 28, 28)
    (tmp_path / "t10k-images-idx3-ubyte.gz").write_bytes(gzip.compress(head + bytes(784 << 10)))
    with pytest.raises(BrittleError, match=naming("t10k-images-idx3-ubyte.gz")):
        load_dataset(f"fashion-mnist:{tmp_path}")


@pytest.mark.parametrize("label", [2**31, 2**40, 2**63])
def test_labels_that_no_row_can_hold_are_refused(tmp_path: Path, label: int) -> None:
    labels = np.array([0, label], np.uint64)
    np.savez(tmp_path / "a.npz", images=np.zeros((2, 8, 8, 3), np.uint8), labels=labels)
    with pytest.raises(BrittleError, match=str(label)):
        load_dataset(tmp_path / "a.npz")


def test_a_large_picture_gives_no_warning_of_a_bomb(tmp_path: Path) -> None:
    Pil.new("1", (10_000, 9_000)).save(tmp_path / "large.png")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert image_size(tmp_path / "large.png") == (10_000, 9_000)
        assert read_image(tmp_path / "large.png", prepare="imagenet").shape == (224, 224, 3)
