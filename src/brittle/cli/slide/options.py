"""What the slider verbs have in common: the pipeline, its classes, its shifts, and seeds."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from brittle.cli.several import several

if TYPE_CHECKING:
    from brittle.sliders import Base, SlidClass

PIPELINE = Annotated[
    str,
    typer.Argument(
        metavar="PIPELINE", help="A folder of diffusers, such as Stable Diffusion 2, or `tiny`: the bundled world."
    ),
]
TOKENS = Annotated[
    Path | None, typer.Option("--tokens", help="Learnt class tokens: a folder such as encoder_root_imagenet.")
]
NAMES = Annotated[
    Path | None,
    typer.Option("--names", metavar="FILE", help="Class names, one a line.", show_default="ImageNet's 1000"),
]
OWN_WORDS = Annotated[bool, typer.Option("--own-words", help="Allow shifts that are not published, in any words.")]
ENGINE = Annotated[str, typer.Option("--engine", help="`local`, or `ray` to spread the work over a cluster.")]
ADDRESS = Annotated[str | None, typer.Option("--address", help="Of the Ray cluster.")]
CLIP = Annotated[
    str | None,
    typer.Option("--clip", metavar="FOLDER", help="A CLIP of transformers or open_clip, or `tiny`."),
]
TINY = "tiny"
PROMPTS = ("words", "paper", "code")


def tiny_part(part: str) -> Path:
    """A folder of the bundled world."""
    from brittle.sliders.world import tiny_world

    return tiny_world().folder / part


def base_of(pipeline: str, tokens: Path | None, device: str) -> Base:
    """The pipeline that a command line names."""
    from brittle.sliders import Base

    folder = str(tiny_part("pipeline")) if pipeline == TINY else pipeline
    return Base(folder, None if tokens is None else str(tokens), device)


def own_or_tiny(pipeline: str, what: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings that were given, over those of the tiny world if that is the pipeline."""
    from brittle.sliders.world import WORLD_SAMPLING, WORLD_TRAINING

    own: dict[str, Any] = {}
    if pipeline == TINY:
        drawn = {key: getattr(WORLD_SAMPLING, key) for key in ("guidance", "steps", "negative_prompt", "prompt")}
        own = dict(WORLD_TRAINING) if what == "training" else drawn
    return {**own, **{key: value for key, value in given.items() if value is not None}}


def names_of(pipeline: str | None, names: Path | None) -> tuple[tuple[str, ...], bool]:
    """The names of all classes, and whether they are other ones than ImageNet's."""
    from brittle.sliders import class_names
    from brittle.sliders.world import WORLD_CLASSES

    if names is None and pipeline == TINY:
        return WORLD_CLASSES, True
    return class_names(names), names is not None


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
    if text.strip().isdecimal():
        return list(range(1, int(text) + 1))
    found: list[int] = []
    for word in several([text]):
        range_ = re.fullmatch(r"(\d+)(?:-(\d+))?", word)
        if range_ is None:
            raise ValueError(f"seeds are a number such as 50, or 3,7,10-12; got {text!r}")
        found += range(int(range_[1]), int(range_[2] or range_[1]) + 1)
    return found


def prompts_of(name: str):  # type: ignore[no-untyped-def]
    """The prompts of CLIP by their name."""
    from brittle.sliders import CODE_PROMPTS, PAPER_PROMPTS, ClipPrompts

    if name not in PROMPTS:
        raise ValueError(f"prompts are one of {', '.join(PROMPTS)}, got {name!r}")
    return {"words": ClipPrompts(), "paper": PAPER_PROMPTS, "code": CODE_PROMPTS}[name]
