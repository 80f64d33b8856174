"""`brittle build`: recipes of corruptions that do not overlap, or that represent all categories alike."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from brittle.cli.console import console
from brittle.cli.matrix import OVERLAP, check_ending, figure_path, read_categories, read_matrix, tell_files
from brittle.cli.several import several_numbers

if TYPE_CHECKING:
    import polars as pl

    from brittle.benchmarks import Benchmark
    from brittle.design import NonOverlapping

NON_OVERLAPPING = (
    ("brittle build non-overlapping overlap/ -t 0.1 -o noc.toml -b noc-candidates", "from `brittle overlap`"),
    ("brittle build non-overlapping noc-table7 -t 0.2 -o five.toml -b imagenet-c", "from a published table"),
    ("brittle build non-overlapping m.csv --sweep sweep.svg --thresholds 0.1,0.2,0.3 -o r.toml", "other thresholds"),
)
BALANCED = (
    ("brittle build balanced --categories categories.toml -n 6 -k 3 --overlap overlap/ -o mine.toml", "the best one"),
    ("brittle build balanced --categories syn2nat -n 6 -k 2 --count 1000 -o benchmarks.csv", "a thousand, for a study"),
)
EXAMPLES = (*NON_OVERLAPPING, *BALANCED)

THRESHOLDS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5)

LEVELS = Annotated[
    str | None,
    typer.Option("--benchmark", "-b", help="The candidates' recipe, whose levels are kept.", show_default="1 to 5"),
]
NAME = Annotated[str | None, typer.Option("--name", help="Of the recipe.", show_default="the file's name")]


def non_overlapping_verb(
    overlap: OVERLAP,
    output: Annotated[Path, typer.Option("--output", "-o", help="The recipe, a .toml file.")],
    threshold: Annotated[float, typer.Option("--threshold", "-t", help="Every pair overlaps less than this.")] = 0.1,
    benchmark: LEVELS = None,
    name: NAME = None,
    thresholds: Annotated[
        list[str] | None, typer.Option("--thresholds", help="Tried beside it, with commas.", show_default="0.02 … 0.5")
    ] = None,
    figure: Annotated[
        Path | None,
        typer.Option("--sweep", metavar="FILE.svg", help="The figure of it.", show_default="beside the output"),
    ] = None,
) -> None:
    """Build the largest set of corruptions in which every pair overlaps less than a threshold.

    Of several such sets, the one with the lowest mean overlap: Algorithm 1 of NOC, solved exactly. The table shows
    what other thresholds would give.
    """
    from brittle.design import non_overlapping, sweep
    from brittle.report.figures import save_figure, sweep_figure

    check_ending(output, "a recipe", ".toml")
    picture = figure_path(figure, output)
    matrix = read_matrix(overlap)
    found = non_overlapping(matrix, threshold)
    recipe = _recipe(
        found.members,
        benchmark,
        name=name or output.stem,
        title=f"{found.size} of {len(matrix)} corruptions, every pair overlapping less than {threshold:g}",
        source="built by brittle: NOC's Algorithm 1 (Laugros, Caplier & Ospici, 2021)",
    )
    table = sweep(matrix, sorted({*(several_numbers(thresholds, "thresholds") or THRESHOLDS), threshold}))
    _print_sweep(table, threshold)
    _print_members(found)
    _save(recipe, output)
    tell_files(output, save_figure(sweep_figure(table, chosen=threshold), picture))


def balanced_verb(
    categories: Annotated[
        str, typer.Option("--categories", "-c", help="A file of `brittle categories`, or `syn2nat`: published ones.")
    ],
    n: Annotated[int, typer.Option("-n", help="How many categories are represented.")],
    k: Annotated[int, typer.Option("-k", help="By how many corruptions each.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="A .toml recipe of one, or a .csv of all benchmarks drawn.")
    ],
    count: Annotated[
        int | None, typer.Option("--count", help="Different benchmarks.", show_default="1000, or all there are")
    ] = None,
    overlap: Annotated[
        str | None, typer.Option("--overlap", help="A matrix: the recipe is the one that overlaps least.")
    ] = None,
    benchmark: LEVELS = None,
    name: NAME = None,
    seed: Annotated[int, typer.Option("--seed", help="Of the draws.")] = 0,
) -> None:
    """Build benchmarks that give every category they test the same weight: k corruptions from each of n categories.

    They are drawn at random, all different (Algorithm 1 of Syn2Nat). A recipe holds the first, or with --overlap the
    one whose same-category corruptions overlap least, which is how ImageNet-Syn2Nat was picked.
    """
    from brittle.design import balanced, least_overlapping, possible_benchmarks

    check_ending(output, "the output", ".toml", ".csv")
    groups = read_categories(categories)
    possible = possible_benchmarks(groups, n, k)
    drawn = balanced(groups, n, k, count=min(1000, possible) if count is None else count, seed=seed)
    chosen = drawn[0] if overlap is None else least_overlapping(drawn, read_matrix(overlap), groups)
    words = f"{len(drawn)} of {possible:,} benchmarks with {k} of each of {n} categories"
    if output.suffix == ".csv":
        _save_list([chosen, *(one for one in drawn if one != chosen)], output)
        console().print(words + ("" if overlap is None else ", the least overlapping one first"))
        tell_files(output)
        return
    recipe = _recipe(
        chosen,
        benchmark,
        name=name or output.stem,
        title=f"{n * k} corruptions, {k} of each of {n} categories",
        source="built by brittle: Syn2Nat's Algorithm 1 (Laugros, Caplier & Ospici, BMVC 2021)",
    )
    for category, group in groups.members.items():
        mine = [one for one in group if one in chosen]
        if mine:
            console().print(f"[bold]{category}[/]  {', '.join(mine)}")
    how = "the first" if overlap is None else "the one whose same-category corruptions overlap least"
    console().print(f"[dim]{how} of {words}[/]")
    _save(recipe, output)
    tell_files(output)


def _recipe(members: tuple[str, ...], benchmark: str | None, *, name: str, title: str, source: str) -> Benchmark:
    import brittle
    from brittle.design import benchmark_of

    if benchmark is not None:
        return benchmark_of(members, brittle.benchmark(benchmark), name=name, title=title, source=source)
    try:
        return benchmark_of(members, name=name, title=title, source=source)
    except ValueError as error:
        raise ValueError(f"{error}; or give the recipe that they come from by --benchmark") from None


def _save(recipe: Benchmark, output: Path) -> None:
    output.parent.mkdir(parents=True, exist_ok=True)
    recipe.save(output)


def _save_list(benchmarks: list[tuple[str, ...]], output: Path) -> None:
    import csv

    from brittle._io import replacing

    output.parent.mkdir(parents=True, exist_ok=True)
    with replacing(output) as part, part.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(benchmarks)


def _print_sweep(table: pl.DataFrame, chosen: float) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    shown = Table(box=SIMPLE_HEAD, pad_edge=False)
    for title in ("threshold", "size", "mean overlap", "sets of that size"):
        shown.add_column(title, justify="right")
    for row in table.iter_rows(named=True):
        count = f"{row['count']:,}" if row["counted"] else f"> {row['count'] - 1:,}"
        style = "bold" if row["threshold"] == chosen else ""
        mean = "–" if row["size"] == 1 else f"{row['mean_overlap']:.3f}"
        shown.add_row(f"{row['threshold']:g}", str(row["size"]), mean, count, style=style)
    console().print(shown)


def _print_members(found: NonOverlapping) -> None:
    screen = console()
    screen.print(f"[bold]{found.size} corruptions[/]  {', '.join(found.members)}")
    others = found.ties[1:4]
    if others:
        screen.print(f"[dim]{found.count - 1} other sets of that size, the next:[/]")
    for tie in others:
        gone, new = sorted(set(found.members) - set(tie)), sorted(set(tie) - set(found.members))
        screen.print(f"  [dim]{', '.join(new)} for {', '.join(gone)}[/]")
    for note in found.notes:
        screen.print(f"[yellow]{note}[/]")
