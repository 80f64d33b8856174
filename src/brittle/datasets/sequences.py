"""Readers of the published perturbation sequences: ImageNet-P videos (.mp4) and CIFAR-10-P arrays (.npy)."""

from __future__ import annotations

from pathlib import Path

import cv2
import numpy as np

from brittle._errors import BrittleError
from brittle._types import Image


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
