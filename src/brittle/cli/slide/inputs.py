"""What the slide verbs share."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from brittle._errors import BrittleError
from brittle.cli.console import console, split_commas
from brittle.cli.options import Dtype, Engine, option

if TYPE_CHECKING:
    from brittle.evaluation import Results
    from brittle.sliders import Base, ClipPrompts, Sampling, TargetClass

PIPELINE = Annotated[
    str,
    typer.Argument(
        metavar="PIPELINE", help="A folder of diffusers, such as Stable Diffusion 2, or `tiny`: the bundled world."
    ),
]
OUTPUT = Annotated[Path, option("--output", help="The folder; an existing one is resumed.")]
TOKENS = Annotated[Path | None, option("--tokens")]
NAMES = Annotated[
    Path | None,
    option("--classes", show_default="ImageNet's 1000"),
]
OWN_WORDS = Annotated[bool, option("--any-shift")]
PRECISION = Annotated[Dtype, option("--dtype")]
ENGINE = Annotated[Engine, option("--engine")]
ADDRESS = Annotated[str | None, option("--address")]
CLIP = Annotated[
    str | None,
    option("--clip"),
]
TINY = "tiny"
"""The name of the bundled world."""


def tiny_part(part: str) -> Path:
    """A folder of the bundled world."""
    from brittle.sliders.demo_pipeline import load_demo_pipeline

    return load_demo_pipeline().folder / part


def classes_of(given: Sequence[str] | None, names: Sequence[str], tokens: Sequence[str] | None) -> list[TargetClass]:
    """The classes that a command line names; `all` are all."""
    from brittle.sliders import find_class

    words = split_commas(given)
    return [find_class(word, names, tokens) for word in (map(str, range(len(names))) if words == ["all"] else words)]


def shifts_of(given: Sequence[str] | None, pipeline: str, own_words: bool) -> list[str]:
    """The shifts that a command line names, as folder names; `all` are all that are published, or bundled."""
    from brittle._errors import did_you_mean
    from brittle.sliders import published_shifts, shift_folder
    from brittle.sliders.demo_pipeline import DEMO_SHIFTS

    known = DEMO_SHIFTS if pipeline == TINY else published_shifts()
    found = [shift_folder(word) for word in split_commas(given)]
    if found == ["all"]:
        return list(known)
    for shift in found:
        if shift not in known and not own_words:
            kind = "bundled" if pipeline == TINY else "published"
            raise BrittleError(
                f"there is no {kind} shift {shift!r}; {did_you_mean(shift, known)} Words of your own: --any-shift"
            )
    return found


def seeds_of(text: str) -> list[int]:
    """ "50" is 1 to 50, as published; "3,7,10-12" are those."""
    words = [f"1-{text.strip()}"] if text.strip().isdecimal() else split_commas([text])
    ends = [re.fullmatch(r"(\d+)(?:-(\d+))?", word) for word in words]
    ranges = [range(int(end[1]), int(end[2] or end[1]) + 1) for end in ends if end is not None]
    if not ranges or len(ranges) < len(words) or not all(ranges):
        raise BrittleError(f"seeds are a number such as 50, or 3,7,10-12; got {text!r}")
    return list(dict.fromkeys(seed for each in ranges for seed in each))


def prompts_of(name: str) -> ClipPrompts:
    """The prompts of CLIP by their name."""
    from brittle.sliders import CODE_PROMPTS, PAPER_PROMPTS, ClipPrompts

    known = {"words": ClipPrompts(), "paper": PAPER_PROMPTS, "code": CODE_PROMPTS}
    if name not in known:
        raise BrittleError(f"prompts are one of {', '.join(known)}, got {name!r}")
    return known[name]


def training_settings(pipeline: str, **given: Any) -> dict[str, Any]:
    """Options for `train_slider`; those that are None were not given."""
    from brittle.sliders.demo_pipeline import DEMO_TRAINING

    return {**(DEMO_TRAINING if pipeline == TINY else {}), **_said(given)}


def sampling_settings(pipeline: str, **given: Any) -> Sampling:
    """A `Sampling`; options that are None were not given."""
    from dataclasses import replace

    from brittle.sliders import Sampling
    from brittle.sliders.demo_pipeline import DEMO_SAMPLING

    return replace(DEMO_SAMPLING if pipeline == TINY else Sampling(), **_said(given))


def _said(given: dict[str, Any]) -> dict[str, Any]:
    return {option: value for option, value in given.items() if value is not None}


@dataclass(frozen=True)
class ChosenPipeline:
    """A pipeline that is opened when it is needed, and the names of all classes; `own_names` are not ImageNet's."""

    base: Base
    names: tuple[str, ...]
    own_names: bool

    def tokens(self) -> tuple[str, ...] | None:
        """The learnt tokens of the classes, if there are any."""
        return None if self.base.tokens is None else self.base.token_names()

    def classes(self, given: Sequence[str] | None) -> list[TargetClass]:
        """The classes that were given by number or name; `all` are all."""
        return classes_of(given, self.names, self.tokens())


