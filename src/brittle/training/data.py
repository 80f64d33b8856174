"""Where training images come from: arrays, files that are decoded once, or files that are decoded in every epoch."""

from __future__ import annotations

import errno
import json
import math
import os
import shutil
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brittle._errors import BrittleError, SkippedImages
from brittle._io import atomic_rename, atomic_write, is_complete, locked
from brittle._parallel import check_threads, cores, prefetch
from brittle._types import Image, Progress
from brittle.corruptions import Draws
from brittle.datasets import Dataset, UnreadableImage
from brittle.training.config import TrainingConfig

Augment = Callable[[Image, Draws], NDArray[Any]]
"""From an image and its draws to an image of the same shape, uint8, or float in [0, 1] (bundled ones: on 0..255)."""

IN_MEMORY = 2**29
"""Decoded images of at most this many bytes are kept in memory; more go to a file."""

BLOCK = 256
"""Images decoded between two notes of progress: what a killed process has to decode again."""


def epoch_order(count: int, epoch: int, seed: int) -> NDArray[np.int64]:
    """A random order of so many samples, for an epoch."""
    return np.random.Generator(np.random.Philox(key=[seed, epoch])).permutation(count)


class ImageSource(ABC):
    """Training images by their number: `read` gives one as H×W×3 uint8, or raises `UnreadableImage`.

    `unreadable` has the reason for each number that could not be read so far.
    """

    def __init__(self) -> None:
        self.unreadable: dict[int, str] = {}

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def read(self, index: int) -> Image:
        """One image."""

    @abstractmethod
    def name(self, index: int) -> str:
        """What messages call an image."""

    @cached_property
    def shape(self) -> tuple[int, int, int]:
        """Height, width and channels of the first image that can be read."""
        for index in range(len(self)):
            try:
                height, width, channels = self.read(index).shape
            except UnreadableImage:
                continue
            return height, width, channels
        raise BrittleError(f"none of the {len(self)} training images can be read")

    @property
    def per_epoch(self) -> int:
        """The number of images of an epoch."""
        return len(self)

    def order(self, epoch: int, seed: int) -> NDArray[np.int64]:
        """The numbers of the images of an epoch in random order."""
        return epoch_order(len(self), epoch, seed)

    def take(self, indices: NDArray[np.integer[Any]]) -> ImageSource:
        """The images at these places, in this order; none is read."""
        return _Taken(self, indices)

    def warn(self) -> None:
        """Warn of the images that could not be read, if there are any."""
        if self.unreadable:
            listed = [f"{self.name(index)} ({reason})" for index, reason in sorted(self.unreadable.items())[:3]]
            more = f" and {len(self.unreadable) - 3} more" if len(self.unreadable) > 3 else ""
            warnings.warn(
                SkippedImages(
                    f"{len(self.unreadable)} of {len(self):,} training images could not be read and were left out: "
                    f"{', '.join(listed)}{more}"
                ),
                stacklevel=3,
            )


class ArrayImages(ImageSource):
    """Images of one array N×H×W×3."""

    def __init__(self, array: Image) -> None:
        super().__init__()
        self.array = array

    def __len__(self) -> int:
        return len(self.array)

    def read(self, index: int) -> Image:
        """A view of the array."""
        return np.asarray(self.array[index])

    def name(self, index: int) -> str:
        """The number."""
        return f"image {index}"


class DatasetImages(ImageSource):
    """Images of a dataset, decoded whenever they are read."""

    def __init__(self, dataset: Dataset) -> None:
        super().__init__()
        self.dataset = dataset

    def __len__(self) -> int:
        return len(self.dataset)

    def read(self, index: int) -> Image:
        """The image, decoded."""
        return self.dataset.image(index)

    def name(self, index: int) -> str:
        """The sample id."""
        return str(self.dataset.ids[index])


class StoredImages(ImageSource):
    """Decoded images of one size, in memory or in an .npy file, of which each image is read when it is needed.

    The file is not mapped, since mapped pages count as memory of the process until the system takes them back. A copy
    in another process opens the file again, so that a cluster of machines needs a shared folder.
    """

    def __init__(self, pixels: Image | Path, unreadable: Mapping[int, str], names: tuple[str | int, ...]) -> None:
        super().__init__()
        self.unreadable, self.names, self._pixels = dict(unreadable), names, pixels

    @property
    def file(self) -> Path | None:
        """The file of the pixels; None if they are in memory."""
        return self._pixels if isinstance(self._pixels, Path) else None

    @cached_property
    def _rows(self) -> _FileRows:
        assert isinstance(self._pixels, Path)
        return _FileRows(self._pixels)

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in self.__dict__.items() if key != "_rows"}

    def __len__(self) -> int:
        return len(self.names)

    def read(self, index: int) -> Image:
        """One image; one that could not be decoded raises again."""
        if index in self.unreadable:
            raise UnreadableImage(self.unreadable[index])
        return self._rows.read(index) if isinstance(self._pixels, Path) else self._pixels[index]

    def name(self, index: int) -> str:
        """The sample id."""
        return str(self.names[index])


