"""Preprocessing: resize, crop and normalise images for a network."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from brittle._errors import BrittleError
from brittle._types import Image
from brittle.datasets import CIFAR10, imagenet_names

if TYPE_CHECKING:
    from brittle.models.model import Model

INTERPOLATIONS = ("nearest", "bilinear", "bicubic", "lanczos", "box", "hamming")

Sides = tuple[int, int]
"""Height and width."""


def resize(images: Image, sides: Sides, interpolation: str) -> Image:
    """Images N×H×W×3 resized to exactly these sides, with antialiasing; the aspect ratio may change."""
    if images.shape[1:3] == sides:
        return images
    from PIL import Image as Pillow

    resampling = Pillow.Resampling[interpolation.upper()]

    def resize_one(image: Image) -> Image:
        return np.asarray(Pillow.fromarray(image).resize(sides[::-1], resampling))

    with ThreadPoolExecutor(min(len(images), os.cpu_count() or 1) or 1) as pool:  # Pillow releases the GIL
        resized = list(pool.map(resize_one, images))
    return np.stack(resized) if resized else np.empty((0, *sides, 3), np.uint8)


def cover(sides: Sides, shorter: int) -> Sides:
    """The sides of an image after its shorter side is resized to a length, at the same aspect ratio."""
    height, width = sides
    if height <= width:
        return shorter, int(shorter * width / height)
    return int(shorter * height / width), shorter


def central_crop(images: Image, sides: Sides) -> Image:
    """The central crop of images that are at least this large."""
    height, width = sides
    top, left = (round((actual - target) / 2) for actual, target in zip(images.shape[1:3], sides, strict=True))
    return images[:, top : top + height, left : left + width]


IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)
CIFAR_MEAN = (125.3 / 255, 123.0 / 255, 113.9 / 255)
CIFAR_STD = (63.0 / 255, 62.1 / 255, 66.7 / 255)


class Prepare(Protocol):
    """Anything that turns uint8 images N×H×W×3 into a network's float32 input N×3×H×W; `as_data` describes it."""

    def tensor(self, images: Image, device: str) -> Any:
        """The network's input, on a device."""
        ...


@dataclass(frozen=True)
class Preprocessing:
    """Resize, central crop, scale to [0, 1], standardise.

    Args:
        mean: of each channel on the scale [0, 1]; `std` likewise.
        size: a number with `crop` is the length of the shorter side; a number without, the side of a square; a pair,
            exactly this height and width. None keeps the size of images.
        crop: the side, or height and width, of the central crop.
        interpolation: one of nearest, bilinear, bicubic, lanczos, box, hamming, as in Pillow.

    Images that already have the final size are not resized and not cropped: the published corrupted sets are stored
    that way.
    """

    mean: tuple[float, ...] = IMAGENET_MEAN
    std: tuple[float, ...] = IMAGENET_STD
    size: int | Sides | None = None
    crop: int | Sides | None = None
    interpolation: str = "bilinear"

    def __post_init__(self) -> None:
        for field in ("mean", "std"):
            object.__setattr__(self, field, tuple(float(number) for number in getattr(self, field)))
        if len(self.mean) != 3 or len(self.std) != 3 or not min(self.std) > 0 or not _finite(self.mean, self.std):
            raise BrittleError(
                f"mean and std are three numbers each, std above 0; got mean={self.mean!r}, std={self.std!r}"
            )
        for field in ("size", "crop"):
            object.__setattr__(self, field, _sides(field, getattr(self, field)))
        if self.interpolation not in INTERPOLATIONS:
            raise BrittleError(f"interpolation must be one of {', '.join(INTERPOLATIONS)}, got {self.interpolation!r}")
        if self.crop is not None and self.size is not None and not _covers(_pair(self.size), _pair(self.crop)):
            raise BrittleError(f"crop cannot be larger than size; got size={self.size}, crop={self.crop}")

    @property
    def shown(self) -> Sides | None:
        """Height and width of the network's input; None if they are those of the images."""
        final = self.size if self.crop is None else self.crop
        return None if final is None else _pair(final)

    @property
    def square(self) -> int | None:
        """The side of the square input of the network; None if it is not square, or depends on the images."""
        return self.shown[0] if self.shown is not None and self.shown[0] == self.shown[1] else None

    @property
    def in_words(self) -> str:
        """Size, crop, mean and std in one line."""
        size, crop = (None if sides is None else _size_text(sides) for sides in (self.size, self.crop))
        if size is None and crop is None:
            steps = "images at their own size"
        elif crop is None:
            steps = f"resized to {size}"
        else:
            scaled = f"short side to {self.size}, " if isinstance(self.size, int) else f"resized to {size}, "
            steps = f"{'' if size is None else scaled}central {crop}"
        mean, std = (" ".join(f"{number:.3g}" for number in numbers) for numbers in (self.mean, self.std))
        note = " (ImageNet's)" if (self.mean, self.std) == (IMAGENET_MEAN, IMAGENET_STD) else ""
        return f"{steps}; mean {mean}, std {std}{note}"

    def pixels(self, images: Image) -> Image:
        """Images at the input size of the network, still uint8."""
        if images.ndim != 4 or images.shape[-1] != 3 or images.dtype != np.uint8:
            raise BrittleError(f"a model takes images N×H×W×3 of uint8, got shape {images.shape} of {images.dtype}")
        if self.shown is None or images.shape[1:3] == self.shown:
            return images
        if self.crop is None:
            return resize(images, self.shown, self.interpolation)
        if self.size is not None:
            height, width = images.shape[1:3]
            sides = cover((height, width), self.size) if isinstance(self.size, int) else self.size
            images = resize(images, sides, self.interpolation)
        if not _covers(images.shape[1:3], self.shown):
            raise BrittleError(f"images of {images.shape[1:3]} are smaller than crop={self.crop}; give a size as well")
        return central_crop(images, self.shown)

    def array(self, images: Image) -> NDArray[np.float32]:
        """The network's input N×H×W×3, without torch."""
        mean, std = (np.array(numbers, np.float32) for numbers in (self.mean, self.std))
        standardised: NDArray[np.float32] = (self.pixels(images).astype(np.float32) / np.float32(255) - mean) / std
        return standardised

    def tensor(self, images: Image, device: str) -> Any:
        """The network's input N×3×H×W; channels are last in memory."""
        import torch

        pixels = np.require(self.pixels(images), requirements=["C", "W"])  # torch warns of read-only arrays
        tensor = torch.from_numpy(pixels).to(device).permute(0, 3, 1, 2)
        mean, std = (torch.tensor(numbers, device=device).view(1, 3, 1, 1) for numbers in (self.mean, self.std))
        return (tensor.float() / 255 - mean) / std


