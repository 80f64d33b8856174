"""How the images of a folder were made, kept beside them, so that a folder never holds images of two kinds."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from brittle._io import replacing

CARD = "sampling.json"


def check_card(folder: Path, settings: Mapping[str, Any]) -> bool:
    """Raise if a folder was made with another value of one of these settings; give whether it has a card at all."""
    path = folder / CARD
    if not path.is_file():
        return False
    try:
        there = dict(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, TypeError) as error:
        raise ValueError(
            f"{str(path)!r}, which says how images were made, is damaged; remove the folder to draw them again"
        ) from error
    other = [key for key, value in json.loads(json.dumps(settings)).items() if there.get(key) != value]
    if other:
        raise ValueError(
            f"{str(folder)!r} holds images made with another {' and '.join(sorted(other))}; "
            "use the same settings or another folder"
        )
    return True


def keep_card(folder: Path, settings: Mapping[str, Any]) -> None:
    """Write the settings of images that are about to be written; raise if the folder was made with others."""
    folder.mkdir(parents=True, exist_ok=True)
    if not check_card(folder, settings):
        with replacing(folder / CARD) as part:
            part.write_text(json.dumps(settings, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
