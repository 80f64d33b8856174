"""Options that several slider verbs have, and what is meant by classes, shifts, seeds and prompts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from brittle.cli.several import several

if TYPE_CHECKING:
    from brittle.sliders import ClipPrompts, SlidClass

PIPELINE = Annotated[
    str,
    typer.Argument(
        metavar="PIPELINE", help="A folder of diffusers, such as Stable Diffusion 2, or `tiny`: the bundled world."
    ),
]
OUTPUT = Annotated[Path, typer.Option("--output", "-o", help="The folder; one that is there goes on.")]
TOKENS = Annotated[
    Path | None, typer.Option("--tokens", help="Learnt class tokens: a folder such as encoder_root_imagenet.")
]
NAMES = Annotated[
    Path | None,
    typer.Option("--names", metavar="FILE", help="Class names, one a line.", show_default="ImageNet's 1000"),
]
OWN_WORDS = Annotated[bool, typer.Option("--own-words", help="Allow shifts that are not published, in any words.")]
PRECISION = Annotated[
    str, typer.Option("--precision", help="`float32`, `bfloat16`, or `auto`: bfloat16 on GPUs that compute in it.")
]
ENGINE = Annotated[str, typer.Option("--engine", help="`local`, or `ray` to spread the work over a cluster.")]
ADDRESS = Annotated[str | None, typer.Option("--address", help="Of the Ray cluster.")]
CLIP = Annotated[
    str | None,
    typer.Option("--clip", metavar="FOLDER", help="A CLIP of transformers or open_clip, or `tiny`."),
]
TINY = "tiny"
"""The name of the bundled world."""


def tiny_part(part: str) -> Path:
    """A folder of the bundled world."""
    from brittle.sliders.world import tiny_world

    return tiny_world().folder / part


def classes_of(given: Sequence[str] | None, names: Sequence[str], tokens: Sequence[str] | None) -> list[SlidClass]:
    """The classes that a command line names; `all` are all."""
    from brittle.sliders import find_class

    words = several(given)
    return [find_class(word, names, tokens) for word in (map(str, range(len(names))) if words == ["all"] else words)]


def shifts_of(given: Sequence[str] | None, pipeline: str, own_words: bool) -> list[str]:
    """The shifts that a command line names, as folder names; `all` are all that are published, or bundled."""
    from brittle.datasets.near import nearest
    from brittle.sliders import published_shifts, shift_folder
    from brittle.sliders.world import WORLD_SHIFTS

    known = WORLD_SHIFTS if pipeline == TINY else published_shifts()
    found = [shift_folder(word) for word in several(given)]
    if found == ["all"]:
        return list(known)
    for shift in found:
        if shift not in known and not own_words:
            kind = "bundled" if pipeline == TINY else "published"
            raise ValueError(
                f"there is no {kind} shift {shift!r}; {nearest(shift, known)} Words of your own: --own-words"
            )
    return found


def seeds_of(text: str) -> list[int]:
    """ "50" is 1 to 50, as published; "3,7,10-12" are those."""
    words = [f"1-{text.strip()}"] if text.strip().isdecimal() else several([text])
    ends = [re.fullmatch(r"(\d+)(?:-(\d+))?", word) for word in words]
    ranges = [range(int(end[1]), int(end[2] or end[1]) + 1) for end in ends if end is not None]
    if not ranges or len(ranges) < len(words) or not all(ranges):
        raise ValueError(f"seeds are a number such as 50, or 3,7,10-12; got {text!r}")
    return list(dict.fromkeys(seed for each in ranges for seed in each))


def prompts_of(name: str) -> ClipPrompts:
    """The prompts of CLIP by their name."""
    from brittle.sliders import CODE_PROMPTS, PAPER_PROMPTS, ClipPrompts

    known = {"words": ClipPrompts(), "paper": PAPER_PROMPTS, "code": CODE_PROMPTS}
    if name not in known:
        raise ValueError(f"prompts are one of {', '.join(known)}, got {name!r}")
    return known[name]
