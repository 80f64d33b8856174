"""Images that are files below one folder: read one by one, known by name, size and time of change."""

from __future__ import annotations

import os
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from brittle.arrays import Image
from brittle.datasets.folder import BrokenImage, image_size, read_image

READ = 8
"""How many files, spread evenly, are read for a digest that a copy shares; of the others names and sizes must do."""


class Files:
    """Reads the files of a folder; `crop` pixels are cut off on every side."""

    def __init__(self, folder: Path, names: Sequence[str], *, crop: int = 0) -> None:
        self.folder, self.names, self.crop = folder, tuple(names), crop

    def __call__(self, index: int) -> Image:
        try:
            image = read_image(self.folder / self.names[index])
        except OSError as error:  # it went away, or may not be read
            raise BrokenImage(error.strerror or str(error)) from error
        if not self.crop:
            return image
        if min(image.shape[:2]) <= 2 * self.crop:
            raise BrokenImage(f"{image.shape[1]}×{image.shape[0]} px is too small to have a frame of {self.crop} px")
        return image[self.crop : -self.crop, self.crop : -self.crop]

    def size(self, index: int) -> tuple[int, int] | None:
        """Width and height of a file, upright and without its frame, from its header; None if it cannot be read."""
        size = image_size(self.folder / self.names[index])
        return None if size is None else (size[0] - 2 * self.crop, size[1] - 2 * self.crop)

    def content(self) -> str:
        """A digest of names, sizes and times of change: no file is opened for it."""
        seen = sha256(str(self.crop).encode())
        for name in self.names:
            try:
                status = (self.folder / name).stat()
                seen.update(f"{name}\0{status.st_size}\0{status.st_mtime_ns}\0".encode("utf-8", "surrogateescape"))
            except OSError:
                seen.update(f"{name}\0gone\0".encode("utf-8", "surrogateescape"))
        return seen.hexdigest()

    def lasting(self, indices: Sequence[int]) -> str:
        """A digest of some files that a copy of them shares: names and sizes of all, and the bytes of a few.

        Times of change are no part of it. What it cannot see is a file that was changed to one of the same size.
        """
        seen, folder = sha256(str(self.crop).encode()), os.fspath(self.folder)
        few = {number * len(indices) // READ for number in range(READ)}
        for number, index in enumerate(indices):
            name = self.names[index]
            try:
                size = str(os.stat(f"{folder}/{name}").st_size)  # noqa: PTH116 - millions of times
                content = sha256((self.folder / name).read_bytes()).hexdigest() if number in few else ""
            except OSError:
                size, content = "gone", ""
            seen.update(f"{name}\0{size}\0{content}\0".encode("utf-8", "surrogateescape"))
        return seen.hexdigest()
