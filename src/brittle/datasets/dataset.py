"""Images with labels and stable sample ids, in memory, in files or in an .npz or .npy file."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL import Image as Pil

from brittle._errors import BrittleError, BrittleTypeError
from brittle._html import html_block, html_image, html_title
from brittle._types import Image, printable
from brittle.datasets.classes import class_places
from brittle.datasets.images import (
    Size,
    UnreadableImage,
    automatic_preparation,
    image_size,
    preparation_text,
    prepared,
    read_image,
    short_side,
    sides_of,
)


class Rows:
    """Reads images from an array N×H×W×C; grey images become RGB."""

    def __init__(self, array: Image) -> None:
        self.array = array

    def __call__(self, index: int) -> Image:
        image = np.array(self.array[index])
        return image if image.shape[2] == 3 else np.repeat(image, 3, axis=2)

    def content(self) -> str:
        """A digest of shape and pixels."""
        return array_digest(self.array)


def array_digest(array: Image) -> str:
    """A digest of shape and bytes, read in blocks so that a memory-mapped array stays on disk."""
    digest = sha256(repr(array.shape).encode())
    for start in range(0, len(array), 1024):
        digest.update(array[start : start + 1024].tobytes())
    return digest.hexdigest()


DIGESTED_FILES = 8
"""Number of files, evenly spaced, whose bytes enter `Files.portable`; of the others only name and size do."""


class Files:
    """Reads the files of a folder; `crop` pixels are cut off on every side."""

    def __init__(self, folder: Path, names: Sequence[str], *, crop: int = 0) -> None:
        self.folder, self.names, self.crop = folder, tuple(names), crop

    def __call__(self, index: int) -> Image:
        try:
            image = read_image(self.folder / self.names[index])
        except OSError as error:  # deleted, or not readable
            raise UnreadableImage(error.strerror or str(error)) from error
        if not self.crop:
            return image
        if min(image.shape[:2]) <= 2 * self.crop:
            raise UnreadableImage(f"{image.shape[1]}×{image.shape[0]} px is too small for a frame of {self.crop} px")
        return image[self.crop : -self.crop, self.crop : -self.crop]

    def size(self, index: int) -> tuple[int, int] | None:
        """Width and height of a file, upright and without its frame, from its header; None if it cannot be read."""
        size = image_size(self.folder / self.names[index])
        return None if size is None else (size[0] - 2 * self.crop, size[1] - 2 * self.crop)

    def content(self) -> str:
        """A digest of names, sizes and modification times; no file is opened."""
        digest = sha256(str(self.crop).encode())
        for name in self.names:
            try:
                status = (self.folder / name).stat()
                digest.update(f"{name}\0{status.st_size}\0{status.st_mtime_ns}\0".encode("utf-8", "surrogateescape"))
            except OSError:
                digest.update(f"{name}\0gone\0".encode("utf-8", "surrogateescape"))
        return digest.hexdigest()

    def portable(self, indices: Sequence[int]) -> str:
        """A digest that stays the same for a copy of the files: names and sizes of all, and the bytes of a few.

        Modification times are not part of it. It misses most changes that keep the size of a file.
        """
        digest, folder = sha256(str(self.crop).encode()), os.fspath(self.folder)
        sampled = {number * len(indices) // DIGESTED_FILES for number in range(DIGESTED_FILES)}
        for number, index in enumerate(indices):
            name = self.names[index]
            try:
                status = os.stat(f"{folder}/{name}")  # noqa: PTH116 - millions of times
                sample = number in sampled and stat.S_ISREG(status.st_mode)
                size, content = str(status.st_size), digest_of(self.folder / name) if sample else ""
            except OSError:
                size, content = "gone", ""
            digest.update(f"{name}\0{size}\0{content}\0".encode("utf-8", "surrogateescape"))
        return digest.hexdigest()


def digest_of(path: Path) -> str:
    """A digest of a file's bytes."""
    return sha256(path.read_bytes()).hexdigest()


