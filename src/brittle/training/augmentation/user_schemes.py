"""Schemes by name and from user functions, whose global random state is seeded."""

from __future__ import annotations

import inspect
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from brittle._errors import BrittleError, BrittleTypeError, did_you_mean
from brittle._optional import public_callables, run_file
from brittle._types import Image
from brittle.benchmarks import load_benchmark
from brittle.corruptions import Draws
from brittle.training.augmentation.operations import BASES, COLOUR, GEOMETRIC
from brittle.training.augmentation.schemes import (
    AugMix,
    AutoAugment,
    Corrupted,
    FlipCrop,
    PatchGaussian,
    RandomAffine,
    Scheme,
    check_shape,
    grey_levels_of,
)

_global_state = RLock()
"""The lock of the global random state: one thread at a time may seed it."""


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Seed the global generators of Python, NumPy and (if it is loaded) torch, and restore their states at the end.

    Other threads that draw from them in the meantime are affected; those that use `seeded` wait for each other.
    """
    with _global_state:
        torch = sys.modules.get("torch")
        python, numpy = random.getstate(), np.random.get_state()  # noqa: NPY002  # which user code uses
        tensors = None if torch is None else torch.random.get_rng_state()
        try:
            random.seed(seed)
            np.random.seed(seed % 2**32)  # noqa: NPY002
            if torch is not None:
                torch.random.default_generator.manual_seed(seed)
            yield
        finally:
            random.setstate(python)
            np.random.set_state(numpy)  # noqa: NPY002
            if torch is not None:
                torch.random.set_rng_state(tensors)


KINDS = ("array", "pil", "tensor", "named")
CHECKED = 8
"""The number of first calls that are repeated, to check that the same seed gives the same image."""


class FromCallable:
    """A callable on one image that draws random numbers by itself.

    Its randomness can only be seeded: before each call the global generators of Python, NumPy and torch are seeded from
    the draws, and its `set_random_seed`, if any, is called, as albumentations has; afterwards the global states are
    restored. Calls therefore wait for each other. Do not train a network that draws random numbers, such as dropout,
    while a thread calls this. The first calls are repeated, and one that does not give the same image raises.

    Args:
        function: the callable.
        name: its name in reports and stored features; change `version` when its behaviour changes.
        takes: "array" for H×W×3 uint8, "pil" for a PIL image, "tensor" for a torch tensor 3×H×W of uint8, "named" for
            `function(image=array)["image"]` as in albumentations. The result may be any of these; floats are
            in [0, 1], and other values raise.
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
        """The settings that identify it."""
        return {"kind": "FromCallable", "name": self.name, "version": self.version, "takes": self.takes}

    def __call__(self, image: Image, draws: Draws) -> NDArray[Any]:
        """One augmented image."""
        seed = int(draws.key("seed")[0])
        augmented = self._call_seeded(image, seed)
        check_shape(self, image.shape, augmented.shape)
        if self._unchecked > 0:
            self._unchecked -= 1
            if not np.array_equal(augmented, self._call_seeded(image, seed)):
                raise BrittleError(
                    f"{self!r} gives another image when it is called again with the same seeds, so it is not "
                    "reproducible; draw from the global generators (random.random, np.random.normal, torch.rand), "
                    "not from a new one (np.random.default_rng()), or take the draws as a second "
                    "argument: def augment(image, draws), draws.uniform('angle', -30, 30)"
                )
        return augmented

    def _call_seeded(self, image: Image, seed: int) -> NDArray[Any]:
        with seeded(seed):
            if hasattr(self.function, "set_random_seed"):
                self.function.set_random_seed(seed % 2**32)
            if self.takes == "named":
                result = self.function(image=image.copy())["image"]
            else:
                result = self.function(_convert(image, self.takes))
            return grey_levels_of(_array(result), image, repr(self.name))


def _convert(image: Image, takes: str) -> Any:
    if takes == "pil":
        from PIL import Image as Pil

        return Pil.fromarray(image)
    if takes == "tensor":
        import torch

        return torch.from_numpy(np.ascontiguousarray(image.transpose(2, 0, 1)))
    return image.copy()


def _array(result: Any) -> Any:
    """The result of a function as an array, channels last."""
    if not hasattr(result, "detach"):
        return result
    array: NDArray[Any] = result.detach().cpu().numpy()
    if array.ndim != 3:
        raise BrittleError(f"a tensor image is 3×H×W, the augmentation gave shape {array.shape}")
    return array.transpose(1, 2, 0)


class FromFile:
    """A function of an image and its draws, identified by its name and a digest of its file."""

    def __init__(self, function: Callable[[Image, Draws], NDArray[Any]], name: str, version: str) -> None:
        self.function, self.name, self.version = function, name, version
        self.takes_stacks = bool(getattr(function, "takes_stacks", False))

    def __call__(self, image: Image, draws: Draws) -> NDArray[Any]:
        """One augmented image."""
        return grey_levels_of(self.function(image, draws), image, repr(self.name))

    def __repr__(self) -> str:
        return f"FromFile({self.name!r}, version={self.version!r})"

    def to_dict(self) -> dict[str, Any]:
        """The settings that identify it."""
        return {"kind": "FromFile", "name": self.name, "version": self.version}


