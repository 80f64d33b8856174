"""Scores as tables that fit a terminal: each model, each corruption, and what others published."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from brittle.cli.console import console
from brittle.cli.styles import DIM, END

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from brittle.benchmarks import Benchmark
    from brittle.evaluation import Comparable, Results, Scores
    from brittle.metrics import Estimate

MOST = 5
"""The number of models that fit beside each other, and whose worst corruption is printed."""
ONE_LINE = 19
"""Columns that a value with its interval takes in one line."""


def print_scores(results: Results, models: list[str] | None = None, first: Benchmark | None = None) -> None:
    """The tables of each benchmark of a run, `first` the one that was just run; the clean accuracy if there is none.

    Of the others beside a `first` one only the scores over all corruptions are shown.
    """
    from brittle.evaluation import comparable, scores

    recipes = results.benchmarks()
    just_run = [recipe for recipe in recipes if first is not None and recipe.hash == first.hash]
    for recipe in [*just_run, *(recipe for recipe in recipes if recipe not in just_run)]:
        complete = results.models_with(recipe.cells())
        shown = complete if models is None else [name for name in _with_names(results, models) if name in complete]
        if shown:
            rows = scores(results, recipe, models=shown)
            print_table(recipe.name, rows, comparable(results, recipe), recipe)
            if not just_run or recipe in just_run:
                print_corruptions(rows)
    if not recipes:
        _print_cells(results)


def scores_as_json(results: Results) -> dict[str, Any]:
    """The scores of each complete benchmark, and the accuracy in every cell, for programs."""
    from dataclasses import asdict

    from brittle.evaluation import scores

    recipes = {recipe.name: [asdict(row) for row in scores(results, recipe)] for recipe in results.benchmarks()}
    return {"benchmarks": recipes, "cells": results.accuracy().to_dicts()}


def print_table(name: str, rows: list[Scores], beside: Comparable, recipe: Benchmark) -> None:
    """The scores of one benchmark, the best model first, and which reference divides mCE, or why none does."""
    from brittle.evaluation.score import uneven_clean_warning

    table = new_table(name)
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
    added = added_metrics(rows)
    for _, title in (*columns, *added):
        table.add_column(title, justify="right", no_wrap=True)
    for row in rows:
        cells = [cell(getattr(row, field)) for field, _ in columns]
        table.add_row(row.model, *cells, *(cell(row.more.get(field)) for field, _ in added))
    console().print(table)
    console().print(f"{DIM}percent, with 95 % intervals over images{END}")
    uneven = uneven_clean_warning(rows)
    if uneven is not None:
        console().print(uneven, style="yellow")
    print_reference(rows, beside, recipe)


def added_metrics(rows: list[Scores]) -> list[tuple[str, str]]:
    """Field and name of each metric that did not come with brittle."""
    return list({field: (field, score.name) for row in rows for field, score in row.more.items()}.values())


def print_reference(rows: list[Scores], beside: Comparable, recipe: Benchmark, *, published: bool = False) -> None:
    """Which model's errors divide mCE, or why there is no mCE, and how the pictures differ from published ones."""
    from rich.text import Text

    from brittle.evaluation.references import BUNDLED_TEXTURES, bundled_textures

    reference = next((row.reference for row in rows if row.mce is not None), None)
    is_published = beside.baseline is not None and reference == beside.baseline.title
    lines = [f"mCE is divided by the errors of {reference}; those are taken as exact."] if reference else []
    lines.append(beside.refusal(has_reference=reference is not None))
    if is_published or published:
        lines += beside.notes
    elif recipe.storage == "jpeg85" and bundled_textures(recipe):
        lines.append(BUNDLED_TEXTURES)
    for line in filter(None, lines):
        console().print(Text(line, "dim"))


def print_corruptions(rows: list[Scores]) -> None:
    """Accuracy under each corruption, the worst first, and a sentence for each model that names its worst."""
    from rich.text import Text

    shown = rows[:MOST]
    worst = _worst_first(rows)
    columns = 2 * len(shown) if any(c.corruption_error for row in shown for c in row.corruptions) else len(shown)
    if columns > MOST:
        columns = len(shown)  # corruption errors would not fit
    one_line = max(map(len, worst.values())) + 2 + ONE_LINE * columns <= console().width
    console().print(Text("\naccuracy by corruption, worst first", "bold"))
    table = new_table()
    table.add_column("corruption", no_wrap=True)
    for row in shown:
        table.add_column(row.model, justify="right", overflow="fold")
        if columns > len(shown):
            table.add_column("CE", justify="right")
    for identity, name in worst.items():
        cells = []
        for row in shown:
            scores = next(each for each in row.corruptions if each.corruption == identity)
            cells.append(cell(scores.accuracy, one_line=one_line))
            if columns > len(shown):
                cells.append(cell(scores.corruption_error, one_line=one_line))
        table.add_row(name, *cells)
    console().print(table)
    note = "percent, mean over levels, with 95 % intervals over images"
    note += "; CE is error / error of the reference of mCE" if columns > len(shown) else ""
    if len(rows) > len(shown):
        note += f"; the other {len(rows) - len(shown)} models are in brittle compare --json and in the report"
    console().print(Text(note, "dim"))
    for row in shown:
        console().print(worst_sentence(row))


