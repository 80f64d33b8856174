"""Schemes by name, and from a function of one's own."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brittle._errors import BrittleError, BrittleTypeError, did_you_mean
from brittle._types import Image
from brittle._user_code import load_module, public_callables
from brittle.benchmarks import Benchmark, Entry, load_benchmark
from brittle.corruptions.draws import Draws
from brittle.training.augmentation.operations import BASES, COLOUR, GEOMETRIC
from brittle.training.augmentation.schemes import (
    AugMix,
    AutoAugment,
    FlipCrop,
    PatchGaussian,
    RandomAffine,
    Scheme,
    check_shape,
    grey_levels_of,
    seeded,
)


class Corrupted:
    """An augmentation that corrupts half of the images by a benchmark, as NOC trains.

    For each image and epoch a coin is thrown, a corruption is picked, then one of its levels (a range gives each image
    its own severity). Half of a batch is corrupted on average, as in the authors' code.
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
        """What tells it from others."""
        names = [entry.id for entry in self.entries]
        return {"kind": "Corrupted", "benchmark": self.benchmark.hash, "corruptions": names, "share": self.share}


KINDS = ("array", "pil", "tensor", "named")
CHECKED = 8
"""Calls that are made twice, to see whether the same seed gives the same image."""


class FromCallable:
    """A callable on one image that draws random numbers by itself.

    Its randomness cannot be addressed, only seeded: before each call the global generators of Python, NumPy and torch
    are seeded from the draws, and a `set_random_seed` of its own, as albumentations has, is called; afterwards the
    global states are what they were. Calls therefore wait for each other. Do not train a network that itself draws
    random numbers, such as dropout, while a thread calls this. The first calls are made twice, and one that does not
    give the same image again raises.

    Args:
        function: the callable.
        name: what reports and stored features call it; change `version` when what it does changes.
        takes: "array" for H×W×3 uint8, "pil" for a PIL image, "tensor" for a torch tensor 3×H×W of uint8, "named" for
            `function(image=array)["image"]` as in albumentations. What comes back may be any of these; floats are
            in [0, 1], and other values are refused.
    """

    def __init__(self, function: Callable[..., Any], *, name: str, version: str = "1", takes: str = "array") -> None:
        if not callable(function):
            raise BrittleTypeError(
                f"an augmentation is a callable on one image, got {function!r} ({type(function).__name__})"
            )
        if takes not in KINDS:
            raise BrittleError(f"takes must be one of {', '.join(KINDS)}, got {takes!r}")
        self.function, self.name, self.version, self.takes = function, name, version, takes
        self._unchecked = CHECKED

    def __repr__(self) -> str:
        return f"FromCallable({self.name!r}, version={self.version!r})"

    def to_dict(self) -> dict[str, Any]:
        """What tells it from others."""
        return {"kind": "FromCallable", "name": self.name, "version": self.version, "takes": self.takes}

    def __call__(self, image: Image, draws: Draws) -> NDArray[Any]:
        """One augmented image."""
        seed = int(draws.key("seed")[0])
        changed = self._called(image, seed)
        check_shape(self, image.shape, changed.shape)
        if self._unchecked > 0:
            self._unchecked -= 1
            if not np.array_equal(changed, self._called(image, seed)):
                raise BrittleError(
                    f"{self!r} gives another image when it is called again with the same seeds, so it is no fixed "
                    "transform; let it draw from the global generators (random.random, np.random.normal, torch.rand), "
                    "not from one that it makes itself (np.random.default_rng()), or let it take the draws as a second "
                    "argument: def augment(image, draws), draws.uniform('angle', -30, 30)"
                )
        return changed

    def _called(self, image: Image, seed: int) -> NDArray[Any]:
        with seeded(seed):
            if hasattr(self.function, "set_random_seed"):
                self.function.set_random_seed(seed % 2**32)
            if self.takes == "named":
                given = self.function(image=image.copy())["image"]
            else:
                given = self.function(_shown(image, self.takes))
            return grey_levels_of(_array(given), image, repr(self.name))


def _shown(image: Image, takes: str) -> Any:
    if takes == "pil":
        from PIL import Image as Pil

        return Pil.fromarray(image)
    if takes == "tensor":
        import torch

        return torch.from_numpy(np.ascontiguousarray(image.transpose(2, 0, 1)))
    return image.copy()


def _array(given: Any) -> Any:
    """What came back, with its channels last."""
    if not hasattr(given, "detach"):
        return given
    array: NDArray[Any] = given.detach().cpu().numpy()
    if array.ndim != 3:
        raise BrittleError(f"a tensor image is 3×H×W, the augmentation gave shape {array.shape}")
    return array.transpose(1, 2, 0)


