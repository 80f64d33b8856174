"""Augmentation schemes: flip and crop, AugMix, AutoAugment, Patch Gaussian, mixtures, corruptions of a benchmark."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from brittle._errors import BrittleError, BrittleTypeError, did_you_mean
from brittle._types import Image, check_seed
from brittle.benchmarks import Benchmark, Entry
from brittle.corruptions import Draws
from brittle.corruptions.kernels.random_words import normals
from brittle.training.augmentation import pillow_operations
from brittle.training.augmentation.operations import BASES, COLOUR, GEOMETRIC, LOWEST, TRUNCATED, Base
from brittle.training.augmentation.pillow_operations import affine

ADDRESS = "augmentation"
"""The address of the draws of a fixed transform: Draws(seed, ADDRESS, index)."""

Transform = Callable[[Image], NDArray[Any]]
"""From a stack of images N×H×W×3 to a stack of the same shape, uint8 or float on 0..255."""

ROUNDING = 1e-3
"""How far floats of user code may lie outside [0, 1]."""

BLACK, LIT = 1, 16
"""An image whose largest grey level is at most BLACK is black; one that reaches LIT is not."""


class Scheme(Protocol):
    """An augmentation: from one image H×W×3 and its draws to an image of the same shape.

    It returns uint8, or float in [0, 1]; bundled schemes return floats on 0..255.

    Equal draws give the same transform of any image. A scheme with a true attribute `takes_stacks` applies one
    transform to all images of a stack N×H×W×3, which is much faster. Stored features are identified by the settings of
    the scheme: it is a dataclass, or has a `to_dict()`.
    """

    def __call__(self, image: Image, draws: Draws, /) -> NDArray[Any]:
        """The augmented image."""
        ...


def fixed(scheme: Scheme, seed: int, index: int) -> Transform:
    """Transform number `index` of a scheme: a fixed set of random numbers, applied to all images."""
    draws = Draws(check_seed(seed), ADDRESS, index)

    def transform(images: Image) -> NDArray[Any]:
        if images.ndim != 4:
            raise BrittleError(f"a fixed transform takes a stack of images N×H×W×3, got shape {images.shape}")
        return on_stack(scheme, images, draws)

    return transform


def on_stack(scheme: Scheme, images: Image, draws: Draws) -> NDArray[Any]:
    """One sample of a scheme on each image of a stack."""
    if getattr(scheme, "takes_stacks", False):
        result = augmented(scheme, images, draws)
        check_shape(scheme, images.shape, np.shape(result))
        return result
    results = []
    for image in images:
        results.append(np.asarray(augmented(scheme, image, draws)))
        check_shape(scheme, image.shape, results[-1].shape)
    return np.stack(results)


def augmented(scheme: Callable[[Image, Draws], NDArray[Any]], image: Image, draws: Draws) -> NDArray[Any]:
    """An image or a stack under a scheme, as uint8 or float on 0..255."""
    result = scheme(image, draws)
    return result if _is_bundled(scheme) else grey_levels_of(result, image, repr(scheme))


def _is_bundled(scheme: object) -> bool:
    """Whether a scheme is bundled with brittle, and so returns 0..255."""
    return str(getattr(scheme, "__module__", "")).startswith("brittle.")


def grey_levels_of(result: Any, image: Image, name: str) -> NDArray[Any]:
    """The result of a user's augmentation of an image or a stack, validated and on 0..255.

    Floats are in [0, 1]. Other values raise an error that names the augmentation, and so does a black result of an
    image that is not black, which is usually an image divided by 255 and then rounded to uint8.
    """
    array: NDArray[Any] = np.asarray(result)
    if array.dtype.kind not in "fiu" or not array.size:
        raise BrittleTypeError(
            f"{name} gives {array.dtype} of shape {array.shape}; it must give an image as uint8 or float"
        )
    low, high = float(array.min()), float(array.max())
    is_float = array.dtype.kind == "f"
    if not (low >= -ROUNDING and high <= 1 + ROUNDING if is_float else low >= 0 and high <= 255):
        hint = "; divide by 255, or round and give uint8" if is_float and low >= -1 and 1 < high < 300 else ""
        given_values = "values that are not numbers" if np.isnan(low) else f"values from {low:g} to {high:g}"
        allowed = "floats in [0, 1]" if is_float else "whole numbers from 0 to 255"
        raise BrittleError(f"{name} gives {given_values}; it must give {allowed}{hint}")
    levels = np.clip(array, 0, 1) * array.dtype.type(255) if is_float else array.astype(np.uint8)
    if levels.shape == image.shape:
        over = (-3, -2, -1)
        black = (levels.max(axis=over) <= BLACK) & (image.max(axis=over) >= LIT)
        if black.any():
            raise BrittleError(
                f"{name} gives a black image where the input was not black (values from {low:g} to {high:g}); whole "
                "numbers are read as 0 to 255 and floats as [0, 1]"
            )
    return levels


def check_shape(scheme: object, before: tuple[int, ...], after: tuple[int, ...]) -> None:
    """Raise if a transform changed the shape of an image."""
    if before != after:
        raise BrittleError(
            f"{scheme!r} makes an image of shape {after} from one of shape {before}; an augmentation must keep the "
            "size, so crop or resize back to it"
        )


@dataclass(frozen=True)
class FlipCrop:
    """Flip half of the images, and shift each by up to `crop` pixels, black at the border, as the trainer does."""

    takes_stacks: ClassVar[bool] = True

    flip: bool = True
    crop: int = 4

    def __post_init__(self) -> None:
        if self.crop < 0:
            raise BrittleError(f"crop is a number of pixels from 0 upwards, got {self.crop}")

    def __call__(self, image: Image, draws: Draws) -> Image:
        """An image, or a stack of images, all with the same flip and shift."""
        if self.flip and draws.integer("flip", 2):
            image = image[..., ::-1, :]
        height, width = image.shape[-3:-1]
        top, left = (draws.integer(side, 2 * self.crop + 1) for side in ("top", "left"))
        around = ((0, 0),) * (image.ndim - 3)
        padded = np.pad(image, (*around, (self.crop, self.crop), (self.crop, self.crop), (0, 0)))
        return np.ascontiguousarray(padded[..., top : top + height, left : left + width, :])


@dataclass(frozen=True)
class RandomAffine:
    """Rotate by up to ± `degrees`, shear by up to ± `shear`, shift by up to ± `shift` of the side, about the centre.

    Each is uniform and independent. Bilinear, black outside; the result is not mixed with the clean image.
    """

    takes_stacks: ClassVar[bool] = True

    degrees: float = 5.0
    shear: float = 0.05
    shift: float = 0.05

    def __post_init__(self) -> None:
        if not min(self.degrees, self.shear, self.shift) >= 0:
            raise BrittleError(
                f"degrees, shear and shift are at least 0, got {self.degrees}, {self.shear} and {self.shift}"
            )

    def __call__(self, image: Image, draws: Draws) -> Image:
        """An image, or a stack of images, all under the same warp."""
        height, width = np.shape(image)[-3:-1]
        angle = math.radians(draws.uniform("angle", -self.degrees, self.degrees))
        cos, sin = math.cos(angle), math.sin(angle)
        shear = draws.uniform("shear", -self.shear, self.shear)
        right = draws.uniform("right", -self.shift, self.shift) * width
        down = draws.uniform("down", -self.shift, self.shift) * height
        a, b, d, e = cos, sin + shear * cos, -sin, cos - shear * sin
        x, y = width / 2, height / 2
        return affine(image, (a, b, x - a * x - b * y + right, d, e, y - d * x - e * y + down))


@dataclass(frozen=True)
class PatchGaussian:
    """Gaussian noise in a window at a random position, clipped at the border; σ ~ U(0, `sigma`) on the scale [0, 1].

    The window is `width` pixels wide, or U(low, high) for a pair; None is the whole image. The result is float32 on
    0..255. The paper trains on CIFAR-10 with the noise before flip and crop; the trainer of brittle applies every
    scheme after them.
    """

    takes_stacks: ClassVar[bool] = True

    width: float | tuple[float, float] | None = 25
    sigma: float = 1.0

    def __post_init__(self) -> None:
        low, high = self.width if isinstance(self.width, tuple) else (self.width, self.width)
        if low is not None and high is not None and not 0 <= low <= high:
            raise BrittleError(f"width is a number of pixels, or (low, high), or None; got {self.width!r}")
        if not self.sigma >= 0:
            raise BrittleError(f"sigma must be at least 0, got {self.sigma}")

    @classmethod
    def cifar(cls) -> PatchGaussian:
        """A window of 25 pixels, σ up to 1."""
        return cls(25, 1.0)

    @classmethod
    def imagenet(cls) -> PatchGaussian:
        """A window of up to 250 pixels, σ up to 1."""
        return cls((0, 250), 1.0)

    def __call__(self, image: Image, draws: Draws) -> NDArray[np.float32]:
        """A noisy image, or a stack of images under the same noise."""
        height, width, channels = image.shape[-3:]
        sigma = draws.uniform("sigma", 0, self.sigma)
        rows, columns = slice(None), slice(None)
        if self.width is not None:
            side = draws.uniform("width", *self.width) if isinstance(self.width, tuple) else self.width
            rows = _window(draws.integer("row", height), side)
            columns = _window(draws.integer("column", width), side)
        noise = normals(draws.key("noise"), height, width * channels).reshape(height, width, channels)
        out = image.astype(np.float32)
        window = out[..., rows, columns, :]
        np.clip(window + np.float32(255 * sigma) * noise[rows, columns], 0, 255, out=window)
        return out


def _window(centre: int, side: float) -> slice:
    return slice(max(centre - math.floor(side / 2), 0), centre + math.ceil(side / 2))


WIDTH, DEPTH = 3, 3


@dataclass(frozen=True)
class AugMix:
    """(1−m)·x + m·Σ wᵢ·chainᵢ(x), with w ~ Dirichlet(1, 1, 1), m ~ U(0, 1), and chains of one to three steps.

    Each step is one of `bases`, at a level uniform from 0.1 to `severity`. Without bases images are unchanged. The mix
    is float32 on 0..255 and not rounded, as in the authors' code. `truncated` translates by whole pixels and rotates by
    whole degrees, rounded towards zero.
    """

    takes_stacks: ClassVar[bool] = True

    bases: tuple[str, ...] = tuple(BASES)
    severity: float = 3.0
    truncated: bool = False

    def __post_init__(self) -> None:
        unknown = [name for name in self.bases if name not in BASES]
        if unknown:
            raise BrittleError(f"there is no augmentation {', '.join(unknown)}; there are: {', '.join(BASES)}")
        if not self.severity > LOWEST:
            raise BrittleError(f"severity must be above {LOWEST}, got {self.severity}")

    @classmethod
    def imagenet(cls) -> AugMix:
        """As the MSD paper trains ImageNet with it: severity 1, truncated."""
        return cls(severity=1.0, truncated=True)

    def __call__(self, image: Image, draws: Draws) -> NDArray[np.float32]:
        """One augmented image; equal draws give the same transform of any image, and of a stack of them."""
        if not self.bases:
            return image.astype(np.float32)
        weights = _dirichlet([draws.uniform(f"weight {i}") for i in range(WIDTH)])
        share = draws.uniform("share")
        mixed = image * np.float32(1 - share)
        for i, weight in enumerate(weights):
            mixed += np.float32(share * weight) * self._chain(image, draws, i)
        return mixed

    def _chain(self, image: Image, draws: Draws, i: int) -> Image:
        for step in range(1 + draws.integer(f"depth {i}", DEPTH)):
            step_name = f"{i}.{step}"
            operations = TRUNCATED if self.truncated else BASES
            base: Base = operations[self.bases[draws.integer(f"base {step_name}", len(self.bases))]]
            level = draws.uniform(f"level {step_name}", LOWEST, self.severity)
            image = base(image, level, 1.0 if draws.integer(f"sign {step_name}", 2) else -1.0)
        return image


def powerset() -> list[AugMix]:
    """The 512 schemes of the paper: every subset of the nine bases, at severity 3, the empty one first."""
    names = list(BASES)
    return [AugMix(tuple(_subset(names, mask))) for mask in range(2 ** len(names))]


def some_schemes(count: int, *, seed: int = 0) -> dict[str, AugMix]:
    """`count` schemes of the powerset by name: none, all geometric bases, all colour bases, all; others are drawn."""
    schemes = powerset()
    always = [AugMix(()), AugMix(tuple(GEOMETRIC)), AugMix(tuple(COLOUR)), AugMix()]
    if not len(always) <= count <= len(schemes):
        raise BrittleError(f"take {len(always)} to {len(schemes)} schemes of the powerset, got {count}")
    base_sets = {frozenset(scheme.bases) for scheme in always}
    others = [scheme for scheme in schemes if frozenset(scheme.bases) not in base_sets]
    ranks = {scheme: Draws(check_seed(seed), "powerset", "+".join(scheme.bases)).uniform("place") for scheme in others}
    chosen = [*always, *sorted(others, key=ranks.__getitem__)[: count - len(always)]]
    return {"+".join(scheme.bases) or "none": scheme for scheme in chosen}


def _subset(names: Collection[str], mask: int) -> list[str]:
    return [name for i, name in enumerate(names) if mask >> i & 1]


def _dirichlet(uniforms: list[float]) -> list[float]:
    """Dirichlet(1, …, 1): exponential draws, divided by their sum."""
    exponentials = [-math.log1p(-u) for u in uniforms]
    return [e / sum(exponentials) for e in exponentials]


POLICIES = Path(__file__).parent / "policies"

OPERATIONS: dict[str, Callable[[Image, float], Image]] = {
    "invert": lambda images, _: pillow_operations.invert(images),
    "autocontrast": lambda images, _: pillow_operations.autocontrast(images),
    "equalize": lambda images, _: pillow_operations.equalize(images),
    "posterize": lambda images, bits: pillow_operations.posterize(images, int(bits)),
    "solarize": pillow_operations.solarize,
    "brightness": pillow_operations.brightness,
    "contrast": pillow_operations.contrast,
    "colour": pillow_operations.colour,
    "sharpness": pillow_operations.sharpness,
    "rotate": pillow_operations.rotate,
    "shear_x": lambda images, by: pillow_operations.affine(images, (1, by, 0, 0, 1, 0)),
    "shear_y": lambda images, by: pillow_operations.affine(images, (1, 0, 0, by, 1, 0)),
    "translate_x": lambda images, by: pillow_operations.affine(images, (1, 0, by * np.shape(images)[-2], 0, 1, 0)),
    "translate_y": lambda images, by: pillow_operations.affine(images, (1, 0, 0, 0, 1, by * np.shape(images)[-3])),
}
"""From images and a magnitude to images; those without a magnitude ignore it."""


@dataclass(frozen=True)
class Operation:
    """An operation, its probability, and its magnitude: base ± value with a random sign, or value if base is None."""

    name: str
    probability: float
    base: float | None
    value: float


@dataclass(frozen=True)
class AutoAugment:
    """One sub-policy of "cifar10" or "imagenet", each of its two operations applied with its probability.

    Two quirks of the published code are kept: one CIFAR translation has no sign, and one ImageNet shear is 1 ± 0.45.
    Cutout, which the authors of AutoAugment add, is left out as in the MSD paper. Geometry is bilinear, black outside.
    """

    takes_stacks: ClassVar[bool] = True

    policy: str = "cifar10"

    def __post_init__(self) -> None:
        policies = sorted(path.stem for path in POLICIES.glob("*.csv"))
        if self.policy not in policies:
            raise BrittleError(f"AutoAugment has no policy {self.policy!r}; {did_you_mean(self.policy, policies)}")

    @property
    def sub_policies(self) -> tuple[tuple[Operation, ...], ...]:
        """The 25 pairs of operations."""
        return read_policy(self.policy)

    def __call__(self, image: Image, draws: Draws) -> Image:
        """An image, or a stack of images, under one sampled sub-policy."""
        chosen = self.sub_policies[draws.integer("policy", len(self.sub_policies))]
        for i, operation in enumerate(chosen):
            if draws.uniform(f"apply {i}") < operation.probability:
                image = OPERATIONS[operation.name](image, _magnitude(operation, draws, i))
        return image


def _magnitude(operation: Operation, draws: Draws, i: int) -> float:
    if operation.base is None:
        return operation.value
    return operation.base + (operation.value if draws.integer(f"sign {i}", 2) else -operation.value)


@cache
def read_policy(name: str) -> tuple[tuple[Operation, ...], ...]:
    """The sub-policies of a bundled table."""
    sub_policies: dict[int, list[Operation]] = {}
    with (POLICIES / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            base = float(row["base"]) if row["base"] else None
            operation = Operation(row["operation"], float(row["probability"]), base, float(row["value"] or 0))
            sub_policies.setdefault(int(row["policy"]), []).append(operation)
    return tuple(tuple(sub_policies[number]) for number in sorted(sub_policies))


@dataclass(frozen=True)
class Mixture:
    """One of several schemes, picked with probability proportional to its weight; by default equal weights.

    Each sample i picks independently, and the picked scheme gives the same transform i as it would alone. So mixtures
    of the same schemes with other weights differ only in the picks. A mixture in a mixture is flattened.
    """

    takes_stacks: ClassVar[bool] = True

    schemes: tuple[Scheme, ...]
    weights: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if not self.schemes:
            raise BrittleError("a mixture needs at least one scheme, got none")
        weights = self.weights or (1.0,) * len(self.schemes)
        if len(weights) != len(self.schemes):
            raise BrittleError(f"{len(self.schemes)} schemes need as many weights, got {len(weights)}")
        if not all(math.isfinite(weight) and weight >= 0 for weight in weights) or not sum(weights) > 0:
            raise BrittleError(f"weights are numbers from 0 upwards and not all 0, got {weights}")
        parts = [
            (part, weight / sum(weights) * share)
            for scheme, weight in zip(self.schemes, weights, strict=True)
            for part, share in (
                zip(scheme.schemes, scheme.weights, strict=True) if isinstance(scheme, Mixture) else [(scheme, 1.0)]
            )
        ]
        object.__setattr__(self, "schemes", tuple(part for part, _ in parts))
        object.__setattr__(self, "weights", tuple(share for _, share in parts))

    def __call__(self, image: Image, draws: Draws) -> NDArray[Any]:
        """An image, or a stack of images, augmented by the scheme that these draws pick."""
        scheme = self.picked(draws)
        return augmented(scheme, image, draws) if image.ndim == 3 else on_stack(scheme, image, draws)

    def picked(self, draws: Draws) -> Scheme:
        """The scheme that these draws pick."""
        uniform = draws.uniform("scheme")
        possible = [(scheme, weight) for scheme, weight in zip(self.schemes, self.weights, strict=True) if weight]
        for (scheme, _), cumulative in zip(possible, accumulate(weight for _, weight in possible), strict=True):
            if uniform < cumulative:
                return scheme
        return possible[-1][0]  # the weights may add up to a little less than 1


class Corrupted:
    """An augmentation that corrupts half of the images by a benchmark, as NOC trains.

    For each image and epoch it draws whether to corrupt, a corruption, then one of its levels (in a range, a severity
    per image). Half of a batch is corrupted on average, as in the authors' code.
    """

    def __init__(self, benchmark: Benchmark, corruptions: Sequence[str] | None = None, *, share: float = 0.5) -> None:
        if not 0 <= share <= 1:
            raise BrittleError(f"the share of corrupted images is between 0 and 1, got {share}")
        self.benchmark, self.share = benchmark, share
        self.entries: list[Entry] = (
            list(benchmark.entries) if corruptions is None else [benchmark.entry(name) for name in corruptions]
        )

    def __call__(self, image: Image, draws: Draws) -> Image:
        """The image, corrupted or not."""
        if draws.uniform("corrupted") >= self.share:
            return image
        entry = self.entries[draws.integer("corruption", len(self.entries))]
        level = entry.levels[draws.integer("level", len(entry.levels))]
        corrupted: Image = self.benchmark.apply(image, entry.id, level, draws.name)
        return corrupted

    def to_dict(self) -> dict[str, Any]:
        """The settings that identify it."""
        names = [entry.id for entry in self.entries]
        return {"kind": "Corrupted", "benchmark": self.benchmark.hash, "corruptions": names, "share": self.share}
