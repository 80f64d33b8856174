"""YAML as text, for whoever has no package that writes it: blocks of keys and lists, with quoted texts."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

NOT_PRINTABLE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]|[\ud800-\udfff]")
"""What JSON leaves as it is and YAML does not take inside quotes."""

PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
WORDS = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}
"""Keys that readers of YAML 1.1 do not take for text unless they are quoted."""


def yaml_text(data: Any) -> str:
    """Plain data as YAML that every reader takes for the same data."""
    return "\n".join(_lines(data)) + "\n"


def _lines(data: Any) -> list[str]:
    if isinstance(data, Mapping) and data:
        lines = []
        for key, value in data.items():
            inner = _lines(value)
            name = key if PLAIN_KEY.fullmatch(key) and key.lower() not in WORDS else _scalar(key)
            nested = isinstance(value, Mapping | list) and bool(value)
            lines += [f"{name}:", *(f"  {line}" for line in inner)] if nested else [f"{name}: {inner[0]}"]
        return lines
    if isinstance(data, list) and data:
        blocks = [_lines(value) for value in data]
        return [f"{'  ' if i else '- '}{line}" for block in blocks for i, line in enumerate(block)]
    return [_scalar(data)]


def _scalar(value: Any) -> str:
    if isinstance(value, Mapping | list):
        return "{}" if isinstance(value, Mapping) else "[]"
    text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return NOT_PRINTABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
