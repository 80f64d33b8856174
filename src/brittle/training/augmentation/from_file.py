"""An augmentation of somebody's own, named by a file and a function in it."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from hashlib import sha256
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from brittle.arrays import Image
from brittle.corruptions.draws import Draws
from brittle.datasets.near import nearest
from brittle.training.augmentation.fixed import Scheme, grey_levels_of
from brittle.training.augmentation.from_function import FromCallable


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


def scheme_from_file(place: str) -> Scheme:
    """The scheme of "path/to/file.py:NAME": a function of an image H×W×3, or of an image and its `Draws`.

    It gives uint8, or float in [0, 1]. A function of an image alone draws from the global generators, which are seeded
    for it (see `FromCallable`). The
    code is run, so it must be code that you trust; features that were kept are known by the text of the file.
    """
    where, _, name = place.rpartition(":")
    path = Path(where).expanduser()
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {str(path)!r} with an augmentation")
    spec = spec_from_file_location(f"brittle_file_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    known = [key for key, value in vars(module).items() if callable(value) and not key.startswith("_")]
    if not hasattr(module, name):
        raise ValueError(f"{where!r} has no {name!r}; {nearest(name, known)}")
    function, version = getattr(module, name), sha256(path.read_bytes()).hexdigest()[:12]
    if not callable(function) or isinstance(function, type):
        raise TypeError(f"{place!r} is no augmentation; it must be a function of an image, or of an image and Draws")
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
