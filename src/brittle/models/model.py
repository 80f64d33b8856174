"""A model takes a batch of images and gives class scores; its preprocessing is part of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from brittle._errors import BrittleError, BrittleTypeError, model_errors
from brittle._types import Image
from brittle._user_code import code_digest

Scores = NDArray[np.float32]
"""N×classes; the largest is the prediction."""


@runtime_checkable
class Model(Protocol):
    """Anything with a name, a key that changes when its weights do, and scores for a batch N×H×W×3 of uint8."""

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


def checked_scores(model: Model, images: Image, classes: int | None = None, *, where: str = "") -> Scores:
    """The scores of a batch, or one sentence that says what is wrong with them; `where` says what is shown."""
    with model_errors(model.name, f"on {where or f'{len(images)} images'}"):
        scores = np.asarray(model.scores(np.array(images)), np.float32)  # its own copy, which it may write to
    if scores.ndim != 2 or len(scores) != len(images):
        raise BrittleError(
            f"the model {model.name!r} gave scores of shape {scores.shape} for {len(images)} images; "
            "it must give one row of class scores for each"
        )
    if classes is not None and scores.shape[1] != classes:
        raise BrittleError(
            f"the model {model.name!r} gives {scores.shape[1]} scores an image, but the data has labels of {classes} "
            "classes; is it a model for other data?"
        )
    if not np.isfinite(scores).all():
        raise BrittleError(
            f"the model {model.name!r} gave scores that are not numbers; look at its weights or its dtype"
        )
    return scores


def probabilities(scores: Scores) -> Scores:
    """Scores as probabilities: as they are if every row already is one, else their softmax."""
    if (scores >= 0).all() and np.allclose(scores.sum(1), 1, atol=1e-3):
        return scores
    raised = np.exp(scores - scores.max(1, keepdims=True))
    return np.asarray(raised / raised.sum(1, keepdims=True), np.float32)


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
