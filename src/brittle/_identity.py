"""Identity as data: the settings of an object as plain data, without those at their defaults, and a digest of them.

Files on disk are keyed by such a digest. A new field with a default changes no key, and neither does the order of keys,
a changed repr, or 1.0 instead of 1.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from hashlib import sha256
from os import PathLike, fspath
from typing import Any

import numpy as np

from brittle._errors import BrittleTypeError


def settings(thing: Any) -> dict[str, Any]:
    """The fields of a dataclass that are not at their default and that take part in comparison (`compare=True`)."""
    changed = {}
    for field in fields(thing):
        value = getattr(thing, field.name)
        default = field.default if field.default_factory is MISSING else field.default_factory()
        if field.compare and (default is MISSING or value != default):
            changed[field.name] = value
    return changed


def as_data(thing: Any) -> Any:
    """An object as JSON data: by its `to_dict()` or, for a dataclass, by its `settings`."""
    if hasattr(thing, "to_dict") and not isinstance(thing, type):
        return as_data(thing.to_dict())
    if is_dataclass(thing) and not isinstance(thing, type):
        return {"kind": type(thing).__name__, **as_data(settings(thing))}
    if isinstance(thing, Mapping):
        return {str(key): as_data(value) for key, value in thing.items()}
    if isinstance(thing, list | tuple):
        return [as_data(item) for item in thing]
    if isinstance(thing, np.generic):
        return as_data(thing.item())
    if isinstance(thing, float) and thing.is_integer():
        return int(thing)
    if thing is None or isinstance(thing, bool | int | float | str):
        return thing
    if isinstance(thing, PathLike):
        return fspath(thing)
    raise BrittleTypeError(
        f"{thing!r} has no identity that can be saved ({type(thing).__name__}), so its results cannot be stored; "
        "make it a dataclass, or give it a method to_dict() that returns its settings as numbers and strings"
    )


def canonical(thing: Any) -> str:
    """The canonical JSON of an object: sorted keys, no spaces."""
    return json.dumps(as_data(thing), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def digest(thing: Any, *parts: bytes, length: int = 16) -> str:
    """A SHA-256 digest, cut to `length`, of an object's canonical JSON and of bytes such as pixels or weights."""
    hasher = sha256(canonical(thing).encode("utf-8", "surrogateescape"))
    for part in parts:
        hasher.update(part)
    return hasher.hexdigest()[:length]