def chosen_pipeline(
    pipeline: str, tokens: Path | None, names: Path | None, device: str, precision: str
) -> ChosenPipeline:
    """The pipeline of a folder, or of the tiny world; `names` is a file of class names."""
    from brittle.sliders import Base, class_names
    from brittle.sliders.demo_pipeline import DEMO_CLASSES
    from brittle.sliders.pipeline import check_precision

    check_precision(precision)
    tiny = pipeline == TINY
    folder = str(tiny_part("pipeline")) if tiny else pipeline
    base = Base(folder, None if tokens is None else str(tokens), device, precision)
    called = DEMO_CLASSES if tiny and names is None else class_names(names)
    return ChosenPipeline(base, called, tiny or names is not None)


COLUMNS = 6
"""So many scales fit."""


def has_slides(results: Results) -> bool:
    """Whether results are on slides."""
    return any(cell.corruption.startswith("cns/") for cell in results.cells)


def print_slides(results: Results, models: list[str] | None = None) -> None:
    """Accuracy of each model along the scales: of each shift, or of their mean; and how many trajectories that is."""
    import polars as pl
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    from brittle.evaluation import cns_scores

    found = cns_scores(results, models=models)
    table = found.accuracy.filter(pl.col("shift") != "all")
    scales = sorted(table["scale"].unique())
    scales = scales if len(scales) <= COLUMNS else [scales[round(i * (len(scales) - 1) / 5)] for i in range(COLUMNS)]
    shown = Table(box=SIMPLE_HEAD, pad_edge=False)
    shown.padding = (0, 1, 0, 0)
    shown.add_column("shift, model", overflow="fold")
    for scale in scales:
        shown.add_column(f"{scale:g}", justify="right", no_wrap=True)
    for group in table.partition_by("shift", maintain_order=True):
        shown.add_row(Text(str(group["shift"][0]), "bold"))
        for mine in group.partition_by("model", maintain_order=True):
            rows = {row["scale"]: row for row in mine.iter_rows(named=True)}
            cells = [
                Text.assemble(f"{100 * r['accuracy']:.1f}", (f"\n{100 * r['low']:.0f}–{100 * r['high']:.0f}", "dim"))
                if r
                else Text("–")
                for r in (rows.get(scale) for scale in scales)
            ]
            shown.add_row(Text(f"  {mine['model'][0]}"), *cells)
        shown.add_section()
    console().print(shown)
    whole = sum(part["trajectories"][0] for part in table.partition_by("shift") if part["shift"][0] != "mean")
    lost = sum(found.dropped.values())
    words = f"percent right at each scale, 95 % intervals; {whole:,} trajectories"
    console().print(f"[dim]{words}{f', {lost:,} incomplete ones left out' if lost else ''}[/]")