class _FileRows:
    """Reads rows of an .npy file of uint8, from any thread."""

    def __init__(self, path: Path) -> None:
        if not is_complete(path):
            raise BrittleError(
                f"there are no decoded images {str(path)!r}; workers on other machines need a shared folder"
            )
        self.file, self.lock = path.open("rb", buffering=0), Lock()
        np.lib.format.read_magic(self.file)
        shape, _, _ = np.lib.format.read_array_header_1_0(self.file)
        self.start, self.shape, self.size = self.file.tell(), shape[1:], math.prod(shape[1:])

    def read(self, index: int) -> Image:
        place = self.start + index * self.size
        if hasattr(os, "pread"):
            content = os.pread(self.file.fileno(), self.size, place)
        else:  # Windows
            with self.lock:
                self.file.seek(place)
                content = self.file.read(self.size)
        return np.frombuffer(content, np.uint8).reshape(self.shape)

    def __del__(self) -> None:
        if hasattr(self, "file"):
            self.file.close()


class _Taken(ImageSource):
    """Some of the images of another source."""

    def __init__(self, source: ImageSource, indices: NDArray[np.integer[Any]]) -> None:
        super().__init__()
        self.source, self.indices = source, indices

    def __len__(self) -> int:
        return len(self.indices)

    def read(self, index: int) -> Image:
        return self.source.read(int(self.indices[index]))

    def name(self, index: int) -> str:
        return self.source.name(int(self.indices[index]))


Images = Image | ImageSource
"""What a network is trained on: an array N×H×W×3 of uint8, or a source."""


def as_source(images: Images) -> ImageSource:
    """An array as a source; a source as it is."""
    if isinstance(images, ImageSource):
        return images
    if images.ndim != 4 or images.shape[-1] != 3 or images.dtype != np.uint8:
        raise BrittleError(f"training images are N×H×W×3 of uint8, got shape {images.shape} of {images.dtype}")
    return ArrayImages(images)


