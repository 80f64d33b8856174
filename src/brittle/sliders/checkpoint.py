"""A training that was interrupted goes on where it was."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from brittle._io import missing_or_damaged, replacing
from brittle.models.needs import needs


def save_checkpoint(path: str | Path, state: Mapping[str, Any], recipe: Mapping[str, Any]) -> None:
    """Write tensors, numbers and texts to one file, completely or not at all."""
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    with replacing(file) as part:
        needs("torch").save({**state, "recipe": json.dumps(recipe, sort_keys=True)}, part)


def load_checkpoint(path: str | Path | None, recipe: Mapping[str, Any], steps: int) -> dict[str, Any] | None:
    """The state that was saved with the same recipe, or None if there is none yet; nothing but numbers is read.

    It may go on to more steps than it was begun for. One that has gone further than `steps` already raises.
    """
    if path is None or missing_or_damaged(Path(path), "the training starts anew"):
        return None
    try:
        state: dict[str, Any] = needs("torch").load(path, map_location="cpu", weights_only=True)
        theirs, done = json.loads(state["recipe"]), len(state["losses"])
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        raise ValueError(f"{str(path)!r} is no checkpoint of ours, remove it to start anew: {reason}") from error
    ours = json.loads(json.dumps(recipe))
    other = sorted(key for key in theirs.keys() | ours.keys() if theirs.get(key) != ours.get(key))
    if other:
        change = ", ".join(f"{key} = {theirs.get(key)!r} and not {ours.get(key)!r}" for key in other)
        raise ValueError(f"{str(path)!r} holds a training with {change}; remove it to start anew")
    if done > steps:
        raise ValueError(f"{str(path)!r} holds a training of {done} steps and not {steps}; remove it to start anew")
    return state