Read = Callable[[int], Image]
Labels = NDArray[np.int64]

SAMPLED_FILES, SAMPLED_IMAGES = 5000, 64
"""Number of files whose header is read for `Dataset.sizes`, and of images that are decoded where there are no files."""

SHOWN, SIDE = 8, 96
"""How many images, spread evenly, notebooks show of a dataset, and how high."""

Numbering = tuple[tuple[str, ...], Mapping[int, int]]
"""Another order of the classes: all their names, and the new number of each old number."""


class Dataset:
    """Images with labels and sample ids.

    >>> import brittle
    >>> data = brittle.load_dataset("demo")
    >>> data
    <Dataset 'demo': 1,000 images, 10 classes>
    >>> data.image(0).shape, data.classes[data.labels[0]]
    ((32, 32, 3), 'cat')

    Attributes:
        name: the name in results and messages.
        ids: a stable id for each sample, a relative path with forward slashes or an index.
        labels: the class index of each sample as int64, or None if unknown.
        classes: the class names in the order of the labels; empty if they are not known.
        class_subset: if not None, the model outputs that count: all others are masked before the argmax.
        class_map: if not None, the class of this dataset for each model output, -1 for none.
        columns: further values per sample, such as the scale of a CNS-Bench image.
        notes: warnings about the data, such as an empty class folder.
        preparation: how images are brought to one size, "none" if they are not; see `prepared`.
        other_numbering: how a model with another number of outputs numbers the classes, such as ImageNet's 1000.
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
        other_numbering: Numbering | None = None,
    ) -> None:
        """Called by readers. `content` gives a digest of the pixels, or of a substitute such as file sizes."""
        self.name, self.ids = printable(name), tuple(printable(i) if isinstance(i, str) else i for i in ids)
        self.classes, self.notes = tuple(printable(str(one)) for one in classes), tuple(map(printable, notes))
        if not self.ids:
            raise BrittleError(f"the dataset {name!r} has no images")
        self.labels = None if labels is None else check_class_labels(labels, len(self.ids), self.classes, name)
        self.class_subset = None if class_subset is None else np.asarray(class_subset, np.int64)
        self.class_map = None if class_map is None else np.asarray(class_map, np.int64)
        self.columns: dict[str, NDArray[Any]] = {key: np.asarray(value) for key, value in (columns or {}).items()}
        for key, column in self.columns.items():
            if len(column) != len(self.ids):
                raise BrittleError(f"the column {key!r} has {len(column)} values for {len(self.ids)} images")
        self._read, self._content = read, content
        self.preparation, self._preparation_given, self.other_numbering = "none", False, other_numbering

    def __len__(self) -> int:
        return len(self.ids)

    def __repr__(self) -> str:
        classes = "unlabelled" if self.labels is None else f"{len(self.classes) or 'unnamed'} classes"
        return f"<Dataset {self.name!r}: {len(self):,} images, {classes}>"

    def _repr_html_(self) -> str:
        shown = []
        for index in _evenly(np.arange(len(self)), SHOWN).tolist():
            with suppress(UnreadableImage):
                image = Pil.fromarray(self.image(index))
                image.thumbnail((4 * SIDE, SIDE))
                shown.append(html_image(np.asarray(image), self._class_name(index), side=SIDE))
        classes = "unlabelled" if self.labels is None else f"{len(self.classes) or 'unnamed'} classes"
        prepared = "" if self.preparation == "none" else f"prepared: {self.preparation}"
        title = html_title("Dataset", self.name, f"{len(self):,} images", classes, prepared)
        return html_block(title, *shown, note=" ".join(self.notes))

    def _class_name(self, index: int) -> str:
        """What a sample is called below its picture: its class, its label, or its id."""
        if self.labels is None:
            return str(self.ids[index])
        label = int(self.labels[index])
        return self.classes[label] if label < len(self.classes) else f"label {label}"

    def image(self, index: int) -> Image:
        """One image as H×W×3 uint8; raises `UnreadableImage` if it cannot be read."""
        if not 0 <= index < len(self):
            raise IndexError(f"{self.name!r} has images 0 to {len(self) - 1}, there is no {index}")
        image = self._read(index)
        return image if self.preparation == "none" else _prepared(image, self.preparation)

    @property
    def crop(self) -> int | None:
        """The side of the central square that a preparation cuts out; None if images stay as they are."""
        sides = sides_of(self.preparation)
        return None if sides is None else sides[1]

    def uncropped(self, index: int) -> Image:
        """One image, scaled as the preparation says but not cropped: what is rotated or moved before the crop."""
        sides = sides_of(self.preparation)
        image = self.prepared("none").image(index)
        return image if sides is None else np.asarray(short_side(Pil.fromarray(image), sides[0]), np.uint8)

    def images(self) -> Iterator[Image]:
        """All images, one after the other."""
        return map(self.image, range(len(self)))

    def unreadable(self) -> dict[str | int, str]:
        """The ids of unreadable images, each with the reason. Reads every image."""
        reasons: dict[str | int, str] = {}
        for index, identity in enumerate(self.ids):
            try:
                self.image(index)
            except UnreadableImage as error:
                reasons[identity] = str(error)
        return reasons

    def subset(self, indices: ArrayLike) -> Dataset:
        """The samples at these positions, in this order; ids, labels and class names are unchanged."""
        chosen = np.asarray(indices)
        if chosen.size == 0:
            raise BrittleError(f"a subset of {self.name!r} needs at least one image")
        if chosen.ndim != 1 or not np.issubdtype(chosen.dtype, np.integer):
            raise BrittleTypeError(f"a subset is a row of whole numbers, got {chosen.dtype} of shape {chosen.shape}")
        if not (chosen.min() >= 0 and chosen.max() < len(self)):
            raise IndexError(f"{self.name!r} has images 0 to {len(self) - 1}, got {chosen.min()} to {chosen.max()}")
        return self._copy(
            _SubsetReader(self._read, chosen),
            [self.ids[i] for i in chosen],
            labels=None if self.labels is None else self.labels[chosen],
            columns={key: column[chosen] for key, column in self.columns.items()},
        )

    def limited(self, count: int | None) -> Dataset:
        """At most `count` samples, evenly spaced over the data, so that every class is present; None keeps all."""
        if count is None:
            return self
        if count < 1:
            raise BrittleError(f"a limit is at least one image, got {count}")
        count = min(count, len(self))
        return self.subset(np.arange(count) * len(self) // count)

    def prepared(self, how: str) -> Dataset:
        """The same samples at one size: "imagenet" (short side 256, central 224), "342,299", "224x224" or "none"."""
        sides_of(how)
        if self._preparation_given and how == self.preparation:
            return self
        dataset = self._copy()
        dataset.preparation, dataset._preparation_given = how, True
        return dataset

    def prepared_for(self, square: int | None = None) -> Dataset:
        """The same samples, prepared as `automatic_preparation` decides, unless `prepared` was called before.

        `square` is the side of the central square that a model sees, if known.
        """
        if self._preparation_given or (len(self.sizes) == 1 and not isinstance(self._source()[0], Files)):
            return self  # an array already has one size
        how = automatic_preparation(self.sizes, square)
        if how == self.preparation:
            return self
        dataset = self._copy()
        dataset.preparation = how
        return dataset

    @property
    def preparation_text(self) -> str | None:
        """One sentence on an automatic preparation of the images; None if there was none."""
        if self._preparation_given or self.preparation == "none":
            return None
        widths, heights = zip(*self.sizes, strict=True)
        size_range = f"from {min(widths)}×{min(heights)} to {max(widths)}×{max(heights)} px"
        size = f"{widths[0]}×{heights[0]} px" if len(self.sizes) == 1 else f"different sizes ({size_range})"
        return f"images of {size} are brought to one size: {preparation_text(self.preparation)}"

    @cached_property
    def sizes(self) -> frozenset[Size]:
        """The widths and heights of the images before they are prepared; of at most 5,000 files.

        Sizes of files are read from their headers. Of images that other libraries read, 64 are decoded.
        """
        read, indices = self._source()
        if isinstance(read, Files):
            return frozenset(filter(None, map(read.size, _evenly(indices, SAMPLED_FILES))))
        sizes = set()
        for index in _evenly(np.arange(len(self)), SAMPLED_IMAGES):
            try:
                height, width = self._read(int(index)).shape[:2]
            except UnreadableImage:
                continue
            sizes.add((width, height))
        return frozenset(sizes)

    @property
    def in_memory(self) -> bool:
        """Whether the pixels are an array in memory, and not files that are decoded or mapped."""
        read, _ = self._source()
        return isinstance(read, Rows) and not isinstance(read.array, np.memmap)

    def with_classes(self, names: Sequence[str]) -> Dataset:
        """The same samples with the classes in the order of these names: the order of a model's outputs.

        Every class that has images must be among them. WordNet ids and names of ImageNet classes match each other.
        Without class names, labels are indices into `names`.
        """
        classes = tuple(map(str, names))
        if self.labels is None:
            raise BrittleError(f"the dataset {self.name!r} has no labels, so there are no classes to put in order")
        if not self.classes:
            return self._copy(classes=classes)
        present = sorted(set(self.labels.tolist()))
        positions = class_places([self.classes[number] for number in present], classes, self.name)
        return self._renumbered(classes, dict(zip(present, positions, strict=True)))

    def for_outputs(self, outputs: int) -> Dataset:
        """The same samples, with labels for a model with this number of outputs, if such a numbering is known."""
        numbering = self.other_numbering
        if numbering is None or len(numbering[0]) != outputs or outputs == len(self.classes):
            return self
        return self._renumbered(*numbering)

    def present_classes(self) -> Dataset:
        """The same samples, with just the classes that have a folder where labels are ImageNet's 1000."""
        numbering = self.other_numbering
        if numbering is None or len(numbering[0]) >= len(self.classes):
            return self
        return self._renumbered(*numbering)

    def _renumbered(self, classes: Sequence[str], number: Mapping[int, int]) -> Dataset:
        assert self.labels is not None
        labels = np.array([number[label] for label in self.labels.tolist()], np.int64)
        return self._copy(labels=labels, classes=classes, class_subset=None, class_map=None, other_numbering=None)

    def _copy(self, read: Read | None = None, ids: Sequence[str | int] | None = None, **replaced: Any) -> Dataset:
        """This dataset with some parts replaced."""
        parts: dict[str, Any] = {
            "labels": self.labels,
            "classes": self.classes,
            "class_subset": self.class_subset,
            "class_map": self.class_map,
            "columns": self.columns,
            "notes": self.notes,
            "other_numbering": self.other_numbering,
        }
        dataset = Dataset(
            self.name, read or self._read, self.ids if ids is None else ids, content=self._content, **parts | replaced
        )
        dataset.preparation, dataset._preparation_given = self.preparation, self._preparation_given
        if read is None and "sizes" in self.__dict__:
            dataset.sizes = self.sizes
        return dataset

    @property
    def outputs(self) -> int | None:
        """The number of outputs of a model for this dataset; None if unknown."""
        if self.class_map is not None:
            return len(self.class_map)
        return len(self.classes) or None

    @cached_property
    def key(self) -> str:
        """A digest of pixels, ids, labels and classes: it changes when the data change. The name is not part of it.

        Files are identified by name, size and modification time, arrays by their content.
        """
        return self._digest(self._content())

    @cached_property
    def portable_key(self) -> str:
        """As `key`, but the same for a copy: files count by name and size, and a few of them by their bytes."""
        read, indices = self._source()
        return self._digest(read.portable(indices.tolist()) if isinstance(read, Files) else self._content())

    def _source(self) -> tuple[Read, NDArray[Any]]:
        """The underlying reader, and the indices of these samples in it."""
        read, indices = self._read, np.arange(len(self))
        while isinstance(read, _SubsetReader):
            indices, read = read.indices[indices], read.read
        return read, indices

    def _digest(self, content: str) -> str:
        digest = sha256((content if self.preparation == "none" else f"{content} {self.preparation}").encode())
        for part in (self.ids, self.classes):
            digest.update(repr(part).encode("utf-8", "surrogateescape"))
        for array in (self.labels, self.class_subset, self.class_map):
            digest.update(b"-" if array is None else array.tobytes())
        return digest.hexdigest()[:16]


