"""Datasets from arrays, and from .npy and .npz files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from brittle.datasets.array_file import check_images, read_array, read_labels
from brittle.datasets.dataset import Dataset
from brittle.datasets.rows import MappedRows, Rows


def arrays(
    images: Any, labels: ArrayLike | None = None, classes: Sequence[str] = (), *, name: str = "arrays"
) -> Dataset:
    """Images N×H×W×3 (or ×1, or N×H×W: grey) uint8 with their labels; the sample ids are the indices."""
    if getattr(images, "ndim", 0) == 3:
        images = images[..., None]
    rows = Rows(check_images(images))
    return Dataset(name, rows, range(len(rows.array)), content=rows.content, labels=labels, classes=classes)


def array_file(path: str | Path, *, labels: str | Path | None = None, classes: Sequence[str] = ()) -> Dataset:
    """The images of an .npy file, which stays on disk, or of an .npz file with `images`, `labels` and `classes`.

    The labels of an .npy file are another file: `labels`, or else none.
    """
    path = Path(path)
    images, stored = read_array(path)
    if labels is not None:
        stored = read_labels(labels, len(images))
    if path.suffix == ".npz":
        return arrays(images, stored, classes or _stored_classes(path), name=path.stem)
    rows = MappedRows(path, 0, len(images))
    return Dataset(path.stem, rows, range(len(images)), content=rows.content, labels=stored, classes=classes)


def _stored_classes(path: Path) -> list[str]:
    with np.load(path, allow_pickle=False) as stored:
        return [str(name) for name in stored["classes"]] if "classes" in stored.files else []
