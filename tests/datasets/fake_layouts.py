"""Tiny fakes of what lies on users' disks."""

import gzip
import json
import pickle
import struct
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image as Pil

from brittle.datasets.classes import imagenet_classes

WNIDS = [row.wnid for row in imagenet_classes()]


def pixels(*shape: int, seed: int = 0) -> NDArray[np.uint8]:
    return np.random.default_rng(seed).integers(0, 256, shape, np.uint8)


def picture(path: Path, *, seed: int = 0, size: tuple[int, int] = (6, 5)) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Pil.fromarray(pixels(*size, 3, seed=seed)).save(path, "PNG")
    return path


def class_folders(root: Path, folders: Iterable[str], file: str = "one.png") -> Path:
    """A picture in each folder; all are links to one file, so that a thousand cost nothing."""
    root.mkdir(parents=True, exist_ok=True)
    original = picture(root.parent / ".original.png")
    for folder in folders:
        (root / folder).mkdir(parents=True)
        (root / folder / file).hardlink_to(original)
    return root


class _Old(pickle._Pickler):  # type: ignore[name-defined]
    """Writes bytes as Python 2 wrote its text, which is how the authors of CIFAR saved their batches."""

    dispatch = dict(pickle._Pickler.dispatch)  # type: ignore[attr-defined]  # noqa: RUF012

    def save_text(self, value: bytes) -> None:
        self.write(b"T" + struct.pack("<i", len(value)) + value)
        self.memoize(value)

    dispatch[bytes] = save_text


def old_pickle(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        _Old(file, protocol=2).dump(value)


def cifar_batches(root: Path, images: NDArray[np.uint8], labels: list[int], *, key: bytes, name: str) -> None:
    data = np.ascontiguousarray(images.transpose(0, 3, 1, 2).reshape(len(images), -1))
    old_pickle(root / name, {b"data": data, key: labels, b"batch_label": b"a batch"})


def cifar_sheets(root: Path, images: NDArray[np.uint8], labels: list[int], *, name: str, part: str) -> None:
    root.mkdir(parents=True, exist_ok=True)
    Pil.fromarray(images.reshape(len(images), 1024, 3)).save(root / f"{name}.png")
    (root / f"{part}_lables.json").write_text(json.dumps(labels))


def idx(path: Path, array: NDArray[np.uint8]) -> None:
    head = bytes((0, 0, 8, array.ndim)) + b"".join(side.to_bytes(4, "big") for side in array.shape)
    data = head + array.tobytes()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