def _prepared(image: Image, how: str) -> Image:
    return np.asarray(prepared(Pil.fromarray(image), how), np.uint8)


def _evenly(numbers: NDArray[Any], limit: int) -> NDArray[Any]:
    """At most `limit` of the numbers, evenly spaced."""
    count = min(limit, len(numbers))
    return numbers[np.arange(count) * len(numbers) // count]


class _SubsetReader:
    """Reads some of the samples of another reader."""

    def __init__(self, read: Read, indices: NDArray[Any]) -> None:
        self.read, self.indices = read, indices

    def __call__(self, index: int) -> Image:
        return self.read(int(self.indices[index]))


def no_labels(dataset: Dataset, why: str) -> BrittleError:
    """The error for a dataset without labels, with how to label it."""
    return BrittleError(
        f"the dataset {dataset.name!r} has no labels, {why}; a folder of images is labelled by a folder for each "
        f"class, such as {dataset.name}/dog/1.jpg and {dataset.name}/cat/2.jpg, and "
        "arrays by a second one, in an .npz file called labels"
    )


LARGEST_LABEL = 2**31
"""Labels are stored in 32 bits."""


def check_class_labels(labels: ArrayLike, count: int, classes: Sequence[str], name: str) -> Labels:
    """Labels as int64, one class number for each image; raises otherwise."""
    array = np.asarray(labels)
    if array.shape != (count,):
        raise BrittleError(f"{name!r}: {count} images need {count} labels in one row, got shape {array.shape}")
    if not np.issubdtype(array.dtype, np.integer):
        raise BrittleTypeError(f"{name!r}: labels are class numbers from 0, got {array.dtype}; give integers")
    outside = (array < 0) | (array >= (len(classes) or LARGEST_LABEL))
    if outside.any():
        first = int(np.flatnonzero(outside)[0])
        allowed = f"0 to {len(classes) - 1} for {len(classes)} classes" if classes else f"0 to {LARGEST_LABEL - 1}"
        raise BrittleError(
            f"{name!r}: {int(outside.sum())} labels are out of range, the first is {array[first]} at image {first}; "
            f"labels are {allowed}"
        )
    return array.astype(np.int64)


SOURCES: dict[str, Callable[..., Dataset]] = {}
"""The reader of each scheme: `SOURCES["cifar10"]("data")` for the text cifar10:data."""

Reader = TypeVar("Reader", bound=Callable[..., Dataset])


def dataset_source(scheme: str) -> Callable[[Reader], Reader]:
    """Register a function as the reader of texts such as scheme:PATH; it is called with the path.

    Its keyword-only arguments are the options of `load_dataset`, such as `train`. `load_dataset`, `evaluate` and the
    command line find it once its module is imported; those of this package always are.
    """
    if not scheme or ":" in scheme or len(scheme) == 1:  # one letter is a drive
        raise BrittleError(f"a scheme is a word of two letters or more without a colon, got {scheme!r}")

    def register(reader: Reader) -> Reader:
        registered = SOURCES.get(scheme)
        if registered is not None and registered.__module__ != reader.__module__:
            raise BrittleError(f"the dataset scheme {scheme!r} is already registered by {registered.__module__}")
        SOURCES[scheme] = reader
        return reader

    return register
