"""`brittle design coverage`: what a benchmark says about corruptions that are not in it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from brittle.cli.console import (
    FIGURE,
    OVERLAP,
    check_ending,
    console,
    figure_path,
    print_json,
    tell_files,
)
from brittle.cli.inputs import save_table
from brittle.cli.options import option
from brittle.cli.styles import BOLD, DIM, END, RED, YELLOW

if TYPE_CHECKING:
    from brittle.design import Coverage

EXAMPLES = (
    ("brittle design coverage overlap/ -b imagenet-noc --of noc-candidates", "does NOC cover its candidates?"),
    (
        "brittle design coverage noc-table7 -b fog,snow,pixelate -o coverage.csv",
        "three corruptions of ImageNet-C, with a figure",
    ),
)


def coverage_verb(
    overlap: OVERLAP,
    benchmark: Annotated[str, option("--benchmark")],
    of: Annotated[
        str | None,
        option("--of", show_default="all in the matrix"),
    ] = None,
    threshold: Annotated[float, option("--threshold")] = 0.3,
    output: Annotated[Path | None, option("--output", help="Also write a .csv table, and a figure beside it.")] = None,
    figure: FIGURE = None,
    as_json: Annotated[bool, option("--json")] = False,
) -> None:
    """Show which corruptions a benchmark covers: those that overlap enough with at least one of its members.

    The benchmark cannot detect failures under corruptions that are not covered (section 5.2 of NOC). The matrix must
    contain the corruptions of both.
    """
    from brittle.design import coverage, load_overlap, named_members
    from brittle.plots import plot_coverage, save_figure

    if output is not None:
        check_ending(output, "the table", ".csv")
    picture = None if output is None and figure is None else figure_path(figure, output or Path())
    matrix = load_overlap(overlap)
    members = named_members(benchmark, matrix.names)
    candidates = matrix.names if of is None else named_members(of, matrix.names)
    covered = coverage(matrix, members, of=candidates, threshold=threshold)
    if as_json:
        print_json({"benchmark": members, "covered_by": covered.covered_by, "unknown": covered.unknown})
    else:
        _print(covered, members)
    if output is not None:
        save_table(covered.table(matrix, members), output)
        tell_files(output)
    if picture is not None:
        drawn = plot_coverage(matrix, members, of=candidates, threshold=threshold)
        tell_files(save_figure(drawn, picture))


def _print(coverage: Coverage, members: tuple[str, ...]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("corruption", overflow="fold")
    table.add_column("overlap", justify="right", no_wrap=True)
    table.add_column("covered by", overflow="fold")
    rows = sorted(coverage.covered_by.items(), key=lambda row: -max(row[1].values(), default=0.0))
    for name, by in rows:
        if name in members:
            continue
        first = max(by.values(), default=0.0)
        none = f"{YELLOW}unknown, masked{END}" if name in coverage.unknown else f"{RED}nothing{END}"
        covering = ", ".join(by) or none
        table.add_row(name, f"{first:.2f}" if by else "–", covering)
    if table.row_count:
        console().print(table)
    inside = sum(name in members for name in coverage.covered_by)
    console().print(f"{BOLD}{coverage}{END}{DIM}, {inside} of them as members of the benchmark{END}")
