"""The images of a folder: which there are, and their pixels."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np
from PIL import Image as Pil
from PIL import ImageOps, UnidentifiedImageError

from brittle.arrays import Image
from brittle.datasets.prepare import prepared

SUFFIXES = (
    *(".avif", ".bmp", ".gif", ".jfif", ".jp2", ".jpe", ".jpeg", ".jpg"),
    *(".pbm", ".pgm", ".png", ".pnm", ".ppm", ".tif", ".tiff", ".webp"),
)

LABEL_SUFFIXES = (".csv", ".json", ".txt", ".xml")
MASK_FOLDERS = {"annotations", "labels", "mask", "masks", "segmentation", "segmentationclass", "segmentationobject"}
"""What folders of masks are called, in small letters."""


ORIENTATION, SIDEWAYS = 0x0112, (5, 6, 7, 8)
"""The tag by which a camera says how it was held, and the values that swap width and height."""


class BrokenImage(ValueError):  # noqa: N818 - it is raised to be counted, not to be a failure
    """A file that has an image's name and not an image's content; the message says why."""


def find_images(folder: str | Path) -> list[str]:
    """The image files below a folder as sorted relative paths with forward slashes: these are the sample ids.

    Every depth is searched and links are followed. Files are known by their suffix; hidden ones are left out.
    """
    folder = Path(folder)
    if not folder.is_dir():
        what = "is a file, not a folder of images" if folder.exists() else "does not exist; give a folder of images"
        raise FileNotFoundError(f"{str(folder)!r} {what}")
    found = sorted(_walk(folder, "", frozenset(), SUFFIXES))
    if not found:
        raise ValueError(f"the folder {str(folder)!r} has no images; they are known by {' '.join(SUFFIXES)}")
    return found


def find_labels(folder: str | Path, images: Sequence[str]) -> tuple[list[str], list[str]]:
    """Files below a folder of images that look like annotations, and images among them that look like masks.

    An annotation is a .txt, .xml, .json or .csv file. A mask is a .png file in a folder called so, or beside another
    image of the same name: cat.png beside cat.jpg.
    """
    labels = sorted(_walk(Path(folder), "", frozenset(), LABEL_SUFFIXES))
    named = {image[: image.rindex(".")] for image in images if not image.lower().endswith(".png")}
    masks = [
        image
        for image in images
        if image.lower().endswith(".png")
        and (image[: image.rindex(".")] in named or MASK_FOLDERS & set(image.lower().split("/")[:-1]))
    ]
    return labels, masks


def _walk(folder: Path, prefix: str, above: frozenset[str], suffixes: Sequence[str]) -> Iterator[str]:
    here = os.path.realpath(folder)
    if here in above:  # a link that leads back to where it came from
        return
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if entry.is_dir():
                yield from _walk(folder / entry.name, f"{prefix}{entry.name}/", above | {here}, suffixes)
            elif os.path.splitext(entry.name)[1].lower() in suffixes:  # noqa: PTH122 - a million times
                yield prefix + entry.name


def read_image(path: str | Path | BinaryIO, *, prepare: str = "none") -> Image:
    """One image file, or open stream, as H×W×3 uint8, upright.

    The camera's orientation tag is applied. Grey images become RGB, transparency is dropped, as in the usual
    loaders; 16-bit images are scaled to 8 bit; of an animation the first frame counts. Whatever cannot be
    decoded completely raises `BrokenImage`. `prepare="imagenet"` scales and crops as the published sets do.
    """
    path = Path(path) if isinstance(path, str | Path) else path
    try:
        with warnings.catch_warnings(), Pil.open(path) as file:
            warnings.simplefilter("ignore")  # oddities that Pillow reads over are no concern of the user's
            file.load()
            picture = _rgb(_upright(file))
    except FileNotFoundError:
        raise
    except MemoryError as error:
        raise BrokenImage("too large for this computer's memory") from error
    except Exception as error:  # decoders raise anything: OSError, SyntaxError, struct.error, IndexError …
        raise BrokenImage(_reason(path, error)) from error
    return np.asarray(prepared(picture, prepare), np.uint8)


def image_size(path: str | Path) -> tuple[int, int] | None:
    """Width and height of an image file, upright, from its header alone; None if it has none that can be read."""
    try:
        with warnings.catch_warnings(), Pil.open(path) as file:
            warnings.simplefilter("ignore")
            width, height = file.size
            turned = file.getexif().get(ORIENTATION, 1) in SIDEWAYS
    except Exception:  # as in `read_image`, which says why
        return None
    return (height, width) if turned else (width, height)


def _upright(file: Pil.Image) -> Pil.Image:
    try:
        return ImageOps.exif_transpose(file)
    except Exception:  # a damaged tag; the pixels are fine
        return file


def _rgb(picture: Pil.Image) -> Pil.Image:
    if picture.mode.startswith("I") or picture.mode == "F":
        values = np.asarray(picture, np.float64)
        if not np.isfinite(values).all():
            raise ValueError("it has values that are not numbers")
        deep = picture.mode.startswith("I;16") or values.max() > 255
        full = 65535 if deep else 1 if picture.mode == "F" and values.max() <= 1 else 255
        picture = Pil.fromarray(np.rint(np.clip(values / full, 0, 1) * 255).astype(np.uint8))
    if picture.mode in ("P", "PA") and "transparency" in picture.info:
        picture = picture.convert("RGBA")
    return picture.convert("RGB")


def _reason(path: Path | BinaryIO, error: Exception) -> str:
    if isinstance(path, Path) and path.is_file() and path.stat().st_size == 0:
        return "the file is empty"
    if isinstance(error, UnidentifiedImageError):
        return "not an image, or of a kind that Pillow does not read"
    return " ".join(str(error).split()) or type(error).__name__
