"""`brittle design build`: recipes of corruptions that do not overlap, or that represent all categories alike."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from brittle.cli.console import OVERLAP, check_ending, console, figure_path, print_json, split_numbers, tell_files
from brittle.cli.options import option
from brittle.cli.styles import BOLD, DIM, END, YELLOW

if TYPE_CHECKING:
    import polars as pl

    from brittle.benchmarks import Benchmark
    from brittle.design import NonOverlapping

NON_OVERLAPPING = (
    (
        "brittle design build non-overlapping overlap/ -t 0.1 -o noc.toml",
        "from `brittle design overlap`, at the levels it measured",
    ),
    ("brittle design build non-overlapping noc-table7 -t 0.2 -o five.toml", "from a published table"),
    (
        "brittle design build non-overlapping noc-table7 --sweep 0.1,0.2,0.3 --sweep-table sweep.csv -o r.toml",
        "other thresholds, with the members at each, as a table",
    ),
)
BALANCED = (
    ("brittle design build balanced categories.toml overlap/ -n 6 -k 3 -o mine.toml", "the best one"),
    ("brittle design build balanced syn2nat -n 6 -k 2 --count 1000 -o benchmarks.csv", "a thousand, for a study"),
)
EXAMPLES = (*NON_OVERLAPPING, *BALANCED)

THRESHOLDS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5)

LEVELS = Annotated[
    str | None,
    option("--levels-from", show_default="those that were measured"),
]
NAME = Annotated[str | None, option("--name", show_default="the file's name")]


def non_overlapping_verb(
    overlap: OVERLAP,
    output: Annotated[Path, option("--output", help="The recipe, a .toml file.")],
    threshold: Annotated[float, option("--threshold")] = 0.1,
    levels_from: LEVELS = None,
    name: NAME = None,
    sweep: Annotated[list[str] | None, option("--sweep", show_default="0.02 … 0.5")] = None,
    figure: Annotated[
        Path | None,
        option("--figure", show_default="beside the output"),
    ] = None,
    sweep_table: Annotated[
        Path | None,
        option("--sweep-table"),
    ] = None,
    as_json: Annotated[bool, option("--json")] = False,
) -> None:
    """Build the largest set of corruptions in which every pair overlaps less than a threshold.

    Of several such sets it takes the one with the lowest mean overlap: Algorithm 1 of NOC, solved exactly. The recipe
    keeps the levels or ranges at which the overlap was measured. The table shows the results for other thresholds.
    """
    from brittle.design import built_benchmark, load_overlap, non_overlapping
    from brittle.design import sweep as sweep_thresholds
    from brittle.plots import plot_sweep, save_figure

    check_ending(output, "a recipe", ".toml")
    if sweep_table is not None:
        check_ending(sweep_table, "the table of thresholds", ".csv")
    picture = figure_path(figure, output)
    matrix = load_overlap(overlap)
    clique = non_overlapping(matrix, threshold)
    recipe = built_benchmark(
        clique.members,
        matrix.candidates,
        levels_from=levels_from,
        name=name or output.stem,
        title=f"{clique.size} of {len(matrix)} corruptions, every pair overlapping less than {threshold:g}",
        source="built by brittle: NOC's Algorithm 1 (Laugros, Caplier & Ospici, 2021)",
    )
    table = sweep_thresholds(matrix, sorted({*(split_numbers(sweep, "thresholds") or THRESHOLDS), threshold}))
    if as_json:
        print_json({"members": clique.members, "ties": clique.ties, "sweep": table})
    else:
        _print_sweep(table, threshold)
        _print_members(clique)
    _save(recipe, output)
    tell_files(output, save_figure(plot_sweep(table, chosen=threshold), picture))
    if sweep_table is not None:
        _save_sweep(table, sweep_table)
        tell_files(sweep_table)


def balanced_verb(
    categories: Annotated[
        str, typer.Argument(metavar="CATEGORIES", help="A file of `brittle design categories`, or `syn2nat`.")
    ],
    n: Annotated[int, option("--represented")],
    k: Annotated[int, option("--per-category")],
    output: Annotated[Path, option("--output", help="A .toml recipe of one, or a .csv of all benchmarks drawn.")],
    count: Annotated[int | None, option("--count", show_default="1000, or all there are")] = None,
    overlap: Annotated[
        str | None,
        typer.Argument(metavar="OVERLAP", help="An overlap matrix: the recipe is the benchmark that overlaps least."),
    ] = None,
    levels_from: LEVELS = None,
    name: NAME = None,
    seed: Annotated[int, option("--seed")] = 0,
) -> None:
    """Build benchmarks that give every category they test the same weight: k corruptions from each of n categories.

    They are drawn at random, all different (Algorithm 1 of Syn2Nat). The recipe is the first of them, or with OVERLAP
    the one whose same-category corruptions overlap least, as for ImageNet-Syn2Nat.
    """
    from brittle.design import (
        balanced,
        built_benchmark,
        least_overlapping,
        load_categories,
        load_overlap,
        possible_benchmarks,
    )

    check_ending(output, "the output", ".toml", ".csv")
    groups = load_categories(categories)
    possible = possible_benchmarks(groups, n, k)
    drawn = balanced(groups, n, k, count=min(1000, possible) if count is None else count, seed=seed)
    matrix = None if overlap is None else load_overlap(overlap)
    chosen = drawn[0] if matrix is None else least_overlapping(drawn, matrix, groups)
    summary = f"{len(drawn)} of {possible:,} benchmarks with {k} of each of {n} categories"
    if output.suffix == ".csv":
        _save_list([chosen, *(benchmark for benchmark in drawn if benchmark != chosen)], output)
        console().print(summary + ("" if overlap is None else ", the least overlapping one first"))
        tell_files(output)
        return
    recipe = built_benchmark(
        chosen,
        groups.candidates if matrix is None else matrix.candidates,
        levels_from=levels_from,
        name=name or output.stem,
        title=f"{n * k} corruptions, {k} of each of {n} categories",
        source="built by brittle: Syn2Nat's Algorithm 1 (Laugros, Caplier & Ospici, BMVC 2021)",
    )
    for category, group in groups.members.items():
        members = [corruption for corruption in group if corruption in chosen]
        if members:
            console().print(f"{BOLD}{category}{END}  {', '.join(members)}")
    which = "the first" if overlap is None else "the one whose same-category corruptions overlap least"
    console().print(f"{DIM}{which} of {summary}{END}")
    _save(recipe, output)
    tell_files(output)


def _save(recipe: Benchmark, output: Path) -> None:
    output.parent.mkdir(parents=True, exist_ok=True)
    recipe.save(output)


def _save_list(benchmarks: list[tuple[str, ...]], output: Path) -> None:
    import csv

    from brittle._io import atomic_write

    output.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(output) as part, part.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(benchmarks)


def _save_sweep(table: pl.DataFrame, output: Path) -> None:
    """The table of thresholds, the members of each set in one cell."""
    import polars as pl

    output.parent.mkdir(parents=True, exist_ok=True)
    table.with_columns(pl.col("members").list.join(" "), pl.col("mean_overlap").fill_nan(None)).write_csv(output)


def _print_sweep(table: pl.DataFrame, chosen: float) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from brittle.plots import short_names

    names = sorted({member for members in table["members"] for member in members})
    short = dict(zip(names, short_names(names), strict=True))
    shown = Table(box=SIMPLE_HEAD, pad_edge=False)
    for title in ("threshold", "size", "mean", "sets"):
        shown.add_column(title, justify="right", no_wrap=True)
    shown.add_column("best set", overflow="fold")
    for row in table.iter_rows(named=True):
        count = f"{row['count']:,}" if row["counted"] else f"> {row['count'] - 1:,}"
        style = "bold" if row["threshold"] == chosen else ""
        mean = "–" if row["size"] == 1 else f"{row['mean_overlap']:.3f}"
        members = ", ".join(short[member] for member in row["members"])
        shown.add_row(f"{row['threshold']:g}", str(row["size"]), mean, count, members, style=style)
    console().print(shown)
    console().print(f"{DIM}mean: of the overlaps of its pairs; sets: how many there are of that size{END}\n")


def _print_members(clique: NonOverlapping) -> None:
    screen = console()
    screen.print(f"{BOLD}{clique.size} corruptions{END}  {', '.join(clique.members)}")
    others = clique.ties[1:4]
    if others:
        rest = clique.count - 1
        screen.print(f"{DIM}{rest} other set{'s' if rest > 1 else ''} of that size, first:{END}")
    for tie in others:
        gone, new = sorted(set(clique.members) - set(tie)), sorted(set(tie) - set(clique.members))
        screen.print(f"  {DIM}{', '.join(new)} for {', '.join(gone)}{END}")
    for note in clique.notes:
        screen.print(f"{YELLOW}{note}{END}")