def training_images(
    dataset: Dataset,
    config: TrainingConfig,
    cache: str | Path | None = None,
    *,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Images:
    """The images of a dataset for `train`: an array, or a source that reads files.

    An array stays one. Files are decoded once: into memory if they need at most 512 MB, else into a file below the
    folder `cache`, which the next training on the same data reuses; without a folder they are decoded in every epoch.
    With crop_kind="resized" files are always decoded in every epoch and at their full size, since each crop is another
    part of the photograph; the preparation of the dataset is left out then.
    """
    if dataset.in_memory:
        return np.stack(list(dataset.images()))
    if config.crop_kind == "resized":
        return DatasetImages(dataset.prepared("none"))
    plain = DatasetImages(dataset)
    if len(dataset) * math.prod(plain.shape) <= IN_MEMORY:
        return _decoded(plain, workers, progress)
    return plain if cache is None else decode_once(dataset, cache, workers=workers, progress=progress)


def cache_folder(cache: str | Path | None, default: Path) -> Path | None:
    """Where decoded images go: by default to `default`, and nowhere if `cache` is "none"."""
    return default if cache is None else None if str(cache) == "none" else Path(cache)


def _decoded(source: DatasetImages, workers: int | None, progress: Progress | None) -> StoredImages:
    """All images, in memory."""
    pixels = np.zeros((len(source), *source.shape), np.uint8)
    unreadable: dict[int, str] = {}
    for index, image in enumerate(_read_in_order(source, range(len(source)), workers)):
        if isinstance(image, str):
            unreadable[index] = image
        else:
            pixels[index] = image
        if progress is not None:
            progress("decoding images", index + 1, len(source))
    return StoredImages(pixels, unreadable, tuple(source.dataset.ids))


def _read_in_order(source: DatasetImages, indices: range, workers: int | None) -> Iterator[Image | str]:
    """Each image, or the reason why it cannot be read."""

    def read(index: int) -> Image | str:
        try:
            image = source.read(index)
        except UnreadableImage as error:
            return str(error)
        check_shape(image, source.shape, source.name(index))
        return image

    check_threads(workers)
    return prefetch(read, indices, workers or cores())


def check_shape(image: NDArray[Any], shape: tuple[int, ...], name: str) -> None:
    """Raise if an image has another size than those before it."""
    if image.shape != shape:
        raise BrittleError(
            f"{name} has shape {image.shape} and the others {shape}; a network is trained on batches, so bring all "
            "images to one size: `prepare='imagenet'`, or `prepare='224x224'`"
        )


@dataclass
class _Manifest:
    """How much of a cache is written."""

    data: str
    key: str
    preparation: str
    shape: list[int]
    done: int
    unreadable: dict[str, str]


def decode_once(
    dataset: Dataset, folder: str | Path, *, workers: int | None = None, progress: Progress | None = None
) -> StoredImages:
    """The images of a dataset, decoded into one .npy file.

    It is written to `folder`/<key of the data and its preparation>, block by block with a manifest.json, so that a
    process that was killed is resumed by the next; of processes that start together one decodes and the others wait.
    An image that cannot be read is noted in the manifest, and left out of batches.
    """
    source = DatasetImages(dataset)
    place = Path(folder) / dataset.key
    pixels, names = place / "images.npy", tuple(dataset.ids)
    with locked(place):
        about = _read_manifest(place / "manifest.json", dataset, source)
        if not (is_complete(pixels) and about.done == len(dataset)):
            try:
                _write_blocks(source, place, about, workers, progress)
            except OSError as error:
                if error.errno not in (errno.ENOSPC, errno.EDQUOT):
                    raise
                raise _no_room(place, source) from error
    return StoredImages(pixels, {int(index): reason for index, reason in about.unreadable.items()}, names)


def _read_manifest(path: Path, dataset: Dataset, source: DatasetImages) -> _Manifest:
    if is_complete(path):
        return _Manifest(**json.loads(path.read_text(encoding="utf-8")))
    return _Manifest(dataset.name, dataset.key, dataset.preparation, [len(source), *source.shape], 0, {})


def _write_blocks(
    source: DatasetImages, place: Path, about: _Manifest, workers: int | None, progress: Progress | None
) -> None:
    unfinished = place / "unfinished.npy"
    size = math.prod(source.shape)
    if not unfinished.is_file():
        about.done, about.unreadable = 0, {}
    with unfinished.open("r+b" if about.done else "wb") as file:
        header = {"descr": "|u1", "fortran_order": False, "shape": tuple(about.shape)}
        np.lib.format.write_array_header_1_0(file, header)
        file.flush()
        start = file.tell()
        written = (os.fstat(file.fileno()).st_size - start) // size
        about.done = min(about.done, written - written % BLOCK)
        about.unreadable = {index: why for index, why in about.unreadable.items() if int(index) < about.done}
        file.truncate(start + about.done * size)
        file.seek(start + about.done * size)
        if shutil.disk_usage(place).free < (len(source) - about.done) * size:
            raise _no_room(place, source)
        for index, image in enumerate(
            _read_in_order(source, range(about.done, len(source)), workers), start=about.done
        ):
            if isinstance(image, str):
                about.unreadable[str(index)] = image
            file.write(bytes(size) if isinstance(image, str) else np.ascontiguousarray(image).data)
            if progress is not None:
                progress("decoding images", index + 1, len(source))
            if (index + 1) % BLOCK == 0 or index + 1 == len(source):
                file.flush()
                os.fsync(file.fileno())
                about.done = index + 1
                with atomic_write(place / "manifest.json") as part:
                    part.write_text(json.dumps(about.__dict__), encoding="utf-8")
    atomic_rename(unfinished, place / "images.npy")


def _no_room(place: Path, source: DatasetImages) -> BrittleError:
    needed, free = len(source) * math.prod(source.shape) / 1e9, shutil.disk_usage(place).free / 1e9
    height, width, _ = source.shape
    return BrittleError(
        f"{len(source):,} decoded images of {width}×{height} need {needed:.1f} GB, and {str(place.parent)!r} has "
        f"{free:.1f} GB left; name a folder on another disk by `cache`, decode in every epoch by `cache='none'`, "
        "or take fewer images"
    )


MEASURED = 2000
"""Images, evenly spaced, that a mean and a standard deviation are measured on."""


def channel_statistics(images: Images) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
    """Mean and standard deviation of each channel on the scale [0, 1], over the pixels of at most 2,000 images."""
    source = as_source(images)
    count = min(MEASURED, len(source))
    total, squares, pixels = np.zeros(3), np.zeros(3), 0
    for index in (np.arange(count) * len(source) // count).tolist():
        try:
            values = source.read(index).reshape(-1, 3).astype(np.float64) / 255
        except UnreadableImage:
            continue
        total, squares, pixels = total + values.sum(0), squares + (values**2).sum(0), pixels + len(values)
    if not pixels:
        raise BrittleError(f"none of {count} training images can be read")
    mean = total / pixels
    std = np.sqrt(np.maximum(squares / pixels - mean**2, 0))
    if not std.min() > 0:
        raise BrittleError("a channel of the training images has one value everywhere; give mean and std instead")
    (m0, m1, m2), (s0, s1, s2) = (tuple(round(float(number), 6) for number in numbers) for numbers in (mean, std))
    return (m0, m1, m2), (s0, s1, s2)