def scheme_from_file(place: str) -> Scheme:
    """The scheme of "path/to/file.py:NAME": a function of an image H×W×3, or of an image and its `Draws`.

    It returns uint8, or float in [0, 1]. A function of an image alone draws from the global generators, which are
    seeded for it (see `FromCallable`). The file is executed, so it must be trusted. Stored features are identified by a
    digest of the file.
    """
    file, _, name = place.rpartition(":")
    path = Path(file).expanduser()
    module = run_file(path)
    if not hasattr(module, name):
        raise BrittleError(f"{file!r} has no {name!r}; {did_you_mean(name, public_callables(module))}")
    function, version = getattr(module, name), sha256(path.read_bytes()).hexdigest()[:12]
    if not callable(function) or isinstance(function, type):
        raise BrittleTypeError(
            f"{place!r} is not an augmentation; it must be a function of an image, or of an image and Draws"
        )
    if isinstance(function, FromCallable):
        return function
    required = [
        parameter
        for parameter in inspect.signature(function).parameters.values()
        if parameter.default is parameter.empty
        and parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]
    if len(required) == 2:
        return FromFile(function, f"{path.name}:{name}", version)
    return FromCallable(function, name=f"{path.name}:{name}", version=version)


PLAIN: dict[str, Callable[[], Scheme]] = {
    "none": lambda: AugMix(()),
    "flip-crop": FlipCrop,
    "affine": RandomAffine,
    "augmix": AugMix,
    "augmix-imagenet": AugMix.imagenet,
    "augmix-geometric": lambda: AugMix(tuple(GEOMETRIC)),
    "augmix-colour": lambda: AugMix(tuple(COLOUR)),
    "autoaugment-cifar10": lambda: AutoAugment("cifar10"),
    "autoaugment-imagenet": lambda: AutoAugment("imagenet"),
    "patch-gaussian": PatchGaussian.cifar,
    "patch-gaussian-imagenet": PatchGaussian.imagenet,
}
"""The scheme of each name."""

NAMES = (
    *PLAIN,
    "augmix,severity=S",
    "FILE.py:FUNCTION",
    "augmix:BASE+BASE",
    "corruptions:BENCHMARK",
    "corruptions:BENCHMARK:NAME+NAME",
)


def scheme_by_name(spec: str) -> Scheme:
    """An augmentation scheme: "none", "flip-crop", "augmix", "autoaugment-cifar10", "patch-gaussian", …

    "augmix" has severity 3, as on CIFAR-10, and "augmix-imagenet" severity 1 and whole pixels and degrees.
    "augmix:rotate+shear_x" is AugMix with these bases only, "augmix,severity=2" at another severity.
    "corruptions:cifar10-c" corrupts half of the images by that benchmark (a bundled name or a .toml file), and
    "corruptions:cifar10-c:fog+snow" by these corruptions of it.
    "my.py:augment" is a user function, see `scheme_from_file`.
    """
    if spec in PLAIN:
        return PLAIN[spec]()
    if ".py:" in spec:
        return scheme_from_file(spec)
    plain, comma, severity = spec.partition(",severity=")
    if comma and plain.partition(":")[0] in ("augmix", "augmix-imagenet", "augmix-geometric", "augmix-colour"):
        return _at_severity(scheme_by_name(plain), spec, severity)
    kind, colon, arguments = spec.partition(":")
    if colon and not arguments:
        raise BrittleError(f"{spec!r} names nothing after the colon; write one of {', '.join(NAMES[-3:])}")
    if kind == "augmix" and colon:
        names = arguments.split("+")
        for name in names:
            if name not in BASES:
                raise BrittleError(f"AugMix has no base {name!r}; {did_you_mean(name, BASES)}")
        return AugMix(tuple(base for base in BASES if base in names))
    if kind == "corruptions" and colon:
        has_names = ":" in arguments and not arguments.endswith(".toml")
        recipe, _, chosen = arguments.rpartition(":") if has_names else (arguments, "", "")
        return Corrupted(load_benchmark(recipe), chosen.split("+") if chosen else None)
    suggestion = did_you_mean(kind if colon else spec, PLAIN)
    hint = f"{suggestion} An" if suggestion.startswith("did") else "an"
    raise BrittleError(f"there is no augmentation {spec!r}; {hint} augmentation is one of {', '.join(NAMES)}")


def schemes_by_name(specs: Sequence[str]) -> dict[str, Scheme]:
    """Augmentation schemes by the texts that name them; see `scheme_by_name`."""
    if not specs:
        raise BrittleError("name at least one augmentation, such as augmix; got none")
    return {spec: scheme_by_name(spec) for spec in specs}


def _at_severity(scheme: Scheme, spec: str, severity: str) -> Scheme:
    assert isinstance(scheme, AugMix)
    try:
        return replace(scheme, severity=float(severity))
    except ValueError as error:
        if isinstance(error, BrittleError):
            raise
        raise BrittleError(f"the severity of AugMix is a number, such as 3; got {spec!r}") from None
