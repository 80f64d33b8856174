"""Identity as data: what a thing is in plain data, without what is at its default, and a digest of that.

Whatever is kept on disk is found again by such a digest, so a new field with a default changes no key, and neither does
the order of keys, a rename of a class's repr, or 1.0 where 1 was.
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
    """The fields of a dataclass that are not at their default and that count when two of them are compared."""
    found = {}
    for field in fields(thing):
        value = getattr(thing, field.name)
        default = field.default if field.default_factory is MISSING else field.default_factory()
        if field.compare and (default is MISSING or value != default):
            found[field.name] = value
    return found


def as_data(thing: Any) -> Any:
    """A thing in numbers, texts, lists and dictionaries: by its `to_dict()`, or its settings if it is a dataclass."""
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
        f"{thing!r} cannot be told from others of its kind ({type(thing).__name__}), so nothing of it can be kept; "
        "make it a dataclass, or give it a method to_dict() that gives its settings as numbers and texts"
    )


def canonical(thing: Any) -> str:
    """The one JSON text of a thing: keys in order, no spaces."""
    return json.dumps(as_data(thing), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def digest(thing: Any, *parts: bytes, length: int = 16) -> str:
    """A digest of what a thing is, and of bytes such as pixels or weights."""
    seen = sha256(canonical(thing).encode("utf-8", "surrogateescape"))
    for part in parts:
        seen.update(part)
    return seen.hexdigest()[:length]
