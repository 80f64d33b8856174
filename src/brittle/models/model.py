"""A model maps a batch of images to class scores; its preprocessing is part of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from brittle._errors import BrittleError, BrittleTypeError
from brittle._identity import code_digest
from brittle._types import Image

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
        """The name in results."""
        ...

    @property
    def key(self) -> str:
        """An identifier that changes with the weights and anything else that the scores depend on."""
        ...

    def scores(self, images: Image) -> Scores:
        """Class scores of a batch, as probabilities or logits."""
        ...


def as_array(scores: Any) -> Any:
    """Scores of torch, JAX, TensorFlow or Keras, on any device and of any precision, as an array of NumPy."""
    if hasattr(scores, "detach"):
        scores = scores.detach().cpu()
        return (scores.float() if scores.is_floating_point() else scores).numpy()
    array = np.asarray(scores)
    if array.dtype == object and hasattr(scores, "__dlpack__"):
        array = np.from_dlpack(scores)
    return array.astype(np.float32) if array.dtype.name == "bfloat16" else array  # a type that NumPy has from others


@dataclass(frozen=True)
class CallableModel:
    """A function with a name."""

    name: str
    key: str
    function: Callable[[Image], Any]
    origin: str = ""

    def scores(self, images: Image) -> Scores:
        """The scores that the function returns, as an array of NumPy."""
        scores: Scores = as_array(self.function(images))
        return scores


@dataclass(frozen=True)
class AdaptiveCallableModel(CallableModel):
    """A function with a name that adapts to what it is shown, and has a `reset`."""

    def reset(self) -> None:
        """Let the function forget all batches."""
        self.function.reset()  # type: ignore[attr-defined]


def from_callable(
    function: Callable[[Image], Any], *, name: str, version: str | None = None, origin: str = ""
) -> CallableModel:
    """A model from a function that takes N×H×W×3 uint8 and returns N×classes.

    Its key covers its code and the values that the code uses (see `code_digest`), so that stored results of
    different functions are not mixed up. Files that it reads while it runs, and the contents of objects that cannot be
    pickled, are not covered: give another `version` when they change. With a version the key still covers the code,
    but not the values. An object with a method `reset` adapts to what it is shown, see `AdaptiveModel`.

    Args:
        function: the function, or any object that can be called.
        name: the name in results.
        version: required for a callable without Python code, such as a builtin.
        origin: where it comes from, to distinguish models of the same name.
    """
    if not callable(function):
        raise BrittleTypeError(
            f"a model is a function on batches of images, got {function!r} ({type(function).__name__})"
        )
    code = code_digest(function, state=version is None)
    if code is None and version is None:
        raise BrittleError(
            f"the model {name!r} is {function!r}, which has no Python code to identify it by; give it a version, "
            "such as version='1', and another one when it changes"
        )
    key = sha256(f"{name}\0{version}\0{code}".encode()).hexdigest()[:16]
    kind = AdaptiveCallableModel if callable(getattr(function, "reset", None)) else CallableModel
    return kind(name, key, function, origin)


SOURCES: dict[str, Callable[..., Model]] = {}
"""The function that builds the models of each scheme: `SOURCES["timm"]("resnet50")` for the text timm:resnet50."""

Builder = TypeVar("Builder", bound=Callable[..., Any])


def model_source(scheme: str) -> Callable[[Builder], Builder]:
    """Register a function that builds the models of texts such as scheme:NAME; it is called with the name.

    Its keyword-only arguments are the options of such a text; `device` is one of them. `load_model`, `evaluate` and the
    command line find it once its module is imported; those of this package always are.
    """
    if not scheme or ":" in scheme or "," in scheme or len(scheme) == 1:  # one letter is a drive
        raise BrittleError(f"a scheme is a word of two letters or more without : and , got {scheme!r}")

    def register(builder: Builder) -> Builder:
        registered = SOURCES.get(scheme)
        if registered is not None and registered.__module__ != builder.__module__:
            raise BrittleError(
                f"the model scheme {scheme!r} is already registered by {registered.__module__}.{registered.__name__}"
            )
        SOURCES[scheme] = builder
        return builder

    return register
