"""Which images are accepted, and the way of each to a corruption and back: alpha, bands, values of any range."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from brittle._errors import BrittleError, BrittleTypeError
from brittle._types import Field
from brittle.corruptions.registry import Corruption

LUMINANCE = np.array([0.299, 0.587, 0.114], np.float32)

ACCEPTED = (
    "an image is H×W, H×W×3 (RGB), H×W×4 (RGBA) or H×W×C with any number of bands, a batch N×H×W×C, as uint8, as "
    "float16, float32 or float64 in [0, 1], or with data_range= as uint16, int16 or float of any range; or a PIL image "
    "of mode L, RGB or RGBA, or with data_range= of I;16 or F"
)

BYTE = np.dtype(np.uint8)
DEEP = ("I;16", "F")
"""Modes of PIL images that need a data_range."""

DataRange = float | tuple[float, float]
"""The values of black and white: (low, high), or one number for (0, number)."""


class Scale(NamedTuple):
    """The values that stand for black and for white."""

    black: float
    white: float

    def to_greys(self, image: NDArray[Any]) -> Field:
        """Values as grey levels 0 … 255 with their fractions, contiguous, as kernels are compiled for."""
        greys = (image.astype(np.float64) - self.black) * (255 / (self.white - self.black))
        return np.clip(greys, 0, 255).astype(np.float32, order="C")  # single precision may round the ends outwards

    def from_greys(self, greys: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
        """Grey levels as values of a type."""
        values = greys.astype(np.float64) * ((self.white - self.black) / 255) + self.black
        if dtype.kind in "iu":
            return np.clip(np.rint(values), math.ceil(self.black), math.floor(self.white)).astype(dtype)
        out: NDArray[Any] = np.clip(values.astype(dtype), dtype.type(self.black), dtype.type(self.white))
        return out


class Reading(NamedTuple):
    """What the numbers of an image mean: their range, and whether the channels are bands of data, not colours."""

    scale: Scale | None = None
    bands: bool = False


PLAIN = Reading()
"""8-bit values, or floats in [0, 1]; one channel is grey, three are RGB, four are RGBA, any other number are bands."""


def reading_of(data_range: Any, bands: bool) -> Reading:
    """The options of `corrupt` as one value; raises if they mean nothing."""
    if not isinstance(bands, bool | np.bool_):
        raise BrittleTypeError(f"bands is True or False, got {bands!r}")
    if data_range is None:
        return Reading(None, True) if bands else PLAIN
    pair = tuple(data_range) if isinstance(data_range, tuple | list | np.ndarray) else (0, data_range)
    if not all(isinstance(end, int | float | np.number) and not isinstance(end, bool) for end in pair):
        raise BrittleTypeError(f"data_range is (low, high), or one number for (0, number), got {data_range!r}")
    ends = tuple(map(float, pair))
    if len(ends) != 2 or not -math.inf < ends[0] < ends[1] < math.inf:
        raise BrittleError(
            f"data_range is (low, high) with low < high, or one number above 0 for (0, number), got {data_range!r}"
        )
    return Reading(Scale(*ends), bool(bands))


def is_pil(image: object) -> bool:
    """Whether it is a PIL image, without importing PIL."""
    return hasattr(image, "getbands") and hasattr(image, "convert")


def is_suspicious(channels: int, sides: Sequence[int]) -> bool:
    """Whether so many channels are rather a side of the picture or the images of a batch: more than half a side."""
    return channels > 4 and 2 * channels > min(sides)


def check(image: object, reading: Reading = PLAIN) -> None:
    """Raise unless the image is of a type listed in ACCEPTED, with values in the range of its reading."""
    shape: tuple[int, ...]
    if type(image) is np.ndarray and image.dtype is BYTE and image.ndim == 3 and image.shape[2] == 3 and image.size:
        if reading.scale is not None:
            _check_values(image, reading)
        return  # what most images are
    if isinstance(image, np.ndarray):
        if isinstance(image, np.ma.MaskedArray | np.matrix):
            raise BrittleTypeError(f"got a {type(image).__name__}; give a plain array, np.asarray(image)")
        if image.dtype.char not in "BHhefd":  # uint8, uint16, int16, float16, float32, float64
            raise BrittleTypeError(f"got an array of {image.dtype}; {ACCEPTED}")
        shape = image.shape
        if len(shape) not in (2, 3, 4):
            raise BrittleError(f"got an array of shape {shape}; {ACCEPTED}{_advice(image)}")
        if len(shape) > 2 and 0 not in shape and is_suspicious(shape[-1], shape[-3:-1]) and not reading.bands:
            raise BrittleError(
                f"got an array of shape {shape}, which would be {shape[-1]} bands of {shape[-3]}×{shape[-2]} pixels"
                f"{_advice(image)}; if that is what it is, give bands=True"
            )
    elif is_pil(image):
        mode = image.mode  # type: ignore[attr-defined]
        if mode in DEEP:
            image = np.asarray(image)
        elif mode not in ("L", "RGB", "RGBA"):
            hint = "convert it first, for example image.convert('RGB')"
            if mode.startswith("I"):
                hint = "if its values are of 16 bits, give np.asarray(image).astype(np.uint16) with data_range="
            raise BrittleError(f"got a PIL image of mode {mode!r}; {hint}")
        shape = (image.height, image.width) if is_pil(image) else np.asarray(image).shape  # type: ignore[attr-defined]
    else:
        raise BrittleTypeError(f"got {type(image).__name__}; {ACCEPTED}{_advice(image)}")
    if 0 in shape:
        raise BrittleError(f"got an empty array of shape {shape}; give at least one image, each side at least 1")
    if reading.scale is not None:
        _check_values(np.asarray(image), reading)
    elif isinstance(image, np.ndarray) and image.dtype.char != "B":
        low, high = float(image.min()), float(image.max())
        if image.dtype.char in "Hh":
            raise BrittleError(
                f"an image of {image.dtype} needs the values of black and white, data_range=(low, high): 65535 if all "
                f"16 bits are used, 4095 if twelve are; the values here go from {low:g} to {high:g}"
            )
        if not (low >= 0 and high <= 1):
            hint = "divide by 255, or " if 1 < high <= 255 and low >= 0 else ""
            raise BrittleError(
                f"a float image has values in [0, 1]; got values from {low:g} to {high:g}; {hint}give data_range="
            )


def _check_values(image: NDArray[Any], reading: Reading) -> None:
    """Raise if values lie outside of the range; an alpha channel may hold anything."""
    assert reading.scale is not None
    black, white = reading.scale
    limits = np.iinfo(image.dtype) if image.dtype.kind in "iu" else np.finfo(image.dtype)
    if black < limits.min or white > limits.max:
        raise BrittleError(
            f"{image.dtype} holds values from {limits.min:g} to {limits.max:g}, got data_range=({black:g}, {white:g})"
        )
    part = image[..., :3] if image.ndim > 2 and image.shape[-1] == 4 and not reading.bands else image
    low, high = part.min(), part.max()
    ends = (black, white) if image.dtype.kind in "iu" else (image.dtype.type(black), image.dtype.type(white))
    if not (low >= ends[0] and high <= ends[1]):
        raise BrittleError(
            f"got values from {low:g} to {high:g} with data_range=({black:g}, {white:g}); give the range that they "
            f"have, or clip them first, np.clip(image, {black:g}, {white:g})"
        )


def check_colour(corruption: Corruption, image: Any, reading: Reading) -> None:
    """Raise if the corruption means colour and the image has bands."""
    if corruption.channels != "rgb":
        return
    shape = (len(image.getbands()),) if is_pil(image) else image.shape[2:]
    count = shape[-1] if shape else 1
    if reading.bands or count not in (1, 3, 4):
        raise BrittleError(
            f"{corruption.id} means colour, so it takes grey, RGB and RGBA images, and this one has {count} "
            f"{'band' if count == 1 else 'bands'} of data; choose three of them as red, green and blue, "
            "image[..., [2, 1, 0]], or leave this corruption out"
        )


def _advice(image: object) -> str:
    """How to fix common mistakes."""
    if isinstance(image, np.ndarray):
        if image.ndim in (3, 4) and image.shape[-3] in (1, 3, 4):
            return "; its channels are first, so transpose it"
        grey = "a batch of grey images needs a last axis, array[..., None], and " if image.ndim == 3 else ""
        return f"; {grey}bands come last, np.moveaxis(array, -3, -1)" if image.ndim in (3, 4) else ""
    if isinstance(image, str | PurePath):
        return "; open the file first, PIL.Image.open(path)"
    if isinstance(image, list | tuple):
        return "; np.stack makes a batch of several images"
    if type(image).__module__.startswith("torch"):
        return "; brittle.Transform takes tensors, or give tensor.permute(1, 2, 0).numpy()"
    return ""


def apply(
    image: Any, change: Callable[[Any], Any], corruption: Corruption, reading: Reading, *, full_depth: bool
) -> Any:
    """Call `change` with one checked image as H×W×C, and return the result in the type and range of the input.

    `change` gets uint8, or with `full_depth` and a range float32 in grey levels. Bands go one by one, as grey images,
    unless the corruption takes any number of them.
    """
    if not isinstance(image, np.ndarray):
        from PIL import Image as Pil

        return Pil.fromarray(apply(np.asarray(image), change, corruption, reading, full_depth=full_depth))
    if image.dtype == np.float16:
        wide = apply(image.astype(np.float32), change, corruption, reading, full_depth=full_depth)
        return wide.astype(np.float16)
    if image.ndim == 2:
        return apply(image[:, :, np.newaxis], change, corruption, reading, full_depth=full_depth)[:, :, 0]
    count = image.shape[2]
    if count == 4 and not reading.bands:
        colour = apply(image[:, :, :3], change, corruption, reading, full_depth=full_depth)
        return np.concatenate([colour, image[:, :, 3:]], axis=2)
    if corruption.channels != "any" and count > 1 and (reading.bands or count != 3):
        bands = np.split(image, count, axis=2)
        return np.concatenate([apply(b, change, corruption, reading, full_depth=full_depth) for b in bands], axis=2)

    def changed(clean: NDArray[Any]) -> NDArray[Any]:
        if count == 1 and corruption.channels == "rgb":
            return _luminance(change(np.repeat(clean, 3, axis=2)))
        return np.asarray(change(clean))

    if reading.scale is not None and not (image.dtype == BYTE and reading.scale == (0, 255)):
        return _at_its_range(image, changed, reading.scale, full_depth=full_depth)
    if image.dtype.char != "B":
        levels = changed(np.rint(image * 255).astype(np.uint8, order="C"))
        return (levels.astype(image.dtype) / image.dtype.type(255)).astype(image.dtype, copy=False)
    if not (image.flags.c_contiguous and image.flags.writeable):
        image = image.copy()  # kernels are compiled for contiguous, writable arrays
    return changed(image)


def _at_its_range(
    image: NDArray[Any], change: Callable[[Any], NDArray[Any]], scale: Scale, *, full_depth: bool
) -> NDArray[Any]:
    """Through grey levels, with their fractions or rounded, and back; float values that stay are exact."""
    greys = scale.to_greys(image)
    if not full_depth:
        return scale.from_greys(change(np.rint(greys).astype(np.uint8)), image.dtype)
    changed = change(greys)
    out = scale.from_greys(changed, image.dtype)
    if image.dtype.kind == "f":
        np.copyto(out, image, where=changed == greys)
    return out


def _luminance(image: NDArray[Any]) -> NDArray[Any]:
    grey = image @ LUMINANCE
    grey = np.asarray(np.rint(grey), np.uint8) if image.dtype == BYTE else np.asarray(grey, np.float32)
    return np.asarray(grey[:, :, np.newaxis])
