"""Pictures to files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from brittle._io import replacing

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

SAVING: dict[str, dict[str, Any]] = {
    ".png": {"format": "PNG", "optimize": True},
    ".jpg": {"format": "JPEG", "quality": 92, "subsampling": 0},
    ".jpeg": {"format": "JPEG", "quality": 92, "subsampling": 0},
    ".webp": {"format": "WEBP", "quality": 90, "method": 4},
}


def check_picture(output: Path) -> None:
    """Raise unless a picture can be saved under this name."""
    if output.suffix.lower() not in SAVING:
        raise ValueError(f"the output must end in {', '.join(SAVING)}; got {str(output)!r}")


def save_picture(picture: Picture, output: Path) -> None:
    """Save a picture, and make its folder if need be."""
    output.parent.mkdir(parents=True, exist_ok=True)
    with replacing(output) as part:
        picture.save(part, **SAVING[output.suffix.lower()])
