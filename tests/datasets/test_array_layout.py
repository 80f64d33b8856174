"""The CIFAR-C layout: severities stacked in order, each picture as `corrupt` gives it for its index."""

from pathlib import Path

import numpy as np
import pytest

import brittle
from brittle import BrittleError
from brittle._io import DamagedFile
from brittle.benchmarks import Benchmark, Entry
from brittle.datasets import export as array_layout
from brittle.datasets import read_array, write_arrays
from tests.errors import naming

IMAGES = np.random.default_rng(0).integers(0, 256, (7, 32, 32, 3), np.uint8)
LABELS = np.arange(7)
RECIPE = Benchmark("two", (Entry("shot_noise", (1, 2.5)), Entry("fog", (5, 3))), seed=1)


@pytest.mark.parametrize("block", [1, 3 * IMAGES[0].nbytes, 2**20])
def test_arrays_are_what_corrupt_gives_for_each_index(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    monkeypatch.setattr(array_layout, "BLOCK_BYTES", block)
    account = write_arrays(IMAGES, tmp_path, RECIPE, labels=LABELS, workers=1)
    assert (account.written, account.kept) == (28, 0)
    for name, levels in (("shot_noise", (1, 2.5)), ("fog", (5, 3))):
        stacked = np.load(tmp_path / f"{name}.npy")
        assert (stacked.shape, stacked.dtype) == ((14, 32, 32, 3), np.uint8)
        for place, level in enumerate(levels):
            for index in range(7):
                alone = brittle.corrupt(IMAGES[index], name, level, seed=1, sample=index)
                assert (stacked[7 * place + index] == alone).all()
    assert np.load(tmp_path / "labels.npy").tolist() == [*range(7), *range(7)]


def test_a_stopped_run_leaves_whole_arrays_and_goes_on(tmp_path: Path) -> None:
    def stop(done: int, _: int) -> None:
        if done >= 21:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_arrays(IMAGES, tmp_path, RECIPE, workers=1, progress=stop)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["layout.toml", "recipe.toml", "shot_noise.npy"]
    account = write_arrays(IMAGES, tmp_path, RECIPE, workers=1)
    assert (account.written, account.kept) == (14, 14)
    assert np.load(tmp_path / "fog.npy").shape == (14, 32, 32, 3)


def test_other_images_are_not_mixed_in(tmp_path: Path) -> None:
    write_arrays(IMAGES, tmp_path, RECIPE, workers=1)
    with pytest.raises(BrittleError, match=naming(tmp_path.name, "overwrite=True")):
        write_arrays(255 - IMAGES, tmp_path, RECIPE, workers=1)


def test_files_of_arrays_are_read_as_they_are(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", IMAGES)
    np.savez(tmp_path / "a.npz", images=IMAGES, labels=LABELS)
    images, labels = read_array(tmp_path / "a.npy")
    assert (images == IMAGES).all()
    assert labels is None
    images, labels = read_array(tmp_path / "a.npz")
    assert (images == IMAGES).all()
    assert labels is not None
    assert labels.tolist() == LABELS.tolist()


@pytest.mark.parametrize(
    ("name", "content", "values"),
    [
        ("a.npy", IMAGES.transpose(0, 3, 1, 2), ("a.npy", "(7, 3, 32, 32)", "N×H×W×3", "array.transpose(0, 2, 3, 1)")),
        ("a.npy", IMAGES[0], ("a.npy", "N×H×W×3", "uint8")),
        ("a.npy", IMAGES[:0], ("a.npy", "N×H×W×3", "uint8")),
        ("a.npy", IMAGES / 255, ("a.npy", "float64", "uint8", "255")),
        ("a.npy", np.array([None]), ("a.npy", ".npy")),
        ("a.npy", b"junk", ("a.npy", ".npy")),
        ("a.npz", b"junk", ("a.npz", ".npz")),
        ("a.npz", {"x": IMAGES}, ("a.npz", "images", "x")),
        ("a.npz", {"images": IMAGES, "labels": LABELS[:3]}, (7, "(3,)")),
        ("a.npy", None, ("a.npy",)),
    ],
)
def test_a_wrong_array_is_one_sentence(tmp_path: Path, name: str, content: object, values: tuple) -> None:
    path = tmp_path / name
    if isinstance(content, bytes):
        path.write_bytes(content)
    elif isinstance(content, dict):
        np.savez(path, **content)
    elif content is not None:
        np.save(path, content)
    with pytest.raises((BrittleError, FileNotFoundError), match=naming(*values)):
        read_array(path)


def test_labels_need_the_same_levels_everywhere(tmp_path: Path) -> None:
    uneven = Benchmark("uneven", (Entry("fog", (1, 2)), Entry("snow", (1,))))
    with pytest.raises(BrittleError, match=naming("labels.npy", "imagenet-c/fog", 2, "imagenet-c/snow", 1)):
        write_arrays(IMAGES, tmp_path, uneven, labels=LABELS, workers=1)


@pytest.mark.parametrize("kept", [0, 50, 1000, -1])
def test_an_array_that_a_crash_cut_is_made_again(tmp_path: Path, kept: int) -> None:
    write_arrays(IMAGES, tmp_path, RECIPE, workers=1)
    whole = (tmp_path / "fog.npy").read_bytes()
    (tmp_path / "fog.npy").write_bytes(whole[:kept])
    with pytest.warns(DamagedFile, match=r"fog\.npy"):
        account = write_arrays(IMAGES, tmp_path, RECIPE, workers=1)
    assert (account.written, account.kept) == (14, 14)
    assert (tmp_path / "fog.npy").read_bytes() == whole
