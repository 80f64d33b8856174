"""Any function on uint8 batches is a model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from brittle.arrays import Image
from brittle.corruptions.source_code import code_digest
from brittle.models.model import Scores


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
        raise TypeError(f"a model is a function on batches of images, got {function!r} ({type(function).__name__})")
    code = code_digest(function, state=version is None)
    if code is None and version is None:
        raise ValueError(
            f"the model {name!r} is {function!r}, which has no Python code that could be told from other code; give it "
            "a version, such as version='1', and another one when it changes"
        )
    key = sha256(f"{name}\0{version}\0{code}".encode()).hexdigest()[:16]
    return CallableModel(name, key, function, origin)
