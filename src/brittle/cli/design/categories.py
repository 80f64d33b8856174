"""`brittle design categories`: groups of corruptions that measure alike."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from brittle.cli.console import FIGURE, OVERLAP, check_ending, console, figure_path, known_part, print_json, tell_files
from brittle.cli.options import ClusteringMethod, option
from brittle.cli.styles import DIM, END

if TYPE_CHECKING:
    from brittle.design import Categories

EXAMPLES = (
    ("brittle design categories overlap/ -o categories.toml", "the fewest categories whose members are similar"),
    (
        "brittle design categories noc-table7 --clusters 4 --method hierarchical -o four.csv",
        "four of ImageNet-C, by a tree",
    ),
)
AGREE_EXAMPLES = (
    ("brittle design agree categories.toml run/", "do the accuracy drops of your models follow the categories?"),
    ("brittle design agree syn2nat drops.csv", "the published categories, and a table of drops"),
    (
        "brittle design agree overlap-resnet/ overlap-densenet/",
        "do two architectures, or seeds, give the same overlaps?",
    ),
)


def categories_verb(
    overlap: OVERLAP,
    output: Annotated[Path, option("--output", help="A .toml or .csv file of categories.")],
    min_correlation: Annotated[
        float | None,
        option("--min-correlation", show_default="0.5"),
    ] = None,
    clusters: Annotated[int | None, option("--clusters")] = None,
    method: Annotated[ClusteringMethod, option("--method")] = "k-means",
    seed: Annotated[int, option("--seed")] = 0,
    figure: FIGURE = None,
    as_json: Annotated[bool, option("--json")] = False,
) -> None:
    """Group corruptions by their overlaps into the smallest number of categories whose members are similar.

    Each corruption is described by its overlaps with all corruptions. The number of categories grows until the mean
    Pearson correlation of these vectors within a category exceeds a bound, 0.5 as in Syn2Nat.
    """
    from brittle.design import cluster_corruptions, load_overlap
    from brittle.plots import plot_categories, save_figure

    check_ending(output, "a file of categories", ".toml", ".csv")
    picture = figure_path(figure, output)
    matrix = known_part(load_overlap(overlap))
    groups = cluster_corruptions(matrix, method, clusters=clusters, min_correlation=min_correlation, seed=seed)
    if as_json:
        print_json({"members": groups.members, "path": groups.path})
    else:
        _print(groups)
    tell_files(groups.save(output), save_figure(plot_categories(matrix, groups), picture))


def agree_verb(
    categories: Annotated[
        str,
        typer.Argument(
            metavar="CATEGORIES|OVERLAP",
            help="A file of `brittle design categories`, or `syn2nat`; or an overlap matrix, to compare with others.",
        ),
    ],
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN…|OVERLAP…",
            help="Runs of models through the corruptions, or a .csv of drops; or other overlap matrices.",
        ),
    ],
    as_json: Annotated[bool, option("--json")] = False,
) -> None:
    """Test categories against real models: do corruptions of one category harm the same models?

    The residual robustness of the models correlates within categories and not across them if the categories hold
    (Syn2Nat: 0.67 within and 0.10 across, for 21 models). Given overlap matrices of several architectures, seeds or
    data, it compares the first with each of the others, over their common corruptions.
    """
    from brittle.design import agreement, is_overlap, load_categories, load_drops

    if is_overlap(categories):
        _compare_matrices(categories, runs, as_json)
        return
    groups = load_categories(categories)
    drops = load_drops(runs, groups.names)
    correlations = agreement(groups, drops.values, drops.names)
    if as_json:
        print_json(correlations)
    else:
        console().print(f"real models: {correlations}")


def _compare_matrices(first: str, others: list[str], as_json: bool) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from brittle.design import compare_overlaps, load_overlap, shared_overlaps

    matrix = load_overlap(first)
    found = {other: compare_overlaps(*shared_overlaps(matrix, load_overlap(other))) for other in others}
    if as_json:
        print_json(found)
        return
    table = Table(title=f"overlaps of {first} and of", title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("", overflow="fold")
    for title in ("pairs", "Spearman", "mean difference"):
        table.add_column(title, justify="right", no_wrap=True)
    for other, agreed in found.items():
        estimates = (str(one).removeprefix(f"{one.name} ") for one in (agreed.spearman, agreed.mean_absolute))
        table.add_row(other, str(agreed.pairs), *estimates)
    console().print(table)
    console().print(f"{DIM}intervals draw corruptions again; pairs that one of the two masks are left out{END}\n")


def _print(categories: Categories) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("category", no_wrap=True)
    table.add_column("", justify="right", style="dim")
    table.add_column("corruptions", overflow="fold")
    for name, group in categories.members.items():
        table.add_row(name, str(len(group)), ", ".join(group))
    console().print(table)
    steps = ", ".join(f"{step.count}: {step.scc:.2f} / {step.dcc:.2f}" for step in categories.path)
    console().print(f"{DIM}mean correlation within / across, by number of categories: {steps}{END}\n")