class FromFile:
    """A function of an image and its draws, known by its name and by what its file says."""

    def __init__(self, function: Callable[[Image, Draws], NDArray[Any]], name: str, version: str) -> None:
        self.function, self.name, self.version = function, name, version
        self.takes_stacks = bool(getattr(function, "takes_stacks", False))

    def __call__(self, image: Image, draws: Draws) -> NDArray[Any]:
        """One augmented image."""
        return grey_levels_of(self.function(image, draws), image, repr(self.name))

    def __repr__(self) -> str:
        return f"FromFile({self.name!r}, version={self.version!r})"

    def to_dict(self) -> dict[str, Any]:
        """What tells it from others."""
        return {"kind": "FromFile", "name": self.name, "version": self.version}


def scheme_from_file(place: str) -> Scheme:
    """The scheme of "path/to/file.py:NAME": a function of an image H×W×3, or of an image and its `Draws`.

    It gives uint8, or float in [0, 1]. A function of an image alone draws from the global generators, which are seeded
    for it (see `FromCallable`). The
    code is run, so it must be code that you trust; features that were kept are known by the text of the file.
    """
    where, _, name = place.rpartition(":")
    path = Path(where).expanduser()
    module = load_module(path)
    if not hasattr(module, name):
        raise BrittleError(f"{where!r} has no {name!r}; {did_you_mean(name, public_callables(module))}")
    function, version = getattr(module, name), sha256(path.read_bytes()).hexdigest()[:12]
    if not callable(function) or isinstance(function, type):
        raise BrittleTypeError(
            f"{place!r} is no augmentation; it must be a function of an image, or of an image and Draws"
        )
    if isinstance(function, FromCallable):
        return function
    needed = [
        one
        for one in inspect.signature(function).parameters.values()
        if one.default is one.empty and one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)
    ]
    if len(needed) == 2:
        return FromFile(function, f"{path.name}:{name}", version)
    return FromCallable(function, name=f"{path.name}:{name}", version=version)


PLAIN: dict[str, Callable[[], Scheme]] = {
    "none": lambda: AugMix(()),
    "flip-crop": FlipCrop,
    "affine": RandomAffine,
    "augmix": AugMix,
    "augmix-geometric": lambda: AugMix(tuple(GEOMETRIC)),
    "augmix-colour": lambda: AugMix(tuple(COLOUR)),
    "autoaugment-cifar10": lambda: AutoAugment("cifar10"),
    "autoaugment-imagenet": lambda: AutoAugment("imagenet"),
    "patch-gaussian": PatchGaussian.cifar,
    "patch-gaussian-imagenet": PatchGaussian.imagenet,
}
"""What each name stands for."""

NAMES = (*PLAIN, "FILE.py:FUNCTION", "augmix:BASE+BASE", "corruptions:BENCHMARK", "corruptions:BENCHMARK:NAME+NAME")


def scheme_by_name(spec: str) -> Scheme:
    """An augmentation scheme: "none", "flip-crop", "augmix", "autoaugment-cifar10", "patch-gaussian", …

    "augmix:rotate+shear_x" has only these bases. "corruptions:cifar10-c" corrupts half of the images by that benchmark
    (a bundled name or a .toml file), and "corruptions:cifar10-c:fog+snow" by these corruptions of it.
    "my.py:augment" is a function of your own, see `scheme_from_file`.
    """
    if spec in PLAIN:
        return PLAIN[spec]()
    if ".py:" in spec:
        return scheme_from_file(spec)
    kind, colon, rest = spec.partition(":")
    if colon and not rest:
        raise BrittleError(f"{spec!r} names nothing after the colon; write one of {', '.join(NAMES[-3:])}")
    if kind == "augmix" and colon:
        names = rest.split("+")
        for name in names:
            if name not in BASES:
                raise BrittleError(f"AugMix has no base {name!r}; {did_you_mean(name, BASES)}")
        return AugMix(tuple(base for base in BASES if base in names))
    if kind == "corruptions" and colon:
        recipe, _, chosen = rest.rpartition(":") if ":" in rest and not rest.endswith(".toml") else (rest, "", "")
        return Corrupted(load_benchmark(recipe), chosen.split("+") if chosen else None)
    close = did_you_mean(kind if colon else spec, PLAIN)
    hint = f"{close} " if close.startswith("did") else ""
    raise BrittleError(f"there is no augmentation {spec!r}; {hint}An augmentation is one of {', '.join(NAMES)}")
