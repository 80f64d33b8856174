"""Feature extraction from images, and the store of features on disk."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from brittle._errors import BrittleError, BrittleTypeError
from brittle._identity import as_data, digest
from brittle._io import atomic_write, is_complete
from brittle._types import FloatArray, Image, check_seed
from brittle.datasets.dataset import Dataset
from brittle.datasets.images import UnreadableImage

BLOCK = 200
"""The number of rows in a block."""


@runtime_checkable
class Rows(Protocol):
    """Anything with a number of rows that it gives in blocks, in order."""

    def __len__(self) -> int:
        """The number of rows."""
        ...

    def blocks(self) -> Iterator[Features]:
        """All rows, block after block."""
        ...


def blocks(rows: Rows | ArrayLike) -> Iterator[NDArray[Any]]:
    """The rows of an array or of anything with blocks, one block at a time; rows on disk are never all in memory."""
    if isinstance(rows, Rows):
        yield from rows.blocks()
        return
    table = np.asanyarray(rows)
    if table.ndim != 2 or not table.size:
        raise BrittleError(f"features are samples × dimensions with at least one of each, got shape {table.shape}")
    for start in range(0, len(table), BLOCK):
        block = table[start : start + BLOCK]
        if not np.isfinite(block).all():
            row = start + int(np.flatnonzero(~np.isfinite(block).all(1))[0])
            raise BrittleError(f"features must be finite numbers, and those of sample {row} are not; leave it out")
        yield block


def mean_row(rows: Rows | ArrayLike) -> FloatArray:
    """The mean over all rows."""
    total, count = np.zeros(()), 0
    for block in blocks(rows):
        total = total + block.sum(0, dtype=np.float64)
        count += len(block)
    return np.asarray(total / count, np.float64)


def take(rows: Rows | ArrayLike, indices: NDArray[np.integer[Any]]) -> FloatArray:
    """The rows at these ascending indices."""
    taken, start = [], 0
    for block in blocks(rows):
        in_block = indices[(indices >= start) & (indices < start + len(block))]
        taken.append(np.asarray(block[in_block - start], np.float64))
        start += len(block)
    return np.concatenate(taken)


Features = NDArray[np.float32]
"""One row of activations per image, or per mean over images."""


class Extractor(Protocol):
    """A model with a name, a key that changes when its weights do, and features for a batch N×H×W×3 of uint8."""

    @property
    def name(self) -> str:
        """The name of the model."""
        ...

    @property
    def key(self) -> str:
        """An identity that changes when the features may change."""
        ...

    def features(self, images: Image) -> Features:
        """The activations of the last hidden layer, one row per image."""
        ...


def check_extractor(model: Any) -> Extractor:
    """The model, or an error that says what is missing."""
    if not callable(getattr(model, "features", None)):
        raise BrittleTypeError(
            f"the model {getattr(model, 'name', model)!r} ({type(model).__name__}) has no features method, so no "
            "distance can be measured with it; give a torch, timm, torchvision or transformers model, or any object "
            "with features(images), a name and a key"
        )
    for attribute in ("name", "key"):
        if not isinstance(getattr(model, attribute, None), str):
            raise BrittleTypeError(
                f"a model with features needs a {attribute}, a string, to identify stored features; "
                f"{type(model).__name__} has none"
            )
    extractor: Extractor = model
    return extractor


def features_of(model: Extractor, images: Image, batch_size: int) -> Features:
    """The features of any number of images, in batches."""
    rows = []
    for start in range(0, len(images), batch_size):
        batch = images[start : start + batch_size]
        rows.append(np.asarray(model.features(batch), np.float32))
        if rows[-1].ndim != 2 or len(rows[-1]) != len(batch):
            raise BrittleError(
                f"the model {model.name!r} gave features of shape {rows[-1].shape} for {len(batch)} images; it must "
                "give one row for each"
            )
    features = np.concatenate(rows)
    if not np.isfinite(features).all():
        raise BrittleError(f"the model {model.name!r} gave features that are not finite; check its weights")
    return features


@dataclass(frozen=True, eq=False)
class FeatureImages:
    """A stack of clean images N×H×W×3 and their sample ids."""

    pixels: Image
    ids: tuple[str | int, ...] = ()

    def __post_init__(self) -> None:
        if self.pixels.ndim != 4 or self.pixels.shape[-1] != 3 or self.pixels.dtype != np.uint8 or not self.pixels.size:
            raise BrittleError(
                f"feature images are N×H×W×3 of uint8, got shape {self.pixels.shape} of {self.pixels.dtype}"
            )
        ids = self.ids or tuple(range(len(self.pixels)))
        if len(ids) != len(self.pixels):
            raise BrittleError(f"{len(self.pixels)} feature images need as many ids, got {len(ids)}")
        object.__setattr__(self, "ids", ids)

    def __len__(self) -> int:
        return len(self.pixels)

    @cached_property
    def key(self) -> str:
        """A digest of the pixels and ids."""
        return digest({"shape": self.pixels.shape, "ids": self.ids}, self.pixels.tobytes())


def feature_images(dataset: Dataset, count: int = 100, *, seed: int = 0) -> FeatureImages:
    """A random subset of a dataset, without replacement; the paper takes 100 training images.

    The seed alone determines it, and a larger subset begins with a smaller one. An unreadable image is skipped. All
    must have one size.
    """
    if count < 1:
        raise BrittleError(f"count must be at least 1, got {count}")
    if count > len(dataset):
        raise BrittleError(f"{dataset.name!r} has {len(dataset)} images, got count={count}; ask for at most that")
    rng = np.random.Generator(np.random.Philox(key=check_seed(seed) % 2**128))
    moved: dict[int, int] = {}  # a Fisher-Yates shuffle that stores only what has moved
    chosen: list[int] = []
    images: list[Image] = []
    for i in range(len(dataset)):
        j = i + int(rng.random() * (len(dataset) - i))
        drawn, moved[j] = moved.get(j, j), moved.get(i, i)
        try:
            images.append(dataset.image(drawn))
        except UnreadableImage:
            continue
        chosen.append(drawn)
        if images[-1].shape != images[0].shape:
            raise BrittleError(
                f"feature images must have one size, and {dataset.name!r} has {images[0].shape} and "
                f"{images[-1].shape}; resize or crop them first"
            )
        if len(images) == count:
            return FeatureImages(np.stack(images), tuple(dataset.ids[k] for k in chosen))
    raise BrittleError(f"{dataset.name!r} has {len(images)} readable images, got count={count}")


IDENTITY = "identity.json"


class FeatureStore:
    """The feature blocks of a sequence of transforms, on disk, or in memory without a folder.

    The number of samples is no part of the identity: a later call with more samples computes the missing ones.
    """

    def __init__(self, folder: str | Path | None, identity: Mapping[str, Any]) -> None:
        self._memory: dict[int, Features] = {}
        self.folder: Path | None = None
        if folder is not None:
            self._identity = json.dumps(as_data(identity), indent=1, sort_keys=True, ensure_ascii=False)
            self.folder = Path(folder) / digest(identity)

    def read(self, number: int) -> Features | None:
        """A block, which may be incomplete; None if it is missing or unreadable."""
        if self.folder is None:
            return self._memory.get(number)
        try:
            block: Features = np.load(self._path(number), allow_pickle=False)
        except (OSError, ValueError, EOFError):
            return None
        return block if block.ndim == 2 and block.dtype == np.float32 else None

    def extend(self, number: int, rows: Features, stop: int) -> None:
        """Append rows that end before transform `stop` to their block."""
        before = stop - len(rows) - number * BLOCK
        block = self.read(number) if before else None
        if before and (block is None or len(block) < before):
            raise FileNotFoundError(f"block {number} of {str(self.folder)!r} is missing; run it again")
        extended = rows if block is None else np.concatenate([block[:before], rows])
        if self.folder is None:
            self._memory[number] = extended
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        if not is_complete(self.folder / IDENTITY):
            with atomic_write(self.folder / IDENTITY) as part:
                part.write_text(self._identity, encoding="utf-8", errors="surrogateescape")
        with atomic_write(self._path(number)) as part, part.open("wb") as file:
            np.save(file, extended)

    def _path(self, number: int) -> Path:
        assert self.folder is not None
        return self.folder / f"{number:06d}.npy"


@dataclass(frozen=True, eq=False)
class TransformFeatures:
    """f(t) of the first `samples` transforms, one row each, read from disk block by block.

    `computed` of them were new in this call, at `images_per_second` for augmentation and inference together.
    """

    store: FeatureStore
    samples: int
    computed: int
    images_per_second: float

    def __len__(self) -> int:
        return self.samples

    def blocks(self) -> Iterator[Features]:
        """All rows, block after block."""
        for number, start in enumerate(range(0, self.samples, BLOCK)):
            block = self.store.read(number)
            size = min(BLOCK, self.samples - start)
            if block is None or len(block) < size:
                raise FileNotFoundError(f"block {number} of {str(self.store.folder)!r} is missing; run it again")
            yield block[:size]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:  # always a copy
        """All rows in memory."""
        return np.concatenate(list(self.blocks())).astype(dtype or np.float32)
