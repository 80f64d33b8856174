"""Benchmarks and corruptions as a user asks for them: by names, severities, published sets and families."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from brittle._errors import BrittleError
from brittle.benchmarks.benchmark import Benchmark, Entry, Level, load_benchmark
from brittle.benchmarks.streams import is_stream, load_stream_benchmark
from brittle.corruptions import Corruption, get_corruption, list_corruptions


def choose_benchmark(
    benchmark: str | Path | None = None,
    *,
    corruptions: Sequence[str] = (),
    severities: Sequence[Level] = (),
    seed: int | None = None,
    textures: str | Path | None = None,
    default: str | None = None,
) -> Benchmark | None:
    """A benchmark by its name or recipe, cut down to some corruptions or moved to other severities.

    >>> from brittle.benchmarks import choose_benchmark
    >>> choose_benchmark("cifar10-c", corruptions=["fog", "snow"], severities=[1, 3])
    <Benchmark 'cifar10-c-custom': 2 corruptions, 4 cells, seed 0>

    Args:
        benchmark: the name or the .toml file. Without one, the corruptions need not be part of any recipe.
        corruptions: names; all of the recipe by default.
        severities: those of the recipe by default, or 1 to 5 without one.
        seed: that of the recipe by default.
        textures: a folder of images for corruptions that lay some over the image; the recipe keeps its name.
        default: the recipe if neither a benchmark nor corruptions are given; None if nothing is asked for at all.
    """
    chosen = _cut_benchmark(benchmark, corruptions, severities, seed, default)
    if textures is None:
        return chosen
    if chosen is None:
        raise BrittleError("`textures` needs a `benchmark` or `corruptions` with textures, such as frost")
    return chosen.with_textures(textures)


def _cut_benchmark(
    benchmark: str | Path | None,
    corruptions: Sequence[str],
    severities: Sequence[Level],
    seed: int | None,
    default: str | None,
) -> Benchmark | None:
    if benchmark is None and corruptions:
        entries = tuple(Entry(name, tuple(severities) or (1, 2, 3, 4, 5)) for name in corruptions)
        return Benchmark("custom", entries, seed=seed or 0)
    recipe = benchmark or default
    if recipe is None:
        if severities or seed is not None:
            raise BrittleError("severities and a seed need a `benchmark` or `corruptions` to apply them to")
        return None
    return load_benchmark(recipe).cut(corruptions, severities=severities, seed=seed)


def find_corruptions(
    names: Sequence[str] = (),
    *,
    source: str | None = None,
    family: str | None = None,
    benchmark: str | Path | None = None,
) -> list[Corruption]:
    """The corruptions of a published set, of a family and of a benchmark at once, all or those of some names.

    >>> from brittle.benchmarks import find_corruptions
    >>> [corruption.name for corruption in find_corruptions(family="weather", benchmark="cifar10-c")]
    ['snow', 'frost', 'fog', 'brightness']
    """
    chosen = list_corruptions(source=source, family=family)
    if benchmark is not None:
        recipe = load_stream_benchmark(benchmark).benchmark if is_stream(benchmark) else load_benchmark(benchmark)
        members = [entry.corruption for entry in recipe.entries]
        chosen = [corruption for corruption in members if corruption in chosen]
    if names:
        named = [_corruption_among(name, chosen) for name in names]
        for corruption in named:
            if corruption not in chosen:
                raise BrittleError(f"{corruption.id} is not of the given source, family and benchmark")
        chosen = named
    if not chosen:
        raise BrittleError("no corruption is of that source, family and benchmark at once; try fewer options")
    return chosen


def _corruption_among(name: str, chosen: Sequence[Corruption]) -> Corruption:
    """The corruption of that name, of those chosen if exactly one of them has it."""
    matches = [corruption for corruption in chosen if corruption.name == name]
    return matches[0] if len(matches) == 1 else get_corruption(name)
