"""Scores as a table that fits a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from brittle.cli.console import console

if TYPE_CHECKING:
    from brittle.evaluation import Results, Scores
    from brittle.metrics import Estimate


def print_scores(results: Results, models: list[str] | None = None) -> None:
    """A table for each benchmark of a run; the clean accuracy if there is none."""
    from brittle.evaluation import scores
    from brittle.evaluation.scores import cells_of

    recipes = results.benchmarks()
    for recipe in recipes:
        whole = results.models_with(cells_of(recipe))
        mine = whole if models is None else [name for name in _with_names(results, models) if name in whole]
        if mine:
            print_table(recipe.name, scores(results, recipe, models=mine))
    if not recipes:
        _print_cells(results)


def print_table(benchmark: str, rows: list[Scores]) -> None:
    """The scores of one benchmark, the best model first."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(title=benchmark, title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False)
    table.padding = (0, 1, 0, 0)
    table.add_column("model", overflow="fold")
    columns = [
        ("clean", "clean"),
        ("mean_accuracy", "mean acc."),
        ("robustness", "R"),
        ("mce", "mCE"),
        ("relative_mce", "rel. mCE"),
    ]
    if all(row.mce is None for row in rows):
        columns = [*columns[:3], ("error", "unnorm. error")]
    columns = [(field, title) for field, title in columns if any(getattr(row, field) is not None for row in rows)]
    for _, title in columns:
        table.add_column(title, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(row.model, *(cell(getattr(row, field)) for field, _ in columns))
    console().print(table)
    console().print("[dim]percent, with 95 % intervals over images[/]")


def cell(score: Estimate | None) -> Any:
    """A value over its interval."""
    from rich.text import Text

    if score is None:
        return Text("–", "dim")
    if score.low is None or score.high is None:
        return Text(f"{100 * score.value:.1f}")
    return Text.assemble(f"{100 * score.value:.1f}", (f"\n{100 * score.low:.1f}–{100 * score.high:.1f}", "dim"))


def _with_names(results: Results, models: list[str]) -> list[str]:
    """These models as the results call them: two sets of weights under one name are told apart there."""
    return [name for name in results.models if any(name == m or name.startswith(f"{m} ") for m in models)]


def _print_cells(results: Results) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from brittle.metrics import wilson

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for title in ("model", "corruption", "level", "images", "accuracy"):
        table.add_column(title, justify="left" if title in ("model", "corruption") else "right")
    for model, corruption, level, count, share in results.accuracy().rows():
        low, high = wilson(round(share * count), count)
        interval = f"{100 * share:.1f} [dim][{100 * float(low):.1f}, {100 * float(high):.1f}][/]"
        table.add_row(model, corruption, f"{level:g}", f"{count:,}", interval)
    console().print(table)
