"""What verbs read: recipes, models, matrices, drops."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from brittle._errors import BrittleError
from brittle.cli.console import console

if TYPE_CHECKING:
    from brittle.benchmarks import Benchmark
    from brittle.design import OverlapMatrix
    from brittle.models import Model

TEXTURES = Annotated[
    Path | None,
    typer.Option(
        "--textures",
        metavar="FOLDER",
        help="Pictures that frost is made of, such as the published photographs.",
        show_default="textures that come with brittle",
    ),
]


def chosen_recipe(
    name: str | None,
    corruptions: list[str],
    severities: list[float],
    seed: int | None,
    default: str | None = None,
    textures: Path | None = None,
) -> Benchmark | None:
    """A recipe by its name, cut down to some corruptions or moved to other severities; None if nothing is asked for.

    Without a name, corruptions need not be part of any recipe; `default` stands in when none are named, and says which
    is meant where several have the same name. `textures` is a folder of pictures for corruptions that lay some over the
    image; the recipe keeps its name with them.
    """
    recipe = _without_textures(name, corruptions, severities, seed, default)
    if textures is None:
        return recipe
    if recipe is None:
        raise BrittleError("--textures needs a --benchmark or a --corruption with textures, such as frost")
    return recipe.with_textures(textures)


def _without_textures(
    name: str | None, corruptions: list[str], severities: list[float], seed: int | None, default: str | None
) -> Benchmark | None:
    import brittle
    from brittle.benchmarks import Benchmark, Entry

    if name is None and corruptions:
        entries = tuple(Entry(each, tuple(severities) or (1, 2, 3, 4, 5)) for each in corruptions)
        return Benchmark("custom", entries, seed=seed or 0)
    name = name or default
    if name is None:
        if severities or seed is not None:
            raise BrittleError("severities and a seed need a --benchmark or a --corruption to apply them to")
        return None
    return brittle.load_benchmark(name).cut(corruptions, severities=severities, seed=seed)


DIFFUSION = "diffusion"


def demo_pipeline_model(spec: str, *, device: str) -> Model | None:
    """The model that a text such as "tiny:standard" names, or None if it names none of the world."""
    scheme, colon, name = spec.partition(":")
    if scheme != "tiny" or not colon:
        return None
    from brittle._errors import did_you_mean
    from brittle.models import from_diffusion
    from brittle.sliders.demo_pipeline import CLASSIFIERS, DEMO_SAMPLING, ORACLE, load_demo_pipeline

    known = (*CLASSIFIERS, ORACLE, DIFFUSION)
    if name not in known:
        raise BrittleError(f"the tiny world has no classifier {name!r}; {did_you_mean(name, known)}")
    world = load_demo_pipeline()
    if name != DIFFUSION:
        return world.classifier(name, device=device)
    prompts = [DEMO_SAMPLING.words(each) for each in world.classes]
    return from_diffusion(world.folder / "pipeline", prompts, name="world-diffusion", device=device)


OVERLAP = Annotated[
    str,
    typer.Argument(
        metavar="OVERLAP",
        help="A folder of `brittle overlap`, a .csv or .parquet matrix, or `noc-table7`, `noc-table8`.",
    ),
]
FIGURE = Annotated[
    Path | None,
    typer.Option("--figure", metavar="FILE.svg", help="Where the figure goes.", show_default="beside the output"),
]


def known_part(overlap: OverlapMatrix) -> OverlapMatrix:
    """The matrix without corruptions that no overlap is known of, which are named on the screen."""
    import numpy as np

    unknown = np.isnan(overlap.scores).sum(axis=1) == len(overlap) - 1
    left_out = [name for name, gone in zip(overlap.names, unknown, strict=True) if gone]
    if not left_out or len(overlap) - len(left_out) < 2:
        return overlap
    console().print(f"[yellow]left out, all their overlaps are masked:[/] {', '.join(left_out)}")
    return overlap.subset([name for name in overlap.names if name not in left_out])


def figure_path(figure: Path | None, output: Path) -> Path:
    """Where a figure goes: beside the output unless it was said."""
    from brittle.report.figures import check_figure

    return check_figure(figure or output.with_suffix(".svg"))


def check_ending(output: Path, what: str, *endings: str) -> None:
    """Raise unless the output has one of these endings."""
    if output.suffix not in endings:
        raise BrittleError(f"{what} is a {' or '.join(endings)} file, got {str(output)!r}; change the ending")


def tell_files(*paths: Path) -> None:
    """Say what was written."""
    for path in paths:
        console().print(str(path), soft_wrap=True)
