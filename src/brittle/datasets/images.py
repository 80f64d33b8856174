"""One image from a file: read it, prepare it, or raise with the reason why it cannot be read."""

from __future__ import annotations

import io
import os
import re
import warnings
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any, BinaryIO

import cv2
import numpy as np
from PIL import Image as Pil
from PIL import ImageOps, UnidentifiedImageError

from brittle._errors import BrittleError, BrittleTypeError
from brittle._types import Image

PREPARATIONS = ("none", "imagenet")
"""Names of preparations; two numbers such as "342,299" are allowed too: short side and central square. Width and height
such as "224x224" resize to exactly that, whatever the aspect ratio."""

EXACT = re.compile(r"([1-9]\d*)x([1-9]\d*)")
"""Width and height that images are resized to."""

STANDARD = (256, 224)
"""Short side and central square of ImageNet-C, in pixels."""

LARGEST = 512
"""Images of one common size with no side longer than this, in pixels, are not prepared by default."""

Size = tuple[int, int]
"""Width and height in pixels."""


def sides_of(how: str) -> tuple[int, int] | None:
    """Short side and central square of a preparation; None for "none" and "224x224". Raises on anything else."""
    if how == "none" or EXACT.fullmatch(how):
        return None
    if how == "imagenet":
        return STANDARD
    short_side, comma, square = how.partition(",")
    if comma and short_side.strip().isdecimal() and square.strip().isdecimal() and 0 < int(square) <= int(short_side):
        return int(short_side), int(square)
    raise BrittleError(
        f"prepare must be one of {', '.join(PREPARATIONS)}, the short side and the central square in pixels such as "
        f"342,299, or width and height such as 224x224; got {how!r}"
    )


def preparation_sizes(how: str) -> dict[str, int | tuple[int, int]]:
    """`size` and `crop` of a model's preprocessing that does what a preparation does; empty for "none"."""
    exact, sides = EXACT.fullmatch(how), sides_of(how)
    if exact is not None:
        return {"size": (int(exact[2]), int(exact[1]))}
    return {} if sides is None else {"size": sides[0], "crop": sides[1]}


def automatic_preparation(sizes: Collection[Size], square: int | None = None) -> str:
    """The default preparation for images of these sizes: "none" if they all have one size that is not large.

    Photographs of mixed or large sizes are prepared as ImageNet-C prepares them. If a model sees another `square` than
    224×224, the crop has that side, and the short side is scaled in proportion.
    """
    if not sizes or (len(sizes) == 1 and max(next(iter(sizes))) <= LARGEST):
        return "none"
    short_side, standard = STANDARD
    if square is None or square == standard:
        return "imagenet"
    return f"{round(square * short_side / standard)},{square}"


def preparation_text(how: str) -> str:
    """A preparation as text, for messages."""
    exact = EXACT.fullmatch(how)
    if exact is not None:
        return f"resized to {exact[1]}×{exact[2]}, whatever their shape"
    sides = sides_of(how)
    return "as they are" if sides is None else f"short side to {sides[0]} px, central {sides[1]}×{sides[1]}"


def prepared(picture: Pil.Image, how: str) -> Pil.Image:
    """A photograph prepared for a benchmark: "none" leaves it, "imagenet" prepares it as ImageNet-C does.

    That is the short side to 256 px (Pillow's antialiased bilinear), then the central 224×224. Two other numbers, such
    as "342,299", do the same with other sides. "224x224" resizes to exactly this width and height, as NOC does.
    """
    exact = EXACT.fullmatch(how)
    if exact is not None:
        size = int(exact[1]), int(exact[2])
        return picture if picture.size == size else picture.resize(size, Pil.Resampling.BILINEAR)
    sides = sides_of(how)
    return picture if sides is None else _central(short_side(picture, sides[0]), sides[1])


def short_side(picture: Pil.Image, side: int) -> Pil.Image:
    """A photograph with its short side at so many pixels."""
    width, height = picture.size
    short = min(width, height)
    size = (side, int(side * height / short)) if width <= height else (int(side * width / short), side)
    return picture if picture.size == size else picture.resize(size, Pil.Resampling.BILINEAR)


def _central(picture: Pil.Image, side: int) -> Pil.Image:
    left, top = round((picture.width - side) / 2), round((picture.height - side) / 2)
    return picture.crop((left, top, left + side, top + side))


