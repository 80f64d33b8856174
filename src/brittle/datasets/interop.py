"""Datasets of other libraries, recognised by their interface: neither torch nor Hugging Face is imported."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brittle._errors import BrittleError, BrittleTypeError
from brittle._types import Image
from brittle.datasets.dataset import Dataset
from brittle.datasets.images import any_image


class _SampleReader:
    """Reads single images of a dataset; raises if the label of a sample has changed since the labels were read."""

    def __init__(self, dataset: Any, image: str | int, label: str | int | None, labels: NDArray[Any] | None) -> None:
        self.dataset, self.image, self.label, self.labels = dataset, image, label, labels

    def __call__(self, index: int) -> Image:
        sample = self.dataset[index]
        if self.labels is not None and self.label is not None and int(sample[self.label]) != self.labels[index]:
            raise BrittleError(
                f"sample {index} has the label {int(sample[self.label])} and had {self.labels[index]} before; "
                "give a dataset with a fixed order"
            )
        return any_image(sample if self.image == -1 else sample[self.image])

    def content(self) -> str:
        """A digest of all pixels; reads every image once."""
        digest = sha256()
        for index in range(len(self.dataset)):
            image = self(index)
            digest.update(repr(image.shape).encode() + image.tobytes())
        return digest.hexdigest()


def from_torch(
    dataset: Any, *, classes: Sequence[str] | None = None, name: str | None = None, key: str | None = None
) -> Dataset:
    """A torch `Dataset` of (image, label) pairs, or of images alone; the sample ids are the indices.

    Its transform may crop and resize, but must neither normalise nor be random. Labels come from `targets` if the
    dataset has them, else from reading every sample once. The digest of the data reads every image, unless `key`
    (a name and version) identifies them.
    """
    if not hasattr(dataset, "__len__") or not hasattr(dataset, "__getitem__"):
        raise BrittleTypeError(
            f"{type(dataset).__name__} has no length or no access by index; give a map-style dataset"
        )
    if len(dataset) == 0:
        raise BrittleError("the torch dataset is empty")
    first = dataset[0]
    paired = isinstance(first, tuple | list) and len(first) >= 2
    labels = _targets(dataset, first) if paired else None
    image = 0 if isinstance(first, tuple | list) else -1
    reader = _SampleReader(dataset, image, 1 if paired else None, labels)
    _check_deterministic(reader)
    names = classes if classes is not None else getattr(dataset, "classes", None) or ()
    return Dataset(
        name or type(dataset).__name__,
        reader,
        range(len(dataset)),
        content=partial(str, key) if key else reader.content,
        labels=labels,
        classes=names,
    )


def from_hugging_face(
    dataset: Any,
    *,
    image: str | None = None,
    label: str | None = None,
    name: str | None = None,
    key: str | None = None,
) -> Dataset:
    """One split of a Hugging Face dataset; the sample ids are the indices.

    The default columns are image or img, and label, labels or fine_label. Labels that are all -1, as in hidden test
    sets, count as missing. The data are identified by the fingerprint of the split, or by `key`.
    """
    columns = getattr(dataset, "column_names", None)
    if isinstance(columns, dict):
        raise BrittleTypeError(f"this is a dictionary of splits; give one of them: {', '.join(columns)}")
    if columns is None or not hasattr(dataset, "__len__"):
        raise BrittleTypeError(f"{type(dataset).__name__} is not a Hugging Face dataset with a length and columns")
    image = _column(columns, image, ("image", "img"), "image")
    if image is None:
        raise BrittleError(f"there is no image column; name one of the columns with image=…: {', '.join(columns)}")
    label = _column(columns, label, ("label", "labels", "fine_label"), "label")
    labels = None if label is None else np.asarray(list(dataset[label]))
    if labels is not None and len(labels) and (labels == -1).all():
        label, labels = None, None
    reader = _SampleReader(dataset, image, label, labels)
    fingerprint = key or getattr(dataset, "_fingerprint", None)
    feature = (getattr(dataset, "features", None) or {}).get(label)
    return Dataset(
        name or str(getattr(getattr(dataset, "info", None), "dataset_name", None) or type(dataset).__name__),
        reader,
        range(len(dataset)),
        content=partial(str, fingerprint) if fingerprint else reader.content,
        labels=labels,
        classes=getattr(feature, "names", None) or (),
    )


def _targets(dataset: Any, first: Any) -> NDArray[np.int64]:
    targets: Any = getattr(dataset, "targets", ())
    untransformed = targets is not None and getattr(dataset, "target_transform", None) is None
    if untransformed and len(targets) == len(dataset) and int(targets[0]) == int(first[1]):
        return np.asarray([int(target) for target in targets], np.int64)
    return np.asarray([int(dataset[index][1]) for index in range(len(dataset))], np.int64)


def _check_deterministic(read: Callable[[int], Image]) -> None:
    if not np.array_equal(read(0), read(0)):
        raise BrittleError(
            "the dataset gives a different image 0 on each read; remove the random parts of its transform"
        )


def _column(columns: Sequence[str], requested: str | None, defaults: Sequence[str], role: str) -> str | None:
    if requested is not None and requested not in columns:
        raise BrittleError(f"there is no column {requested!r} for the {role}; there are: {', '.join(columns)}")
    return requested if requested is not None else next((name for name in defaults if name in columns), None)
