"""`brittle design balance`: whether a benchmark weighs its corruptions alike."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from brittle.cli.console import FIGURE, check_ending, console, figure_path, print_json, tell_files
from brittle.cli.inputs import save_table
from brittle.cli.options import option
from brittle.cli.styles import BOLD, DIM, END, YELLOW

if TYPE_CHECKING:
    from brittle.design import SingleScores

EXAMPLES = (
    ("brittle design balance overlap/", "all candidates as one benchmark"),
    ("brittle design balance overlap/ -b cifar10-noc -b mine.toml -o balance.csv", "two parts of them, and a figure"),
    ("brittle design balance overlap/ --reference alexnet", "divided by AlexNet's published errors, as in NOC"),
)

COLUMNS = ["benchmark", "trained_with", "relative_mce", "low", "high", "reference"]


def balance_verb(
    overlap: Annotated[Path, typer.Argument(metavar="OVERLAP", help="A folder of `brittle design overlap`.")],
    benchmarks: Annotated[
        list[str] | None,
        option("--benchmark", show_default="all candidates"),
    ] = None,
    output: Annotated[Path | None, option("--output", help="Also write a .csv table, and a figure beside it.")] = None,
    figure: FIGURE = None,
    reference: Annotated[
        str | None,
        option("--reference", show_default="alexnet on ImageNet at the published levels, else standard"),
    ] = None,
    as_json: Annotated[bool, option("--json")] = False,
) -> None:
    """Show whether benchmarks weight their corruptions equally, by models that were trained with one corruption each.

    Each model of an overlap matrix was trained with one corruption. Its relative mCE over a benchmark with this
    corruption says how much the benchmark rewards the training: the error that the corruptions add to the model's clean
    error, divided by the error that they add for a reference model. In a balanced benchmark all models have similar
    scores (section 5.3 of NOC): a small range and a small standard deviation.
    """
    from brittle.design import folder_balance
    from brittle.plots import plot_balance, save_figure

    if output is not None:
        check_ending(output, "the table", ".csv")
    picture = None if output is None and figure is None else figure_path(figure, output or Path())
    balances = folder_balance(overlap, benchmarks, reference=reference)
    if as_json:
        print_json(balances)
    else:
        _print(balances)
    if output is not None:
        _save(balances, output)
        tell_files(output)
    if picture is not None:
        tell_files(save_figure(plot_balance(balances), picture))


def _print(balances: dict[str, SingleScores]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    for title, balance in balances.items():
        table = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False)
        table.add_column("model trained with", overflow="fold")
        table.add_column("relative mCE", justify="right", no_wrap=True)
        table.add_column("95 %", justify="right", no_wrap=True, style="dim")
        for name, score in sorted(balance.scores.items(), key=lambda item: item[1].value):
            table.add_row(name, f"{score.value:.1f}", f"{score.low:.1f}–{score.high:.1f}")
        console().print(table)
        spread = ", ".join(
            f"{statistic.name} {BOLD}{statistic.value:.1f}{END} [{statistic.low:.1f}, {statistic.high:.1f}]"
            for statistic in (balance.range, balance.std)
        )
        console().print(f"{spread}, {len(balance.scores)} models")
        if balance.left_out:
            reason = f"they add next to nothing to the error of {balance.reference}"
            console().print(f"{YELLOW}left out, {reason}:{END} {', '.join(balance.left_out)}")
        console().print(
            f"{DIM}relative mCE in percent, divided by the errors of {balance.reference}; 95 % over images{END}\n"
        )


def _save(balances: dict[str, SingleScores], output: Path) -> None:
    import polars as pl

    rows = [
        (title, name, score.value, score.low, score.high, balance.reference)
        for title, balance in balances.items()
        for name, score in balance.scores.items()
    ]
    save_table(pl.DataFrame(rows, schema=COLUMNS, orient="row"), output)
