"""CIFAR and Fashion-MNIST as users have them, the demo set, and that no pickle runs code."""

import os
import pickle
from pathlib import Path

import numpy as np
import pytest

from brittle import BrittleError
from brittle.datasets import cifar10, cifar10_digest, cifar100, demo, fashion_mnist
from brittle.datasets.cifar import CIFAR10, CIFAR100
from tests.datasets.fake_layouts import cifar_batches, cifar_sheets, idx, old_pickle, pixels
from tests.errors import naming

IMAGES, LABELS = pixels(10, 32, 32, 3), [3, 8, 8, 0, 6, 6, 1, 6, 3, 1]
BATCHES = [f"data_batch_{number}" for number in range(1, 6)]


def _write(root: Path, kind: str, *, train: bool) -> None:
    parts = (
        [(name, slice(2 * i, 2 * i + 2)) for i, name in enumerate(BATCHES)] if train else [("test_batch", slice(0, 10))]
    )
    for name, rows in parts:
        if kind == "batches":
            cifar_batches(root, IMAGES[rows], LABELS[rows], key=b"labels", name=name)
        else:
            cifar_sheets(root, IMAGES[rows], LABELS, name=name, part="train" if train else "test")


@pytest.mark.parametrize("train", [False, True])
@pytest.mark.parametrize(
    ("kind", "inside"), [("batches", "."), ("batches", "cifar-10-batches-py"), ("sheets", "."), ("sheets", "package")]
)
def test_cifar10_is_read_from_batches_and_from_sheets(tmp_path: Path, kind: str, inside: str, train: bool) -> None:
    _write(tmp_path / inside, kind, train=train)
    data = cifar10(tmp_path, train=train)
    assert data.labels is not None
    assert data.labels.tolist() == LABELS
    assert np.array_equal(np.stack(list(data.images())), IMAGES)
    assert data.classes == CIFAR10
    assert "it has 10 images" in data.notes[0]


def test_cifar100_has_its_fine_classes(tmp_path: Path) -> None:
    cifar_batches(tmp_path / "cifar-100-python", IMAGES, list(range(90, 100)), key=b"fine_labels", name="test")
    data = cifar100(tmp_path)
    assert len(set(CIFAR100)) == 100
    assert list(CIFAR100) == sorted(CIFAR100)
    assert data.labels is not None
    assert [data.classes[label] for label in data.labels[-3:]] == ["wolf", "woman", "worm"]
    assert np.array_equal(data.image(9), IMAGES[9])


def test_batches_pickled_again_by_python_3_are_read_too(tmp_path: Path) -> None:
    for protocol in (2, 4):
        data = {"data": IMAGES.transpose(0, 3, 1, 2).reshape(10, -1), "labels": LABELS}
        (tmp_path / "test_batch").write_bytes(pickle.dumps(data, protocol=protocol))
        assert np.array_equal(cifar10(tmp_path).image(4), IMAGES[4])


class _Evil:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, ("touch evil",)


def test_a_pickle_that_would_run_code_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "test_batch").write_bytes(pickle.dumps({"data": _Evil()}))
    with pytest.raises(BrittleError, match=naming("test_batch", "system")):
        cifar10(tmp_path)
    assert not (tmp_path / "evil").exists()


def _cut(root: Path) -> None:
    _write(root, "batches", train=False)
    (root / "test_batch").write_bytes((root / "test_batch").read_bytes()[:5000])


BAD = {
    "nothing there": (lambda _: None, ("test_batch", "test_batch.png")),
    "cut off": (_cut, ("test_batch",)),
    "no batch": (lambda root: old_pickle(root / "test_batch", [1, 2]), ("test_batch", "data", "labels")),
    "wrong shape": (
        lambda root: old_pickle(root / "test_batch", {b"data": pixels(2, 100), b"labels": [0, 1]}),
        ("test_batch", "uint8", "(2, 100)", "N×3072"),
    ),
    "wrong count": (
        lambda root: old_pickle(root / "test_batch", {b"data": pixels(2, 3072), b"labels": [0]}),
        ("test_batch", 2, "(1,)"),
    ),
    "label out of range": (
        lambda root: cifar_batches(root, IMAGES, [*LABELS[:9], 10], key=b"labels", name="test_batch"),
        ("cifar10", 10, 9),
    ),
    "sheets without labels": (
        lambda root: cifar_sheets(root, IMAGES, LABELS, name="test_batch", part="train"),
        ("test_lables.json",),
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_with_a_copy_is_told(tmp_path: Path, case: str) -> None:
    make, values = BAD[case]
    make(tmp_path)
    with pytest.raises((BrittleError, FileNotFoundError), match=naming(*values)):
        cifar10(tmp_path)


def test_a_missing_training_batch_is_named(tmp_path: Path) -> None:
    _write(tmp_path, "batches", train=True)
    (tmp_path / "data_batch_3").unlink()
    with pytest.raises(FileNotFoundError, match=naming("data_batch_3")):
        cifar10(tmp_path, train=True)


def test_the_digest_sees_pixels_and_labels() -> None:
    digest = cifar10_digest(IMAGES, LABELS)
    assert digest == cifar10_digest(IMAGES.copy(), np.array(LABELS, np.int64))
    assert digest != cifar10_digest(IMAGES[::-1], LABELS)
    assert digest != cifar10_digest(IMAGES, LABELS[::-1])


def test_the_demo_set_is_the_first_hundred_of_each_class() -> None:
    data = demo()
    assert data.labels is not None
    assert (len(data), data.classes, data.notes) == (1000, CIFAR10, ())
    assert np.bincount(data.labels).tolist() == [100] * 10
    assert list(data.ids) == sorted(set(data.ids))
    assert data.labels[:10].tolist() == LABELS  # how the test set is known to begin
    assert data.ids[:10] == tuple(range(10))
    assert data.image(999).shape == (32, 32, 3)
    # Published means of CIFAR-10's pixels: 0.491, 0.482, 0.447.
    mean = np.stack(list(data.images())).mean((0, 1, 2)) / 255
    assert np.allclose(mean, [0.491, 0.482, 0.447], atol=0.02)
    assert data.key == "af1f11a265560e0a"


@pytest.mark.parametrize("suffix", [".gz", ""])
def test_fashion_mnist(tmp_path: Path, suffix: str) -> None:
    images, labels = pixels(3, 28, 28), np.array([9, 0, 5], np.uint8)
    idx(tmp_path / f"t10k-images-idx3-ubyte{suffix}", images)
    idx(tmp_path / f"t10k-labels-idx1-ubyte{suffix}", labels)
    data = fashion_mnist(tmp_path)
    assert data.labels is not None
    assert [data.classes[label] for label in data.labels] == ["Ankle boot", "T-shirt/top", "Sandal"]
    assert np.array_equal(data.image(1), np.stack([images[1]] * 3, -1))
    path = tmp_path / f"t10k-images-idx3-ubyte{suffix}"
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(BrittleError, match=naming(path.name)):
        fashion_mnist(tmp_path)
    with pytest.raises(FileNotFoundError, match=naming("train-images-idx3-ubyte.gz", "train-images-idx3-ubyte")):
        fashion_mnist(tmp_path, train=True)