def worst_sentence(row: Scores) -> Any:
    """Where a model breaks most."""
    from rich.text import Text

    worst = row.worst_first()[0]
    if row.clean is not None and worst.accuracy.value >= row.clean.value:
        return Text.assemble((row.model, "bold"), " loses no accuracy under any of these corruptions.")
    clean = f" against {100 * row.clean.value:.1f} % clean" if row.clean is not None else ""
    accuracy = str(worst.accuracy).removeprefix(f"{worst.accuracy.name} ")
    name = worst.corruption.rpartition("/")[2]
    return Text.assemble((row.model, "bold"), " is worst on ", (name, "bold"), f": accuracy {accuracy}{clean}.")


def _worst_first(rows: Sequence[Scores]) -> dict[str, str]:
    """The ids of corruptions, lowest mean accuracy over the models first, with their names: short where one has it."""
    means: dict[str, float] = {}
    for row in rows:
        for scores in row.corruptions:
            means[scores.corruption] = means.get(scores.corruption, 0.0) + scores.accuracy.value
    short = [identity.rpartition("/")[2] for identity in means]
    return {
        identity: identity if short.count(identity.rpartition("/")[2]) > 1 else identity.rpartition("/")[2]
        for identity in sorted(means, key=lambda identity: (means[identity], identity))
    }


def print_published(beside: Comparable) -> None:
    """What others published on this benchmark: a table of its own, with sources and years below."""
    from rich.text import Text

    from brittle.evaluation.references import published_rows

    scores = beside.published
    if not scores:
        return
    metrics = [
        metric for metric in ("unnormalised error", "mCE", "relative mCE") if any(s.metric == metric for s in scores)
    ]
    sources = list(dict.fromkeys(score.citation for score in scores))
    console().print(Text("\npublished by others, not run here", "bold"))
    table = new_table()
    table.add_column("method, network", overflow="fold")
    for metric in metrics:
        table.add_column(
            {"unnormalised error": "error", "relative mCE": "rel. mCE"}.get(metric, metric), justify="right"
        )
    table.add_column("source", justify="right")
    for method, published in published_rows(scores).items():
        values = {score.metric: f"{100 * score.value:.1f}" for score in published}
        marks = sorted({sources.index(score.citation) + 1 for score in published})
        table.add_row(method, *(values.get(metric, "") for metric in metrics), ", ".join(map(str, marks)))
    console().print(table)
    listed = "; ".join(f"{number}: {source}" for number, source in enumerate(sources, 1))
    console().print(Text(f"percent, as printed; sources {listed}", "dim"))


def new_table(title: str | None = None) -> Table:
    """An empty table in our style; a title is broken into lines as wide as the table."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False)
    table.padding = (0, 1, 0, 0)
    return table


def cell(score: Estimate | None, *, one_line: bool = False) -> Any:
    """A value over its interval, or with it in one line."""
    from rich.text import Text

    if score is None:
        return Text("–", "dim")
    if score.low is None or score.high is None:
        return Text(f"{100 * score.value:.1f}")
    low, high = 100 * score.low, 100 * score.high
    if one_line:
        return Text.assemble(f"{100 * score.value:.1f} ", (f"[{low:.1f}, {high:.1f}]", "dim"), no_wrap=True)
    return Text.assemble(f"{100 * score.value:.1f}", (f"\n{low:.1f}–{high:.1f}", "dim"))


def _with_names(results: Results, models: list[str]) -> list[str]:
    """These models as the results name them: two sets of weights under one name have different names there."""
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
        interval = f"{100 * share:.1f} {DIM}[{100 * float(low):.1f}, {100 * float(high):.1f}]{END}"
        table.add_row(model, corruption, f"{level:g}", f"{count:,}", interval)
    console().print(table)
