"""`brittle compare`: models side by side, on the same images."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from brittle.cli.console import console
from brittle.cli.matrix import tell_files
from brittle.cli.scores import cell
from brittle.cli.slide.scores import has_slides, print_slides

if TYPE_CHECKING:
    from brittle.benchmarks import Benchmark
    from brittle.evaluation import Results, Scores
    from brittle.metrics import Estimate

EXAMPLES = (
    ("brittle compare run", "the models of one run"),
    ("brittle compare run-a run-b", "of several runs on the same data"),
    ("brittle compare run --reference demo-standard", "mCE against a model of your own"),
    ("brittle compare run --figure accuracy.svg", "and a picture, corruption by corruption"),
    ("brittle compare run --json", "for a script"),
)


def compare_verb(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN…", help="Folders that `brittle run` wrote.")],
    benchmark: Annotated[
        str | None, typer.Option("--benchmark", "-b", help="One of the recipes that were run.", show_default="all")
    ] = None,
    reference: Annotated[
        str | None,
        typer.Option("--reference", help="A model of the runs, or a published baseline, whose errors divide mCE."),
    ] = None,
    others: Annotated[
        bool, typer.Option("--published/--no-published", help="Show what others published on the benchmark.")
    ] = True,
    figure: Annotated[
        Path | None,
        typer.Option("--figure", metavar="FILE.svg", help="Also draw each model's accuracy under each corruption."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")] = False,
) -> None:
    """Compare models: ranks, scores with intervals, and paired differences to the best.

    A difference is the model's mean accuracy minus the best one's on the same images; a star marks those whose 95 %
    interval leaves out zero. With three models or more the intervals of differences are wide enough to hold all at
    once, however many models there are, and although the best was picked by looking.
    """
    import brittle
    from brittle.evaluation import compare_all, scores

    if figure is not None:
        from brittle.report.figures import accuracy_figure, check_figure, save_figure

        check_figure(figure)
    results = brittle.load_results(*runs)
    recipes = [r for r in results.benchmarks() if benchmark in (None, r.name)]
    if not recipes and benchmark is None and has_slides(results):
        _compare_slides(results, figure, as_json)
        return
    if not recipes:
        there = ", ".join(r.name for r in results.benchmarks()) or "none"
        raise ValueError(f"these runs hold no whole benchmark {benchmark or ''}".rstrip() + f"; they hold: {there}")
    tables, names = {}, [recipe.name for recipe in recipes]
    for recipe in recipes:
        rows = scores(results, recipe, reference=_reference(results, recipe, reference))
        name = recipe.name if names.count(recipe.name) == 1 else f"{recipe.name} {recipe.hash[:6]}"
        tables[name] = (rows, compare_all(results, recipe, [row.model for row in rows]))
    if as_json:
        _print_json(tables)
        return
    for recipe, name in zip(recipes, tables, strict=True):
        _print(recipe, name, *tables[name], others)
    if len(recipes) > 1 and len(results.models) > 2:
        _print_agreement({name: rows for name, (rows, _) in tables.items()})
    if figure is not None:
        tell_files(save_figure(accuracy_figure(results, recipes), figure))


def _compare_slides(results: Results, figure: Path | None, as_json: bool) -> None:
    """Models along the scales of slides: accuracy there has no benchmark and no mCE."""
    from brittle.report.figures import drop_figure, save_figure
    from brittle.sliders import cns_scores

    if as_json:
        typer.echo(cns_scores(results).accuracy.write_json())
    else:
        print_slides(results)
    if figure is not None:
        tell_files(save_figure(drop_figure(cns_scores(results).accuracy, list(results.models)), figure))


def _reference(results: Results, recipe: Benchmark, name: str | None):  # type: ignore[no-untyped-def]
    from brittle.evaluation import as_baseline
    from brittle.metrics.baseline import BASELINES

    if name not in (None, *results.models, *BASELINES):
        models, baselines = ", ".join(results.models), ", ".join(BASELINES)
        raise ValueError(f"there is no reference {name!r}; models of the runs: {models}; published: {baselines}")
    return as_baseline(results, recipe, name) if name in results.models else name


def _print(recipe: Benchmark, name: str, rows: list[Scores], differences: dict[str, Estimate], others: bool) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    fields = [
        ("clean", "clean"),
        ("error", "error"),
        ("mce", "mCE"),
        ("relative_mce", "rel. mCE"),
    ]
    fields = [(f, title) for f, title in fields if any(getattr(row, f) is not None for row in rows)]
    table = Table(title=name, title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False)
    table.padding = (0, 1, 0, 0)
    table.add_column("", justify="right", style="dim")
    table.add_column("model", overflow="fold")
    for _, title in fields:
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("to the best", justify="right", no_wrap=True)
    for rank, row in enumerate(rows, 1):
        gap = differences.get(row.model)
        table.add_row(
            str(rank),
            row.model,
            *(cell(getattr(row, f)) for f, _ in fields),
            Text("–", "dim") if gap is None else _gap(gap),
        )
    known = _published(recipe.name) if others else []
    if known:
        table.add_section()
    metrics = {"unnormalised error": "error", "mCE": "mce", "relative mCE": "relative_mce"}
    for who, values in known:
        shown = {metrics[metric]: f"{100 * value:.1f}" for metric, value in values.items()}
        if any(f in shown for f, _ in fields):
            table.add_row("", who, *(shown.get(f, "") for f, _ in fields), "", style="dim")
    console().print(table)
    note = "percent, 95 % intervals over images; error is unnormalised; differences are paired, * leaves out zero"
    together = "; their intervals hold for all models at once" if len(differences) > 1 else ""
    console().print(f"[dim]{note}{together}{'; dim rows: as published' if known else ''}[/]")


def _published(benchmark: str) -> list[tuple[str, dict[str, float]]]:
    """Others' scores, one row for each method."""
    from brittle.metrics import published_scores

    rows: dict[str, dict[str, float]] = {}
    for score in published_scores(benchmark):
        rows.setdefault(score.who, {})[score.metric] = score.value
    return list(rows.items())


def _gap(gap: Estimate):  # type: ignore[no-untyped-def]
    from rich.text import Text

    assert gap.low is not None
    assert gap.high is not None
    star = "*" if gap.low > 0 or gap.high < 0 else " "
    return Text.assemble(f"{100 * gap.value:+.1f}{star}", (f"\n{100 * gap.low:+.1f} … {100 * gap.high:+.1f} ", "dim"))


def _print_agreement(tables: dict[str, list[Scores]]) -> None:
    from itertools import combinations

    from brittle.metrics.correlation import kendall

    for a, b in combinations(tables, 2):
        left = {row.model: row.mean_accuracy.value for row in tables[a]}
        right = {row.model: row.mean_accuracy.value for row in tables[b]}
        shared = sorted(left.keys() & right.keys())
        if len(shared) > 2:
            tau = kendall([left[m] for m in shared], [right[m] for m in shared])
            console().print(f"{a} and {b} rank the models alike: {tau}", soft_wrap=True)


def _print_json(tables: dict[str, tuple[list[Scores], dict[str, Estimate]]]) -> None:
    import json
    from dataclasses import asdict

    found = {
        name: [
            {**asdict(row), "rank": rank, "to_the_best": asdict(gaps[row.model]) if row.model in gaps else None}
            for rank, row in enumerate(rows, 1)
        ]
        for name, (rows, gaps) in tables.items()
    }
    typer.echo(json.dumps(found, indent=1, ensure_ascii=False))
