"""Photographs to lay over other photographs."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import cv2
import numpy as np

from brittle.arrays import Image
from brittle.corruptions.images import LUMINANCE

PICTURES = (".jpg", ".jpeg", ".png", ".webp", ".bmp")
PUBLISHED = ["frost1.png", "frost2.png", "frost3.png", "frost4.jpg", "frost5.jpg", "frost6.jpg"]


def find_textures(folder: str | Path) -> tuple[Path, ...]:
    """The pictures of a folder, in the order of their names; of the six published photographs, the five in use."""
    if not isinstance(folder, str | Path):
        raise TypeError(f"textures is the path of a folder, got {folder!r} ({type(folder).__name__})")
    folder = Path(folder)
    if not folder.is_dir():
        raise ValueError(f"textures={str(folder)!r} is not a folder; give one that holds pictures")
    return _listed(folder, folder.stat().st_mtime_ns)


@lru_cache(maxsize=8)
def _listed(folder: Path, changed: int) -> tuple[Path, ...]:  # noqa: ARG001 - a changed folder is listed again
    found = sorted(path for path in folder.iterdir() if path.suffix.lower() in PICTURES)
    if not found:
        raise ValueError(f"the folder {str(folder)!r} holds no pictures ({', '.join(PICTURES)})")
    if [path.name for path in found] == PUBLISHED:
        found.pop()
    return tuple(found)


@lru_cache(maxsize=32)
def _read(path: Path, scale: float, channels: int) -> Image:
    picture = cv2.imread(str(path), cv2.IMREAD_COLOR_RGB)
    if picture is None:
        raise ValueError(f"{str(path)!r} cannot be read as a picture; replace it or take it out of the folder")
    if channels == 1:
        picture = np.rint(picture @ LUMINANCE).astype(np.uint8)
    if scale != 1:
        size = [max(1, round(side * scale)) for side in picture.shape[1::-1]]
        picture = cv2.resize(picture, size)
    return np.asarray(picture, np.uint8).reshape(*picture.shape[:2], channels)


def crop_texture(path: Path, shape: tuple[int, ...], scale: float, row: float, column: float) -> Image:
    """The part of a scaled texture at the relative position (row, column) on [0, 1), as large as the image.

    If the texture is too small for the image it is enlarged further, until it covers it.
    """
    height, width, channels = shape
    texture = _read(path, min(scale, 1.0), channels)
    rows, columns = texture.shape[:2]
    enlarge = max(scale, 1.0, height / rows, width / columns)
    tall, wide = min(rows, round(height / enlarge)), min(columns, round(width / enlarge))
    tall, wide = max(tall, 1), max(wide, 1)
    top, left = int(row * (rows - tall)), int(column * (columns - wide))
    crop = texture[top : top + tall, left : left + wide]
    if (tall, wide) == (height, width):
        return np.ascontiguousarray(crop)
    return np.asarray(cv2.resize(crop, (width, height)), np.uint8).reshape(shape)