def any_image(value: Any) -> Image:
    """A Pillow image, an array (H×W×C), a tensor (C×H×W) or a Hugging Face {"bytes", "path"}, as H×W×3 uint8.

    Integers are 0 to 255 and floats 0 to 1; images with other values were normalised for a model, and raise: brittle
    needs the original pixels.
    """
    if isinstance(value, dict) and ("bytes" in value or "path" in value):
        data = value.get("bytes")
        return read_image(io.BytesIO(data) if data is not None else value["path"])
    if hasattr(value, "getbands") and hasattr(value, "convert"):
        return _from_pillow(value)
    tensor = hasattr(value, "detach")
    array = np.asarray(value.detach().cpu().numpy() if tensor else value)
    if array.ndim == 2:
        array = array[..., None]
    if array.ndim != 3:
        raise BrittleTypeError(f"an image has 2 or 3 dimensions, got {type(value).__name__} of shape {np.shape(value)}")
    if tensor and array.shape[0] in (1, 3, 4) and np.ndim(value) == 3:
        array = array.transpose(1, 2, 0)
    if array.shape[2] not in (1, 3, 4):
        raise BrittleError(
            f"an image has 1 or 3 channels, last in an array and first in a tensor, got {np.shape(value)}"
        )
    array = _as_uint8(array[..., :3])
    return np.ascontiguousarray(array if array.shape[2] == 3 else np.repeat(array, 3, axis=2))


def _from_pillow(picture: Any) -> Image:
    try:
        if picture.mode.startswith(("I", "F")):
            stream = io.BytesIO()
            picture.save(stream, "TIFF")
            return read_image(stream)
        return np.asarray(picture.convert("RGB"), np.uint8)
    except OSError as error:  # Pillow decodes only now
        raise UnreadableImage(" ".join(str(error).split())) from error


def _as_uint8(array: Any) -> Image:
    if array.dtype == np.uint8:
        return np.asarray(array, np.uint8)
    low, high = float(array.min()), float(array.max())
    real = np.issubdtype(array.dtype, np.floating)
    top = 1 if real else 255
    if not (low >= 0 and high <= top):
        raise BrittleError(
            f"an image of {array.dtype} has values from 0 to {top}, got {low:g} to {high:g}; "
            "give it without normalisation"
        )
    return np.asarray(np.rint(array * 255) if real else array).astype(np.uint8)


SUFFIXES = (
    *(".avif", ".bmp", ".gif", ".jfif", ".jp2", ".jpe", ".jpeg", ".jpg"),
    *(".pbm", ".pgm", ".png", ".pnm", ".ppm", ".tif", ".tiff", ".webp"),
)

LABEL_SUFFIXES = (".csv", ".json", ".txt", ".xml")
MASK_FOLDERS = {"annotations", "labels", "mask", "masks", "segmentation", "segmentationclass", "segmentationobject"}
"""Names of folders of masks, in lower case."""


ORIENTATION, SIDEWAYS = 0x0112, (5, 6, 7, 8)
"""The EXIF orientation tag, and its values that swap width and height."""


class UnreadableImage(BrittleError):  # noqa: N818 - unreadable images are counted, not failures
    """A file with the suffix of an image that cannot be decoded; the message is the reason."""


def find_images(folder: str | Path) -> list[str]:
    """The image files below a folder as sorted relative paths with forward slashes: these are the sample ids.

    All subfolders are searched and links are followed. Files are selected by suffix; hidden files are skipped.
    """
    folder = Path(folder)
    if not folder.is_dir():
        problem = "is a file, not a folder of images" if folder.exists() else "does not exist; give a folder of images"
        raise FileNotFoundError(f"{str(folder)!r} {problem}")
    images = sorted(_walk(folder, "", frozenset(), SUFFIXES))
    if not images:
        raise BrittleError(f"the folder {str(folder)!r} has no images; allowed suffixes are {' '.join(SUFFIXES)}")
    return images


def find_labels(folder: str | Path, images: Sequence[str]) -> tuple[list[str], list[str]]:
    """Files below a folder of images that look like annotations, and images among them that look like masks.

    An annotation is a .txt, .xml, .json or .csv file. A mask is a .png file in a folder with a name
    such as masks, or beside another image of the same name: cat.png beside cat.jpg.
    """
    labels = sorted(_walk(Path(folder), "", frozenset(), LABEL_SUFFIXES))
    stems = {image[: image.rindex(".")] for image in images if not image.lower().endswith(".png")}
    masks = [
        image
        for image in images
        if image.lower().endswith(".png")
        and (image[: image.rindex(".")] in stems or MASK_FOLDERS & set(image.lower().split("/")[:-1]))
    ]
    return labels, masks


