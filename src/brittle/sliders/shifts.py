"""The words of a shift, and the published constants of CNS-Bench."""

from __future__ import annotations

import re

from brittle.datasets.near import nearest
from brittle.metrics import published

SCALES = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5)
"""The published scales; 0 is the image without a shift."""

LONGEST = 100
"""Bytes of a shift's folder name, which is part of longer names."""

NEGATIVE_PROMPT = "blurry,text,caption,lowquality,lowresolution,low res,grainy,ugly"
"""What the published images must not be."""


def published_shifts() -> tuple[str, ...]:
    """The folder names of the 14 published shifts; four of them are guesses, see the table `cns-shifts`."""
    return tuple(map(str, published("cns-shifts")["folder_name"]))


def published_shift(shift: str) -> str:
    """The folder name of a published shift, given as that or in words; another one raises."""
    folder = shift_folder(shift)
    known = published_shifts()
    if folder not in known:
        raise ValueError(f"there is no published shift {shift!r}; {nearest(folder, known)}")
    return folder


def shift_words(shift: str) -> str:
    """ "heavy_snow" as "heavy snow", for prompts. Any words may be a shift."""
    words = " ".join(str(shift).replace("_", " ").split())
    if not words:
        raise ValueError(f"a shift is words such as 'heavy snow', got {shift!r}")
    return words


def shift_folder(shift: str) -> str:
    """ "heavy snow" as "heavy_snow", for folders."""
    folder = shift_words(shift).replace(" ", "_")
    if re.search(r'[/\\:*?"<>|\x00-\x1f]', folder) or folder.startswith(".") or len(folder.encode()) > LONGEST:
        raise ValueError(
            f"the shift {shift[:LONGEST]!r} cannot be a folder's name; use letters, digits and _, {LONGEST} at most"
        )
    return folder


def positive_prompt(prompt: str, shift: str) -> str:
    """The prompt a slider is trained towards, as published: the class, a comma, and the shift."""
    return f"{prompt}, in {shift_words(shift)}"
