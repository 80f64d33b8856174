"""`brittle design balance`: whether a benchmark weighs its corruptions alike."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from brittle.cli.console import FIGURE, check_ending, console, figure_path, print_json, split_commas, tell_files
from brittle.cli.inputs import save_table
from brittle.cli.options import option

if TYPE_CHECKING:
    from brittle.benchmarks import Benchmark
    from brittle.design import Reference, SingleScores
    from brittle.evaluation import Results

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
    """Show whether benchmarks weigh their corruptions alike, by models that know one corruption each.

    Each model of an overlap matrix learned one corruption. Its relative mCE over a benchmark that holds this corruption
    says how much the benchmark rewards knowing it: what the corruptions add to the model's clean error, divided by what
    they add to that of a reference model. In a balanced benchmark all models score alike (section 5.3 of NOC): a small
    range and a small standard deviation.
    """
    import brittle
    from brittle.design import correct_cube, members_in, single_scores
    from brittle.evaluation import load_results
    from brittle.plots import plot_balance, save_figure

    if output is not None:
        check_ending(output, "the table", ".csv")
    picture = None if output is None and figure is None else figure_path(figure, output or Path())
    if not (overlap / "overlap.json").is_file() or not (overlap / "run").is_dir():
        raise FileNotFoundError(
            f"{str(overlap)!r} holds no models that know one corruption each; `brittle design overlap` makes "
            "such a folder"
        )
    results = load_results(overlap / "run")
    recipe = results.benchmarks()[0]
    names, correct = tuple(entry.id for entry in recipe.entries), correct_cube(results, recipe)
    asked = {recipe.name: names}
    if benchmarks is not None:
        asked = {}
        for given in benchmarks:
            named = given in brittle.list_benchmarks() or Path(given).suffix == ".toml"
            title = brittle.load_benchmark(given).name if named else given
            asked[title] = members_in(brittle.load_benchmark(given) if named else split_commas([given]), names)
    used = tuple(entry for entry in recipe.entries if any(entry.id in members for members in asked.values()))
    yardstick = _reference(reference, results, recipe, replace(recipe, entries=used))
    found = {title: single_scores(correct, names, members, reference=yardstick) for title, members in asked.items()}
    if as_json:
        print_json(found)
    else:
        _print(found)
    if output is not None:
        _save(found, output)
        tell_files(output)
    if picture is not None:
        tell_files(save_figure(plot_balance(found), picture))


def _reference(given: str | None, results: Results, recipe: Benchmark, used: Benchmark) -> Reference | None:
    """The model whose errors divide those under the candidates in use; None is the standard model of the folder."""
    import numpy as np

    from brittle.design import alexnet_reference, fits_alexnet, run_reference
    from brittle.evaluation import load_results
    from brittle.evaluation.inputs import IMAGES

    if given is None:
        run = results.runs[0]
        side = int(min(np.load(run.folder / IMAGES, mmap_mode="r").shape[1:3]))
        given = "alexnet" if fits_alexnet(used, run.classes, side) else "standard"
    if given == "standard":
        return None
    if given == "alexnet":
        return alexnet_reference(used)
    if not Path(given).is_dir():
        raise FileNotFoundError(f"a reference is alexnet, standard or the folder of a run, got {given!r}")
    return run_reference(load_results(given), recipe)


def _print(found: dict[str, SingleScores]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    for title, one in found.items():
        table = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False)
        table.add_column("model that learned", overflow="fold")
        table.add_column("relative mCE", justify="right", no_wrap=True)
        table.add_column("95 %", justify="right", no_wrap=True, style="dim")
        for name, score in sorted(one.scores.items(), key=lambda item: item[1].value):
            table.add_row(name, f"{score.value:.1f}", f"{score.low:.1f}–{score.high:.1f}")
        console().print(table)
        spread = ", ".join(
            f"{what.name} [bold]{what.value:.1f}[/] [{what.low:.1f}, {what.high:.1f}]" for what in (one.range, one.std)
        )
        console().print(f"{spread}, {len(one.scores)} models")
        if one.left_out:
            console().print(f"[yellow]left out, they hardly trouble {one.reference}:[/] {', '.join(one.left_out)}")
        console().print(
            f"[dim]relative mCE in percent, divided by the errors of {one.reference}; 95 % over images[/]\n"
        )


def _save(found: dict[str, SingleScores], output: Path) -> None:
    import polars as pl

    rows = [
        (title, name, score.value, score.low, score.high, one.reference)
        for title, one in found.items()
        for name, score in one.scores.items()
    ]
    save_table(pl.DataFrame(rows, schema=COLUMNS, orient="row"), output)
