"""A model takes a batch of images and gives class scores; its preprocessing is part of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from brittle._errors import BrittleError, BrittleTypeError
from brittle._types import Image
from brittle._user_code import code_digest

Scores = NDArray[np.float32]
"""N×classes; the largest is the prediction."""


@runtime_checkable
class Model(Protocol):
    """Anything with a name, a key that changes when its weights do, and scores for a batch N×H×W×3 of uint8.

    >>> import brittle, numpy as np
    >>> class Darkness:
    ...     name, key = "darkness", "version 1"
    ...     def scores(self, images):
    ...         light = images.mean(axis=(1, 2, 3)) / 255
    ...         return np.stack([light, 1 - light], axis=1)
    >>> isinstance(Darkness(), brittle.Model)
    True
    """

    @property
    def name(self) -> str:
        """What results call it."""
        ...

    @property
    def key(self) -> str:
        """Another one when its weights, or anything else that its scores depend on, are others."""
        ...

    def scores(self, images: Image) -> Scores:
        """Class scores of a batch, as probabilities or logits."""
        ...


@dataclass(frozen=True)
class CallableModel:
    """A function with a name."""

    name: str
    key: str
    function: Callable[[Image], Any]
    origin: str = ""

    def scores(self, images: Image) -> Scores:
        """What the function gives."""
        scores: Scores = self.function(images)
        return scores


def from_callable(
    function: Callable[[Image], Any], *, name: str, version: str | None = None, origin: str = ""
) -> CallableModel:
    """A model from a function that takes N×H×W×3 uint8 and gives N×classes.

    Its key covers its code and the values that the code uses (see `code_digest`), so that stored results of one
    function are not taken for another's. What it reads from files while it runs, and what lies inside objects that
    cannot be pickled, nobody can see from outside: give another `version` when that changed. With a version the code
    still counts and the values do not.

    Args:
        function: the function, or any object that can be called.
        name: what results call the model.
        version: needed for a callable that has no Python code, as a builtin.
        origin: where it comes from, to tell models of one name apart for readers.
    """
    if not callable(function):
        raise BrittleTypeError(
            f"a model is a function on batches of images, got {function!r} ({type(function).__name__})"
        )
    code = code_digest(function, state=version is None)
    if code is None and version is None:
        raise BrittleError(
            f"the model {name!r} is {function!r}, which has no Python code that could be told from other code; give it "
            "a version, such as version='1', and another one when it changes"
        )
    key = sha256(f"{name}\0{version}\0{code}".encode()).hexdigest()[:16]
    return CallableModel(name, key, function, origin)


SOURCES: dict[str, Callable[..., Model]] = {}
"""What makes the model of each scheme: `SOURCES["timm"]("resnet50")` for the text timm:resnet50."""

Maker = TypeVar("Maker", bound=Callable[..., Any])


def model_source(scheme: str) -> Callable[[Maker], Maker]:
    """Let a function make the models of texts that begin with `scheme` and a colon; it is given what comes after.

    Its keyword-only arguments are the options of such a text; `device` is one of them. `load_model`, `evaluate` and the
    command line know it as soon as its module is imported, and those of this package always are.
    """
    if not scheme or ":" in scheme or "," in scheme or len(scheme) == 1:  # one letter is a drive
        raise BrittleError(f"a scheme is a word of two letters or more without : and , got {scheme!r}")

    def register(maker: Maker) -> Maker:
        there = SOURCES.get(scheme)
        if there is not None and there.__module__ != maker.__module__:
            raise BrittleError(f"there is a source of models {scheme!r} already, {there.__module__}.{there.__name__}")
        SOURCES[scheme] = maker
        return maker

    return register