def changed(prepare: Preprocessing, **overrides: Any) -> Preprocessing:
    """A preprocessing with some settings replaced; a size without a crop removes the crop."""
    overrides = {option: value for option, value in overrides.items() if value is not None}
    if "size" in overrides and "crop" not in overrides:
        overrides["crop"] = None
    return replace(prepare, **overrides)


def wanted_square(models: Sequence[Any]) -> int | None:
    """The common square input side of the models that have one; None if none has, or they differ."""
    squares = {getattr(getattr(model, "prepare", None), "square", None) for model in models} - {None}
    return squares.pop() if len(squares) == 1 else None


def preprocessing_in_words(model: Any) -> str:
    """The preprocessing of a model in one line."""
    description = getattr(model, "preprocessing_in_words", None) or getattr(
        getattr(model, "prepare", None), "in_words", None
    )
    return description if isinstance(description, str) else "its own; it is given the images as they are"


def _size_text(sides: int | Sides) -> str:
    height, width = _pair(sides)
    return f"{width}×{height}"


def _pair(sides: int | Sides) -> Sides:
    return (sides, sides) if isinstance(sides, int) else sides


def _covers(outer: Sequence[int], inner: Sequence[int]) -> bool:
    return all(large >= small for large, small in zip(outer, inner, strict=True))


def _finite(*numbers: tuple[float, ...]) -> bool:
    return all(math.isfinite(number) for triple in numbers for number in triple)


def _sides(field: str, value: Any) -> int | Sides | None:
    if value is None:
        return None
    is_pair = isinstance(value, tuple | list)
    sides = tuple(value) if is_pair else (value,)
    if len(sides) != 1 + is_pair or not all(isinstance(side, int | np.integer) and side > 0 for side in sides):
        raise BrittleError(f"{field} is a whole number above 0, or two of them, height and width; got {value!r}")
    return (int(sides[0]), int(sides[1])) if is_pair else int(sides[0])


DEMO_SIDE = 32
"""The bundled models were trained on images of CIFAR-10."""


def input_side(model: Model) -> int | None:
    """The side of the square images that a model was trained on, if it is known."""
    if model.name.startswith("demo-"):
        return DEMO_SIDE
    shown = getattr(getattr(model, "prepare", None), "shown", None)
    return None if shown is None else int(min(shown))


def resizes_images(model: Model) -> bool:
    """Whether a model brings images of any size to its own."""
    return getattr(getattr(model, "prepare", None), "shown", None) is not None


def output_names(model: Model, image: Image) -> list[str]:
    """The class names of a model's outputs: its own, those of the bundled models, or ImageNet's for 1,000 outputs.

    The list is empty where they are unknown. `image` is H×W×3 and is shown to the model to count its outputs.
    """
    if getattr(model, "classes", ()):
        return list(model.classes)  # type: ignore[attr-defined]
    if model.name.startswith("demo-"):
        return list(CIFAR10)
    return list(imagenet_names()) if model.scores(image[None]).shape[1] == 1000 else []