def _walk(folder: Path, prefix: str, parents: frozenset[str], suffixes: Sequence[str]) -> Iterator[str]:
    real = os.path.realpath(folder)
    if real in parents:  # a link that leads back to a parent folder
        return
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith("."):
                continue
            if _is_folder(entry):
                yield from _walk(folder / entry.name, f"{prefix}{entry.name}/", parents | {real}, suffixes)
            elif os.path.splitext(entry.name)[1].lower() in suffixes:  # noqa: PTH122 - a million times
                yield prefix + entry.name


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads back to itself; as an image it is skipped with this reason
        return False


_quiet_lock = Lock()
_quiet_readers: list[warnings.catch_warnings[None]] = []


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Ignore what Pillow warns of and can read anyway; the filters come back when the last of all threads is done.

    Python's own context manager restores what it saw when it was entered, which of overlapping threads may be nothing.
    """
    with _quiet_lock:
        if not _quiet_readers:
            filters = warnings.catch_warnings()
            filters.__enter__()
            warnings.simplefilter("ignore")
            _quiet_readers.append(filters)
        else:
            _quiet_readers.append(_quiet_readers[0])
    try:
        yield
    finally:
        with _quiet_lock:
            filters = _quiet_readers.pop()
            if not _quiet_readers:
                filters.__exit__(None, None, None)


def read_image(path: str | Path | BinaryIO, *, prepare: str = "none") -> Image:
    """One image file, or open stream, as H×W×3 uint8, upright.

    The camera's orientation tag is applied. Grey images become RGB, transparency is dropped, as in the usual
    loaders; 16-bit images are scaled to 8 bit; of an animation the first frame is read. Files that cannot be decoded
    completely raise `UnreadableImage`. `prepare="imagenet"` scales and crops as the published sets do.
    """
    path = Path(path) if isinstance(path, str | Path) else path
    if isinstance(path, Path) and path.exists() and not path.is_file():  # a pipe would be waited for, for ever
        raise UnreadableImage("not a file with content: a folder, a pipe or a device")
    try:
        with _without_warnings(), Pil.open(path) as file:
            file.load()
            picture = _rgb(_upright(file))
    except FileNotFoundError:
        raise
    except MemoryError as error:
        raise UnreadableImage("too large for this computer's memory") from error
    except Exception as error:  # decoders raise anything: OSError, SyntaxError, struct.error, IndexError …
        raise UnreadableImage(_reason(path, error)) from error
    return np.asarray(prepared(picture, prepare), np.uint8)


def image_size(path: str | Path) -> tuple[int, int] | None:
    """Width and height of an image file, upright, from its header; None if the header cannot be read."""
    if not Path(path).is_file():
        return None
    try:
        with _without_warnings(), Pil.open(path) as file:
            width, height = file.size
            turned = file.getexif().get(ORIENTATION, 1) in SIDEWAYS
    except Exception:  # `read_image` raises with the reason
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
            raise BrittleError("it has NaN or infinite values")
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
        return "not an image, or of a format that Pillow does not read"
    return " ".join(str(error).split()) or type(error).__name__


FOLDER = Path(__file__).parent / "photos"


def photo(name: str = "cat", size: int = 224) -> Image:
    """A bundled photograph ("cat" or "coffee") as size×size×3 uint8."""
    names = sorted(path.stem for path in FOLDER.glob("*.jpg"))
    if name not in names:
        raise BrittleError(f"there is no photograph {name!r}; there are: {', '.join(names)}")
    picture = cv2.imread(str(FOLDER / f"{name}.jpg"), cv2.IMREAD_COLOR_RGB)
    assert picture is not None
    return np.asarray(cv2.resize(picture, (size, size), interpolation=cv2.INTER_AREA), np.uint8)


def square(image: Image, side: int) -> Image:
    """The central square of a photograph H×W×3 of uint8, resized to side×side."""
    if image.ndim != 3 or image.shape[2] != 3 or image.dtype != np.uint8:
        raise BrittleError(f"the photograph must be H×W×3 uint8, got shape {image.shape} of {image.dtype}")
    if side < 1:
        raise BrittleError(f"a side is at least 1 px, got {side}")
    height, width = image.shape[:2]
    short_side = min(height, width)
    top, left = (height - short_side) // 2, (width - short_side) // 2
    interpolation = cv2.INTER_AREA if short_side >= side else cv2.INTER_CUBIC
    centre = np.ascontiguousarray(image[top : top + short_side, left : left + short_side])
    return np.asarray(cv2.resize(centre, (side, side), interpolation=interpolation), np.uint8)
