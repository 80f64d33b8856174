"""`brittle categories`: groups of corruptions that measure alike."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from brittle._errors import BrittleError
from brittle.cli.console import FIGURE, OVERLAP, check_ending, console, figure_path, known_part, tell_files

if TYPE_CHECKING:
    from brittle.design import Categories

EXAMPLES = (
    ("brittle categories overlap/ -o categories.toml", "as many as make same-category corruptions alike"),
    ("brittle categories noc-table7 --count 4 --method hierarchical -o four.csv", "four of ImageNet-C, by a tree"),
    ("brittle categories overlap/ --check run/ -o categories.toml", "and hold them against models of yours"),
)

METHODS = ("k-means", "hierarchical")


def categories_verb(
    overlap: OVERLAP,
    output: Annotated[Path, typer.Option("--output", "-o", help="A .toml or .csv file of categories.")],
    min_correlation: Annotated[
        float | None,
        typer.Option("--min-correlation", help="Split until same-category vectors correlate so.", show_default="0.5"),
    ] = None,
    count: Annotated[
        int | None, typer.Option("--count", help="Number of categories, instead of a correlation.")
    ] = None,
    method: Annotated[str, typer.Option("--method", help="`k-means` as in Syn2Nat, or `hierarchical`.")] = "k-means",
    check: Annotated[
        str | None, typer.Option("--check", help="A run or .csv of drops: do real models agree with the categories?")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="Seed of k-means.")] = 0,
    figure: FIGURE = None,
) -> None:
    """Split corruptions into categories by their overlaps, as few as make those of a category alike.

    Each corruption is described by its overlaps with all. The number of categories grows until the mean Pearson
    correlation of these vectors within a category exceeds a bound, 0.5 as in Syn2Nat.
    """
    from brittle.design import agreement, categories, hierarchical, load_overlap
    from brittle.report.figures import category_figure, save_figure

    check_ending(output, "a file of categories", ".toml", ".csv")
    picture = figure_path(figure, output)
    if method not in METHODS:
        raise BrittleError(f"the method is {' or '.join(METHODS)}, got {method!r}")
    if count is not None and min_correlation is not None:
        raise BrittleError(f"give --count or --min-correlation, not both; got {count} and {min_correlation:g}")
    matrix = known_part(load_overlap(overlap))
    bound = None if count is not None else 0.5 if min_correlation is None else min_correlation
    if method == "hierarchical":
        found = hierarchical(matrix, count=count, min_correlation=bound)
    else:
        found = categories(matrix, count=count, min_correlation=0.5 if bound is None else bound, seed=seed)
    _print(found)
    if check is not None:
        from brittle.design import load_drops

        drops = load_drops([check], found.names)
        console().print(f"real models: {agreement(found, drops.values, drops.names)}\n")
    tell_files(found.save(output), save_figure(category_figure(matrix, found), picture))


def _print(found: Categories) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("category", no_wrap=True)
    table.add_column("", justify="right", style="dim")
    table.add_column("corruptions", overflow="fold")
    for name, group in found.members.items():
        table.add_row(name, str(len(group)), ", ".join(group))
    console().print(table)
    steps = ", ".join(f"{step.count}: {step.scc:.2f} / {step.dcc:.2f}" for step in found.path)
    console().print(f"[dim]mean correlation within / across, by number of categories: {steps}[/]\n")
