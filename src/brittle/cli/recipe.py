"""The benchmark that a command line describes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from brittle.benchmarks import Benchmark

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
        raise ValueError("--textures needs a --benchmark or a --corruption with textures, such as frost")
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
            raise ValueError("severities and a seed need a --benchmark or a --corruption to apply them to")
        return None
    recipe = brittle.benchmark(name)
    entries = tuple(recipe.entry(each) for each in corruptions) or recipe.entries
    if severities:
        entries = tuple(replace(entry, levels=tuple(severities)) for entry in entries)
    changed = replace(recipe, entries=entries, seed=recipe.seed if seed is None else seed)
    if changed.hash == recipe.hash:
        return recipe
    return replace(changed, name=f"{recipe.name}-custom", title=f"Made from {recipe.name}")
