"""The layout of the released CIFAR-10-C: an array per corruption with its severities stacked, and one of labels."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brittle._io import missing_or_damaged, part, put, replacing, sweep
from brittle.arrays import Image
from brittle.benchmarks import Benchmark, Entry, Level
from brittle.datasets.array_file import check_images, check_labels
from brittle.datasets.published import Progress, Written, claim, names
from brittle.datasets.workers import check_jobs, spread

BLOCK_BYTES = 2**20
"""About how many bytes of images one task holds: 341 of CIFAR-10."""

Block = tuple[str, Level, int, Image]
"""(corruption id, level, index of the first image, images)."""


def write_arrays(
    images: Image,
    destination: str | Path,
    benchmark: Benchmark,
    *,
    labels: NDArray[Any] | None = None,
    jobs: int | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Written:
    """Corrupt N images into `destination/<corruption>.npy`, each (levels·N)×H×W×C, first all images at the first level.

    The sample id of an image is its index. Arrays that are there already are kept. With labels, labels.npy holds
    them once for each level. `jobs`, `overwrite` and `progress` are those of `write_folders`.
    """
    destination = Path(destination)
    images = check_images(images)
    if labels is not None:
        labels = check_labels(labels, len(images))
        if len({len(entry.levels) for entry in benchmark.entries}) > 1:
            raise ValueError("one labels.npy serves all corruptions, so in this layout all need equally many levels")
    per_block = max(1, BLOCK_BYTES // images[0].nbytes)
    jobs = check_jobs(jobs, len(benchmark) * -(-len(images) // per_block))
    claim(destination, benchmark, {"layout": "cifar-c", "images": _digest(images)}, overwrite=overwrite)
    paths = {identity: destination / f"{name}.npy" for identity, name in names(benchmark).items()}
    again = "its pictures are drawn again"
    missing = [entry for entry in benchmark.entries if missing_or_damaged(paths[entry.id], again)]
    total = len(images) * len(benchmark)
    account = Written(kept=total - len(images) * sum(len(entry.levels) for entry in missing))
    if labels is not None:
        with replacing(destination / "labels.npy") as path, path.open("wb") as file:
            np.save(file, np.tile(labels, len(benchmark.entries[0].levels)))
    growing = {entry.id: _Growing(entry, paths[entry.id], images) for entry in missing}
    blocks = _blocks(missing, images, per_block)
    try:
        with closing(spread(partial(_corrupt_block, benchmark), blocks, jobs=jobs)) as results:
            for identity, level, start, pictures in results:
                growing[identity].put(level, start, pictures)
                account.written += len(pictures)
                if progress is not None:
                    progress(account.done, total)
    finally:
        for array in growing.values():
            array.abandon()
    return account


def _blocks(entries: list[Entry], images: Image, length: int) -> Iterator[Block]:
    for entry in entries:
        for level in entry.levels:
            for start in range(0, len(images), length):
                yield entry.id, level, start, np.array(images[start : start + length])


def _corrupt_block(benchmark: Benchmark, block: Block) -> Block:
    identity, level, start, images = block
    return identity, level, start, benchmark.apply(images, identity, level, range(start, start + len(images)))


def _digest(images: Image) -> str:
    seen = sha256(repr(images.shape).encode())
    for start in range(0, len(images), 1024):
        seen.update(images[start : start + 1024].tobytes())
    return seen.hexdigest()[:16]


class _Growing:
    """One output array, on disk under a temporary name until its last image is in."""

    def __init__(self, entry: Entry, path: Path, images: Image) -> None:
        self.path, self.levels, self.count = path, entry.levels, len(images)
        self.shape = (len(entry.levels) * len(images), *images.shape[1:])
        self.left = self.shape[0]
        self.part = part(path)
        self.array: np.memmap[Any, Any] | None = None

    def put(self, level: Level, start: int, pictures: Image) -> None:
        if self.array is None:
            sweep(self.path)
            self.array = np.lib.format.open_memmap(self.part, mode="w+", dtype=np.uint8, shape=self.shape)
        first = self.levels.index(level) * self.count + start
        self.array[first : first + len(pictures)] = pictures
        self.left -= len(pictures)
        if self.left == 0:
            self.array.flush()
            self.array = None
            put(self.part, self.path)

    def abandon(self) -> None:
        self.array = None
        self.part.unlink(missing_ok=True)
