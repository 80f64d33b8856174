"""A folder belongs to one piece of work."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from brittle.datasets.atomic import replacing


def claim(path: Path, about: Mapping[str, Any], what: str) -> None:
    """Write down in `path` what a folder holds, or raise if it holds something else already."""
    wanted = json.loads(json.dumps(about))
    if path.is_file():
        known = json.loads(path.read_text(encoding="utf-8"))
        for key, value in wanted.items():
            if known.get(key) != value:
                raise ValueError(
                    f"{str(path.parent)!r} holds {what} with {key} {known.get(key)}, and this asks for {value}; choose "
                    "another folder"
                )
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as part:
        part.write_text(json.dumps(wanted, indent=1), encoding="utf-8")


def weights_key(path: str | Path | None) -> str | None:
    """A file of weights by its name and what is in it: another file of the same name is another start."""
    if path is None:
        return None
    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(f"there is no file of weights {str(path)!r} to start from")
    return f"{file.name} {sha256(file.read_bytes()).hexdigest()[:8]}"
