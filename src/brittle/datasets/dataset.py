"""A dataset: images that are read when they are asked for, with labels and stable sample ids."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL import Image as Pil

from brittle.arrays import Image
from brittle.datasets.files import Files
from brittle.datasets.folder import BrokenImage
from brittle.datasets.prepare import PREPARATIONS, prepared

Read = Callable[[int], Image]
Labels = NDArray[np.int64]


class Dataset:
    """Images with labels and sample ids.

    Attributes:
        name: what people call it.
        ids: a stable id for each sample, a relative path with forward slashes or an index.
        labels: the class index of each sample as int64, or None if nobody knows.
        classes: the class names in the order of the labels; empty if they are not known.
        class_subset: if not None, the model outputs that count: all others are masked before the best one is taken.
        class_map: if not None, the class of this dataset that each model output means, -1 for none of them.
        columns: more to know about each sample, such as the scale of a CNS-Bench image.
        notes: sentences on what was odd and could be read over, such as an empty class folder.
    """

    def __init__(
        self,
        name: str,
        read: Read,
        ids: Sequence[str | int],
        *,
        content: Callable[[], str],
        labels: ArrayLike | None = None,
        classes: Sequence[str] = (),
        class_subset: ArrayLike | None = None,
        class_map: ArrayLike | None = None,
        columns: Mapping[str, ArrayLike] | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        """Readers call this. `content` gives a digest of the pixels, or of what stands for them."""
        self.name, self.ids, self.classes, self.notes = name, tuple(ids), tuple(map(str, classes)), tuple(notes)
        if not self.ids:
            raise ValueError(f"the dataset {name!r} has no images")
        self.labels = None if labels is None else check_class_labels(labels, len(self.ids), self.classes, name)
        self.class_subset = None if class_subset is None else np.asarray(class_subset, np.int64)
        self.class_map = None if class_map is None else np.asarray(class_map, np.int64)
        self.columns: dict[str, NDArray[Any]] = {key: np.asarray(value) for key, value in (columns or {}).items()}
        for key, column in self.columns.items():
            if len(column) != len(self.ids):
                raise ValueError(f"the column {key!r} has {len(column)} values for {len(self.ids)} images")
        self._read, self._content = read, content

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        classes = "unlabelled" if self.labels is None else f"{len(self.classes) or 'unnamed'} classes"
        return f"<Dataset {self.name!r}: {len(self):,} images, {classes}>"

    def image(self, index: int) -> Image:
        """One image as H×W×3 uint8; one that cannot be read raises `BrokenImage`."""
        if not 0 <= index < len(self):
            raise IndexError(f"{self.name!r} has images 0 to {len(self) - 1}, there is no {index}")
        return self._read(index)

    def images(self) -> Iterator[Image]:
        """All images, one after the other."""
        return map(self.image, range(len(self)))

    def broken(self) -> dict[str | int, str]:
        """The ids that cannot be read, each with the reason. Reads every image."""
        reasons: dict[str | int, str] = {}
        for index, identity in enumerate(self.ids):
            try:
                self.image(index)
            except BrokenImage as error:
                reasons[identity] = str(error)
        return reasons

    def subset(self, indices: ArrayLike) -> Dataset:
        """The samples at these positions, in this order; ids, labels and class names stay what they were."""
        chosen = np.asarray(indices)
        if chosen.size == 0:
            raise ValueError(f"a subset of {self.name!r} needs at least one image")
        if chosen.ndim != 1 or not np.issubdtype(chosen.dtype, np.integer):
            raise TypeError(f"a subset is a row of whole numbers, got {chosen.dtype} of shape {chosen.shape}")
        if not (chosen.min() >= 0 and chosen.max() < len(self)):
            raise IndexError(f"{self.name!r} has images 0 to {len(self) - 1}, got {chosen.min()} to {chosen.max()}")
        return Dataset(
            self.name,
            _Chosen(self._read, chosen),
            [self.ids[i] for i in chosen],
            content=self._content,
            labels=None if self.labels is None else self.labels[chosen],
            classes=self.classes,
            class_subset=self.class_subset,
            class_map=self.class_map,
            columns={key: column[chosen] for key, column in self.columns.items()},
            notes=self.notes,
        )

    def prepared(self, how: str) -> Dataset:
        """The same samples, brought to the size that a benchmark wants: "imagenet" or "none", see `prepared`."""
        if how not in PREPARATIONS:
            raise ValueError(f"prepare must be one of {', '.join(PREPARATIONS)}, got {how!r}")
        if how == "none":
            return self
        whole = self.subset(np.arange(len(self)))
        whole._read, content = _Prepared(self._read, how), self._content
        whole._content = lambda: f"{content()} {how}"
        return whole

    @property
    def outputs(self) -> int | None:
        """How many outputs a model for this dataset has; None if that is not known."""
        if self.class_map is not None:
            return len(self.class_map)
        return len(self.classes) or None

    @cached_property
    def key(self) -> str:
        """A digest of pixels, ids, labels and classes: it changes when the data change. The name is no part of it.

        Files are known by name, size and time of change, arrays by their content.
        """
        return self._digest(self._content())

    @cached_property
    def lasting_key(self) -> str:
        """As `key`, but the same for a copy: files are known by name and size, and a few of them by their bytes."""
        read, those = self._read, np.arange(len(self))
        while isinstance(read, _Chosen):
            those = read.chosen[those]
            read = read.read
        return self._digest(read.lasting(those.tolist()) if isinstance(read, Files) else self._content())

    def _digest(self, content: str) -> str:
        seen = sha256(content.encode())
        for part in (self.ids, self.classes):
            seen.update(repr(part).encode("utf-8", "surrogateescape"))
        for array in (self.labels, self.class_subset, self.class_map):
            seen.update(b"-" if array is None else array.tobytes())
        return seen.hexdigest()[:16]


class _Prepared:
    """Prepares what another reader reads."""

    def __init__(self, read: Read, how: str) -> None:
        self.read, self.how = read, how

    def __call__(self, index: int) -> Image:
        return np.asarray(prepared(Pil.fromarray(self.read(index)), self.how), np.uint8)


class _Chosen:
    """Reads some of the samples of another reader."""

    def __init__(self, read: Read, chosen: NDArray[Any]) -> None:
        self.read, self.chosen = read, chosen

    def __call__(self, index: int) -> Image:
        return self.read(int(self.chosen[index]))


def no_labels(dataset: Dataset, why: str) -> ValueError:
    """What is wrong with images without labels, and how they get some."""
    return ValueError(
        f"the dataset {dataset.name!r} has no labels, {why}; a folder of images is labelled by a folder for each "
        f"class, such as {dataset.name}/dog/1.jpg and {dataset.name}/cat/2.jpg, and an array by a second one"
    )


def check_class_labels(labels: ArrayLike, count: int, classes: Sequence[str], name: str) -> Labels:
    """Labels as int64, one for each image and each the number of a class; else one clear sentence."""
    row = np.asarray(labels)
    if row.shape != (count,):
        raise ValueError(f"{name!r}: {count} images need {count} labels in one row, got shape {row.shape}")
    if not np.issubdtype(row.dtype, np.integer):
        raise TypeError(f"{name!r}: labels are class numbers from 0, got {row.dtype}; give integers")
    outside = (row < 0) | (row >= len(classes)) if classes else row < 0
    if outside.any():
        first = int(np.flatnonzero(outside)[0])
        allowed = f"0 to {len(classes) - 1} for {len(classes)} classes" if classes else "0 upwards"
        raise ValueError(
            f"{name!r}: {int(outside.sum())} labels are out of range, the first is {row[first]} at image {first}; "
            f"labels are {allowed}"
        )
    return row.astype(np.int64)
