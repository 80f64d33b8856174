"""Writing the small part of TOML that recipes need; the standard library only reads it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def dumps(data: Mapping[str, Any]) -> str:
    """Plain values first, then one [[key]] block for each item of a list of tables."""
    lines = [f"{key} = {_value(value)}" for key, value in data.items() if not _is_blocks(value)]
    for key, value in data.items():
        if _is_blocks(value):
            for block in value:
                lines += ["", f"[[{key}]]", *(f"{name} = {_value(item)}" for name, item in block.items())]
    return "\n".join(lines) + "\n"


def _is_blocks(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, Mapping) for item in value)


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, str | Path):
        return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_value, value)) + "]"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_value(item)}" for key, item in value.items()) + " }"
    raise TypeError(f"a recipe cannot hold {value!r} ({type(value).__name__})")
