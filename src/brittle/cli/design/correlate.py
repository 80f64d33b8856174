"""`brittle design correlate`: do synthetic benchmarks predict natural shifts?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from brittle._errors import BrittleError
from brittle.cli.console import FIGURE, check_ending, console, figure_path, print_json, split_commas, tell_files
from brittle.cli.inputs import save_table
from brittle.cli.options import option
from brittle.cli.styles import BOLD, DIM, END

if TYPE_CHECKING:
    import polars as pl

EXAMPLES = (
    (
        "brittle design correlate run --natural a=run-a --natural r=run-r -b imagenet-c -b syn2nat -o table.csv",
        "two fixed benchmarks",
    ),
    (
        "brittle design correlate run --natural a=run-a --categories syn2nat --nk 6,1 --nk 6,3 -o table.csv",
        "a thousand benchmarks each",
    ),
    (
        "brittle design correlate run --natural a=run-a --categories syn2nat --nk 6,2 --substitutions 5 -o table.csv",
        "less and less balanced benchmarks",
    ),
    (
        "brittle design correlate run --natural a=run-a -b benchmarks.csv -o table.csv",
        "those that `design build balanced` wrote",
    ),
    (
        "brittle design correlate run run-p --natural a=run-a -b imagenet-c -b imagenet-p -o table.csv",
        "with flips along sequences as a benchmark",
    ),
    (
        "brittle design correlate drops.csv --natural-csv natural.csv -b imagenet-c -o t.csv",
        "accuracy drops from any source",
    ),
)


def correlate_verb(
    synthetic: Annotated[
        list[str],
        typer.Argument(metavar="RUN…", help="Runs of models through corruptions, or a .csv of their accuracy drops."),
    ],
    output: Annotated[Path, option("--output", help="The table, a .csv file.")],
    natural: Annotated[
        list[str] | None,
        option("--natural"),
    ] = None,
    natural_csv: Annotated[Path | None, option("--natural-csv", dir_okay=False)] = None,
    categories: Annotated[str | None, option("--categories")] = None,
    nk: Annotated[
        list[str] | None,
        option("--nk"),
    ] = None,
    benchmarks: Annotated[list[str] | None, option("--benchmark")] = None,
    count: Annotated[int, option("--count")] = 1000,
    substitutions: Annotated[int, option("--substitutions")] = 0,
    seed: Annotated[int, option("--seed")] = 0,
    figure: FIGURE = None,
    as_json: Annotated[bool, option("--json")] = False,
) -> None:
    """Correlate, over models, the accuracy drop on synthetic benchmarks with the drop on natural shifts.

    A high correlation means that the benchmark predicts which models are robust to natural shifts (Algorithm 2 of
    Syn2Nat). At least three models are needed; twenty are better. The table has a row for each group of benchmarks and
    natural shift.
    """
    from brittle.design import benchmark_groups, correlation_rows, correlation_table, paired_drops
    from brittle.plots import plot_correlation, save_figure

    check_ending(output, "the table", ".csv")
    picture = figure_path(figure, output)
    shifts, clean = _shifts(natural or [])
    corrupted, shifted = paired_drops(synthetic, shifts, clean=clean, natural_csv=natural_csv)
    groups = benchmark_groups(
        corrupted.names,
        categories=categories,
        nk=[_pair(text) for text in nk or ()],
        benchmarks=split_commas(benchmarks),
        count=count,
        substitutions=substitutions,
        seed=seed,
    )
    rows = correlation_rows(corrupted.values, corrupted.names, groups, shifted.columns())
    table = correlation_table(corrupted.values, corrupted.names, groups, shifted.columns())
    if as_json:
        print_json(rows)
    else:
        _print(table, rows)
    save_table(rows, output)
    tell_files(output, save_figure(plot_correlation(table), picture))


def _shifts(texts: list[str]) -> tuple[dict[str, str], dict[str, str]]:
    """The run of each shift, and that on its clean images if it has others than the synthetic runs."""
    shifts, clean = {}, {}
    for text in texts:
        name, equals, runs = text.partition("=")
        run, comma, side = runs.partition(",")
        if not equals or not name or not run or (comma and not side):
            raise BrittleError(
                "a natural shift is NAME=RUN or NAME=RUN,CLEAN_RUN, such as imagenet-a=runs/a,runs/a-clean; "
                f"got {text!r}"
            )
        shifts[name] = run
        if side:
            clean[name] = side
    return shifts, clean


def _pair(text: str) -> tuple[int, int]:
    n, comma, k = text.partition(",")
    if not comma or not n.strip().isdecimal() or not k.strip().isdecimal():
        raise BrittleError(
            f"--nk takes two whole numbers, such as 6,3: categories and corruptions of each; got {text!r}"
        )
    return int(n), int(k)


def _print(table: pl.DataFrame, rows: pl.DataFrame) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    console().print(f"{BOLD}mean Pearson correlation of accuracy drops, over models{END}")
    shown = Table(box=SIMPLE_HEAD, pad_edge=False)
    for index, name in enumerate(table.columns):
        shown.add_column(name, justify="right" if index else "left", overflow="fold")
    for name, *values in table.rows():
        shown.add_row(name, *(f"{value:.3f}" for value in values), end_section=name == table["natural"][-2])
    console().print(shown)
    worst = rows.row(int(rows["mean_p"].arg_max() or 0), named=True)
    models = int(rows["models"][0])
    console().print(
        f"{DIM}over {models} models; largest mean p-value {worst['mean_p']:.3g} ({worst['group']}, {worst['natural']})"
        + (f"; so few models say next to nothing{END}" if models < 6 else f"{END}")
    )
