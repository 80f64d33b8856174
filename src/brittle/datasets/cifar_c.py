"""CIFAR-10-C, CIFAR-100-C and CIFAR-10-C-bar as they lie on disk: an array per corruption, severities stacked."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from brittle.datasets.array_file import read_array, read_labels
from brittle.datasets.cifar_names import CIFAR10, CIFAR100
from brittle.datasets.dataset import Dataset, Labels
from brittle.datasets.near import nearest
from brittle.datasets.rows import MappedRows


def cifar_c(path: str | Path, corruption: str, severity: int, *, levels: int = 5) -> Dataset:
    """One corruption at one severity (1 to `levels`) of `path/<corruption>.npy` and `path/labels.npy`.

    The images stay on disk. The sample ids are the indices of the clean test set, the same at every severity.
    Ten classes get the names of CIFAR-10, a hundred those of CIFAR-100.
    """
    path = Path(path)
    file = path / f"{corruption}.npy"
    if not file.is_file():
        raise FileNotFoundError(f"{str(path)!r} has no {file.name}; {nearest(corruption, array_corruptions(path))}")
    check_whole(severity, levels)
    images, _ = read_array(file)
    count, rest = divmod(len(images), levels)
    if rest:
        raise ValueError(f"{str(file)!r} has {len(images)} images, which are not {levels} severities of equally many")
    labels = _labels(path / "labels.npy", count, levels)
    rows = MappedRows(file, (severity - 1) * count, severity * count)
    kinds = int(labels.max()) + 1
    classes = {10: CIFAR10, 100: CIFAR100}.get(kinds, ())
    return Dataset(
        f"{path.resolve().name}/{corruption}/{severity}",
        rows,
        range(count),
        content=rows.content,
        labels=labels,
        classes=classes,
    )


def array_corruptions(path: str | Path) -> list[str]:
    """The corruptions that have an array in a folder, sorted."""
    return sorted(file.stem for file in Path(path).glob("*.npy") if file.stem != "labels" and file.stem[0] != ".")


def check_whole(severity: int, levels: int) -> None:
    """Raise unless the severity is one of 1, 2 … levels."""
    if isinstance(severity, bool) or not isinstance(severity, int | np.integer) or not 1 <= severity <= levels:
        raise ValueError(f"the severity is a whole number from 1 to {levels}, got {severity!r}")


def _labels(file: Path, count: int, levels: int) -> Labels:
    if not file.is_file():
        raise FileNotFoundError(f"there is no labels.npy in {str(file.parent)!r}; it lies beside the arrays")
    stored = np.load(file, mmap_mode="r", allow_pickle=False)
    if stored.shape == (count,):
        return np.asarray(stored).astype(np.int64)
    labels = read_labels(file, count * levels).reshape(levels, count)
    if (labels != labels[0]).any():
        raise ValueError(
            f"{str(file)!r} does not repeat itself {levels} times, so the arrays beside it do not have {levels} "
            "severities; say how many with levels=…"
        )
    return np.asarray(labels[0]).astype(np.int64)
