"""Any function on uint8 batches is a model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from brittle.arrays import Image
from brittle.models.model import Scores


@dataclass(frozen=True)
class CallableModel:
    """A function with a name."""

    name: str
    key: str
    function: Callable[[Image], Any]

    def scores(self, images: Image) -> Scores:
        """What the function gives."""
        scores: Scores = self.function(images)
        return scores


def from_callable(function: Callable[[Image], Any], *, name: str, version: str = "1") -> CallableModel:
    """A model from a function that takes N×H×W×3 uint8 and gives N×classes.

    Nobody can see from outside whether a function changed: give it another `version` when it did, so that stored
    results of the old one are not taken for the new one's.
    """
    if not callable(function):
        raise TypeError(f"a model is a function on batches of images, got {function!r} ({type(function).__name__})")
    return CallableModel(name, sha256(f"{name}\0{version}".encode()).hexdigest()[:16], function)
