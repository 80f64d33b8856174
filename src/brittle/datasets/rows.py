"""Images that are the rows of an array, in memory or in a file."""

from __future__ import annotations

from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from brittle.arrays import Image
from brittle.datasets.array_file import read_array


class Rows:
    """Reads images from an array N×H×W×C; grey ones become RGB."""

    def __init__(self, array: Image) -> None:
        self.array = array

    def __call__(self, index: int) -> Image:
        image = np.array(self.array[index])
        return image if image.shape[2] == 3 else np.repeat(image, 3, axis=2)

    def content(self) -> str:
        """A digest of shape and pixels."""
        return array_digest(self.array)


class MappedRows(Rows):
    """Rows `start` to `stop` of an .npy file that stays on disk; a copy sent to another process opens it again."""

    def __init__(self, path: Path, start: int, stop: int) -> None:
        self.path, self.start, self.stop = path.absolute(), start, stop

    @cached_property
    def array(self) -> Image:  # type: ignore[override]
        """The rows, mapped."""
        return read_array(self.path)[0][self.start : self.stop]

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path, "start": self.start, "stop": self.stop}


def array_digest(array: Image) -> str:
    """A digest of shape and bytes, read in pieces so that a mapped array stays on disk."""
    seen = sha256(repr(array.shape).encode())
    for start in range(0, len(array), 1024):
        seen.update(array[start : start + 1024].tobytes())
    return seen.hexdigest()
