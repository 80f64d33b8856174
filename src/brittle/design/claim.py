"""A folder belongs to one piece of work."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from brittle._io import create, locked, missing_or_damaged

RESULTS = (".safetensors", ".pt", ".parquet", ".csv", ".npy")
"""What a folder holds once work was done in it."""


def claim(path: Path, about: Mapping[str, Any], what: str) -> None:
    """Write down in `path` what a folder holds, or raise if it holds something else already."""
    wanted = json.loads(json.dumps(about))
    with locked(path.parent):
        if missing_or_damaged(path, "it is written again if there is nothing beside it"):
            if path.is_file() and any(item.suffix in RESULTS for item in path.parent.rglob("*")):
                raise ValueError(
                    f"{str(path)!r} is empty or cut off, so nobody knows how the {what} beside it were made; choose "
                    "another folder, or remove this one"
                )
            path.unlink(missing_ok=True)
            create(path, json.dumps(wanted, indent=1))
        known = json.loads(path.read_text(encoding="utf-8"))
    for key, value in wanted.items():
        if known.get(key) != value:
            raise ValueError(
                f"{str(path.parent)!r} holds {what} with {key} {known.get(key)}, and this asks for {value}; choose "
                "another folder"
            )


def weights_key(path: str | Path | None) -> str | None:
    """A file of weights by its name and what is in it: another file of the same name is another start."""
    if path is None:
        return None
    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(f"there is no file of weights {str(path)!r} to start from")
    return f"{file.name} {sha256(file.read_bytes()).hexdigest()[:8]}"
