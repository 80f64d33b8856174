"""How a transform deep inside a pipeline learns which sample it sees, and in which epoch."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from multiprocessing.context import get_spawning_popen
from multiprocessing.sharedctypes import RawValue
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from brittle._errors import BrittleError, BrittleTypeError
from brittle._parallel import check_threads, thread_map
from brittle.corruptions import Sample, batch_ids, check_sample

_current: ContextVar[tuple[Sample, int | None] | None] = ContextVar("brittle_sample", default=None)
"""The id of the sample that is being read, and its dataset's epoch if that was set."""

UNSET = -1


class Epoch:
    """A number that data-loader workers share, so that persistent ones see it change; unset at first."""

    def __init__(self, value: int = UNSET) -> None:
        self._shared = RawValue(ctypes.c_int64, value)

    @property
    def value(self) -> int | None:
        """The epoch; None if it was not set."""
        value = int(self._shared.value)
        return None if value == UNSET else value

    def set(self, epoch: int) -> None:
        """Set it for this process and all workers that it started."""
        if isinstance(epoch, bool) or not isinstance(epoch, int | np.integer) or epoch < 0:
            raise BrittleError(f"an epoch is a whole number from 0, got {epoch!r}")
        self._shared.value = int(epoch)

    def __deepcopy__(self, _: dict[int, Any]) -> Epoch:
        """Copies that a pipeline makes of its transforms keep up with the original."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """To a worker that is being started goes the shared memory; into a file goes the number."""
        if get_spawning_popen() is None:
            return Epoch, (int(self._shared.value),)
        return _attached, (self._shared,)


def _attached(shared: Any) -> Epoch:
    epoch = Epoch.__new__(Epoch)
    epoch._shared = shared
    return epoch


class Indexed:
    """A map-style dataset that tells the transforms inside it the index of the sample they see.

    Wrap the dataset last, and give it to the data loader. Every adapter of `brittle.transforms` that runs while a
    sample is read is then addressed by that sample's index, or by its entry of `ids`, whatever worker reads it.
    All other attributes are the dataset's.

    >>> import brittle
    >>> photos = brittle.transforms.Indexed(["cat", "dog"], ids=["cat.jpg", "dog.jpg"])
    >>> photos[1], len(photos)
    ('dog', 2)

    Args:
        dataset: anything with a length and access by index.
        ids: the sample ids, such as file names, which unlike indices survive re-ordering.
        threads: how many threads read the samples of a batch. Decoding and corrupting release the GIL, and threads
            need no copy through shared memory: for loaders with `num_workers=0` whose dataset is safe to read so.
    """

    def __init__(self, dataset: Any, ids: Sequence[Sample] | None = None, *, threads: int = 1) -> None:
        if not hasattr(dataset, "__len__") or not hasattr(dataset, "__getitem__"):
            raise BrittleTypeError(
                f"{type(dataset).__name__} has no length or no access by index; Indexed takes a map-style dataset"
            )
        check_threads(threads)
        self.dataset = dataset
        self.threads = threads
        self.ids = batch_ids(ids, len(dataset))
        self._epoch = Epoch()

    def set_epoch(self, epoch: int) -> None:
        """Draw anew: call it before each pass over the data, as that of torch's DistributedSampler."""
        self._epoch.set(epoch)

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int) -> Any:
        if not hasattr(index, "__index__"):
            raise BrittleTypeError(f"Indexed is read by whole numbers, one sample at a time; got {index!r}")
        token = _current.set((self.ids[index], self._epoch.value))
        try:
            return self.dataset[index]
        finally:
            _current.reset(token)

    def __getitems__(self, indices: Sequence[int]) -> list[Any]:
        """The samples of a batch, each read alone; a torch data loader asks for them together."""
        return thread_map(lambda place: self[indices[place]], len(indices), self.threads)

    def __getattr__(self, name: str) -> Any:
        if name == "dataset" or name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.dataset, name)


WORDS = 512
"""The words of 8 bytes in a row of the table that the checksum sums."""


def content_id(image: NDArray[Any]) -> str:
    """The id of an image whose sample is not known: a checksum of its shape and its pixels.

    Floats in [0, 1] have that of the 8-bit image that they are rounded to; other values count as they are. The CRC is
    of the sums of all rows and all columns of a table of words, which take a fifth of the time of a CRC of all pixels.
    """
    if image.dtype.kind == "f" and image.size and image.min() >= 0 and image.max() <= 1:
        image = np.rint(image * 255).astype(np.uint8)
    pixels = np.ascontiguousarray(image).reshape(-1).view(np.uint8)
    summed = pixels.size - pixels.size % (8 * WORDS)
    words = pixels[:summed].view("<u8").reshape(-1, WORDS)
    checksum = crc32(repr(image.shape).encode())
    for axis in (0, 1) if summed else ():
        checksum = crc32(np.add.reduce(words, axis).astype("<u8", copy=False).data, checksum)
    return f"pixels:{crc32(pixels[summed:].data, checksum):08x}"


class SampleIds:
    """The sample ids of one transform: given, else of the `Indexed` dataset being read, else of the pixels."""

    def __init__(self) -> None:
        self.epoch = Epoch()

    def of(self, given: Any, position: int | None = None) -> Sample | Callable[[Any], Sample]:
        """The id of an image, or the function of its pixels that gives it.

        Ask in the thread that reads the sample. `position` is the place among several images of one sample.
        """
        current, epoch = _current.get(), self.epoch.value
        if current is not None and current[1] is not None:
            epoch = current[1]
        if given is not None:
            return _at(check_sample(given.item() if hasattr(given, "item") else given), epoch)
        if current is None:
            return lambda image: _at(content_id(np.asarray(image)), epoch)
        return _at(current[0] if position is None else f"{current[0]}/{position}", epoch)


def _at(sample: Sample, epoch: int | None) -> Sample:
    return f"{sample}#{epoch}" if epoch else sample
