"""Readers of the published perturbation sequences: ImageNet-P videos (.mp4) and CIFAR-10-P arrays (.npy)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from brittle._errors import BrittleError, did_you_mean
from brittle._types import Image
from brittle.corruptions.imagenet_p import Perturbation, find_perturbation, perturbations
from brittle.datasets.classes import imagenet_index


def find_sequences(folder: str | Path) -> list[str]:
    """The .mp4 files below a folder as sorted relative paths: `<class>/<name>.mp4` in ImageNet-P, the sample ids."""
    folder = Path(folder)
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {str(folder)!r}; give one of ImageNet-P, such as rotate/")
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.mp4"))
    if not names:
        raise BrittleError(f"the folder {str(folder)!r} has no .mp4 files")
    return names


def read_sequence(path: str | Path) -> Image:
    """All frames of a video as frames×H×W×3 uint8, RGB.

    The videos are H.264: expect the frames of the released set to differ a little from newly generated ones.
    """
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no video {str(path)!r}")
    capture = cv2.VideoCapture(str(path))
    try:
        frames = []
        while True:
            more, frame = capture.read()
            if not more:
                break
            frames.append(cv2.cvtColor(frame, cv2.COLOR_BGR2RGB))
    finally:
        capture.release()
    if not frames:
        raise BrittleError(f"{str(path)!r} is not a video that OpenCV can read")
    return np.asarray(np.stack(frames), np.uint8)


def read_sequence_array(path: str | Path) -> Image:
    """The sequences of a CIFAR-10-P file as N×frames×32×32×3 uint8, memory-mapped."""
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {str(path)!r}")
    try:
        sequences = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError, EOFError) as error:
        raise BrittleError(f"{str(path)!r} is not an .npy file of plain numbers: {error}") from error
    if sequences.ndim != 5 or sequences.shape[-1] != 3 or sequences.dtype != np.uint8:
        raise BrittleError(
            f"{str(path)!r} has shape {sequences.shape} of {sequences.dtype}; sequences are N×frames×H×W×3 uint8"
        )
    return np.asanyarray(sequences)


STORED_SEQUENCES = ("imagenet-p", "cifar10-p")
"""The schemes of published sequences: videos in `<perturbation>/<wnid>/`, and arrays `<perturbation>.npy`."""


@dataclass(frozen=True)
class StoredSequences:
    """Published sequences on disk: `imagenet-p:FOLDER` with videos, `cifar10-p:FOLDER` with arrays.

    Noise of difficulty 2 or 3 stands beside the easy one, in `gaussian_noise_2` and so on.
    """

    scheme: str
    folder: Path

    @property
    def name(self) -> str:
        """The name of the data in results."""
        return self.folder.resolve().name

    @cached_property
    def perturbations(self) -> tuple[str, ...]:
        """The ids of the perturbations that the folder holds, in the order of the published list."""
        ids = tuple(p.id for p in perturbations() if self._place(p, 1).exists())
        if not ids:
            expected = "rotate/" if self.scheme == "imagenet-p" else "rotate.npy"
            raise BrittleError(f"{str(self.folder)!r} holds no sequences of {self.scheme}, such as {expected}")
        return ids

    def _place(self, perturbation: Perturbation, difficulty: int) -> Path:
        name = f"{perturbation.name}_{difficulty}" if perturbation.noise and difficulty > 1 else perturbation.name
        return self.folder / (name if self.scheme == "imagenet-p" else f"{name}.npy")

    def open(self, perturbation: str, difficulty: int = 1) -> Videos | Arrays:
        """The sequences of one perturbation: ids, labels, and the frames of each."""
        place = self._place(find_perturbation(perturbation), difficulty)
        if not place.exists():
            raise BrittleError(
                f"{str(self.folder)!r} has no {place.name!r}; {did_you_mean(perturbation, self.perturbations)}"
            )
        return Videos(place) if self.scheme == "imagenet-p" else Arrays(read_sequence_array(place))


class Videos:
    """The .mp4 files below a folder of one perturbation; labels are the ImageNet classes of their folders, or −1."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ids: Sequence[str] = find_sequences(folder)
        numbers = imagenet_index()
        self.labels = np.array([numbers.get(name.split("/")[0], -1) for name in self.ids], np.int64)

    def frames(self, index: int) -> Image:
        """All frames of one video."""
        return read_sequence(self.folder / self.ids[index])

    @property
    def key(self) -> str:
        """A digest of names and sizes of the files."""
        sizes = [(name, (self.folder / name).stat().st_size) for name in self.ids]
        return sha256(repr(sizes).encode()).hexdigest()[:16]


class Arrays:
    """The sequences of one file; CIFAR-10-P has no labels, which flips do not need: all are −1."""

    def __init__(self, array: Image) -> None:
        self.array = array
        self.ids: Sequence[str] = [str(index) for index in range(len(array))]
        self.labels: NDArray[Any] = np.full(len(array), -1, np.int64)

    def frames(self, index: int) -> Image:
        """All frames of one sequence."""
        return np.array(self.array[index])

    @property
    def key(self) -> str:
        """A digest of the shape and of every hundredth sequence."""
        digest = sha256(repr(self.array.shape).encode())
        for index in range(0, len(self.array), 100):
            digest.update(self.array[index].tobytes())
        return digest.hexdigest()[:16]


def stored_sequences(spec: Any) -> StoredSequences | None:
    """Published sequences from a text such as "imagenet-p:FOLDER"; None if the text names something else."""
    if isinstance(spec, StoredSequences):
        return spec
    scheme, colon, location = str(spec).partition(":")
    if not isinstance(spec, str) or not colon or scheme not in STORED_SEQUENCES:
        return None
    folder = Path(location).expanduser()
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder {str(folder)!r} of {scheme}")
    return StoredSequences(scheme, folder)
