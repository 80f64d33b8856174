"""Tables for papers: which are requested, and where they are printed or written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from brittle.cli.console import console, tell_files
from brittle.cli.styles import DIM, END

if TYPE_CHECKING:
    from brittle.benchmarks import Benchmark
    from brittle.evaluation import By, Format, Measure, Results, ScoreTable

LIST = "list"
"""The name that stands for the list of published tables."""


@dataclass(frozen=True)
class TableRequest:
    """The tables of a command line, and their format."""

    per_corruption: bool = False
    measure: Measure | None = None
    ranks: bool = False
    by: By | None = None
    published: tuple[str, ...] = ()
    form: Format | None = None
    output: Path | None = None
    intervals: bool = True
    class_counts: tuple[int, ...] = ()
    calibration: bool = False

    def __bool__(self) -> bool:
        """Whether any table is requested, in place of what is printed without one."""
        return self != TableRequest()

    def format(self) -> Format:
        """The format that was given, or that of the file, or that of a terminal."""
        from brittle.evaluation import guess_format

        if self.form is not None or self.output is None:
            return self.form or "table"
        return guess_format(self.output)


def print_tables(
    request: TableRequest,
    results: Results | None,
    recipes: Sequence[Benchmark],
    *,
    reference: str | None = None,
    others: bool = True,
    slides: SlideInputs | None = None,
) -> None:
    """Print or write the requested tables; those of sequences, streams or slides if there is no recipe."""
    from brittle.evaluation import has_nuisances, nuisance_table, sequence_tables, stream_tables

    form = request.format()
    tables = published_tables(request.published)
    if results is not None and recipes:
        tables = [*_of_runs(request, results, recipes, reference, others, form), *tables]
        if not request.calibration:
            _say_why_not(results, recipes, reference)
    elif results is not None and results.sequences is not None:
        tables = [*sequence_tables(results, reference=reference), *tables]
    elif results is not None and results.streams is not None:
        tables = [*stream_tables(results), *tables]
    elif results is not None and has_nuisances(results):
        tables = [nuisance_table(results), *tables]
    elif results is not None:
        tables = [*tables_of_slides(request, results, reference, slides or SlideInputs()), *tables]
        if reference is None:
            console(stderr=True).print(f"{DIM}No rCE: name the model that divides it, --reference MODEL.{END}")
    tables = _named_apart(tables)
    if request.output is not None:
        tell_files(*_write(tables, form, request.output, request.intervals))
    else:
        _print(tables, form, request.intervals)


@dataclass(frozen=True)
class SlideInputs:
    """Files that say more about the models of slides: a run on clean images, a list of models, a table of them."""

    id_accuracy: Path | None = None
    slope_models: Path | None = None
    model_axes: Path | None = None

    def __bool__(self) -> bool:
        """Whether there is any."""
        return self != SlideInputs()

    def keywords(self) -> dict[str, Any]:
        """What they hold, for `slide_tables`."""
        from brittle.evaluation import clean_accuracies, load_results, read_model_axes, read_model_names

        given: dict[str, Any] = {}
        if self.id_accuracy is not None:
            given["id_accuracy"] = clean_accuracies(load_results(self.id_accuracy))
        if self.slope_models is not None:
            given["slope_models"] = read_model_names(self.slope_models)
        if self.model_axes is not None:
            given["model_axes"] = read_model_axes(self.model_axes)
        return given


def tables_of_slides(
    request: TableRequest, results: Results, reference: str | None, slides: SlideInputs
) -> list[ScoreTable]:
    """The tables of slides, or those of random subsets of their classes."""
    from brittle.evaluation import class_count_tables, slide_tables

    if request.class_counts:
        return class_count_tables(results, request.class_counts, baseline=reference)
    return slide_tables(results, baseline=reference, **slides.keywords())


def _named_apart(tables: Sequence[ScoreTable]) -> list[ScoreTable]:
    """Tables of two recipes of one name get numbers, so that neither their files nor their labels are the same."""
    names = [table.name for table in tables]
    return [
        replace(table, name=f"{table.name}-{names[:i].count(table.name) + 1}") if table.name in names[:i] else table
        for i, table in enumerate(tables)
    ]


def published_tables(names: Sequence[str]) -> list[ScoreTable]:
    """Bundled tables by their names; `list` is the list of them."""
    from brittle.evaluation import printed_table, published_index

    return [published_index() if name == LIST else printed_table(name) for name in names]


def _of_runs(
    request: TableRequest,
    results: Results,
    recipes: Sequence[Benchmark],
    reference: str | None,
    others: bool,
    form: Format,
) -> list[ScoreTable]:
    """Of each benchmark every corruption, or ranks, or both, or else the scores."""
    from brittle.evaluation import (
        agreement_table,
        by_corruption_table,
        calibration_by_cell,
        calibration_table,
        per_corruption_table,
        rank_table,
        score_table,
    )

    options: dict[str, Any] = {"reference": reference, "published": others}
    every_corruption, ranks = (
        request.per_corruption or request.measure is not None,
        request.ranks or request.by is not None,
    )
    tables = []
    for recipe in recipes:
        if every_corruption and form == "csv" and request.measure is None:
            tables.append(by_corruption_table(results, recipe, **options))
        elif every_corruption:
            tables.append(per_corruption_table(results, recipe, request.measure, **options))
        if ranks:
            tables.append(rank_table(results, recipe, by=request.by))
        if request.calibration:
            tables.append(calibration_table(results, recipe))
        if request.calibration and form == "csv":
            tables.append(calibration_by_cell(results, recipe))
        if not (every_corruption or ranks or request.calibration):
            tables.append(score_table(results, recipe, **options))
    return [*tables, agreement_table(results, recipes)] if ranks and len(recipes) > 1 else tables


def _say_why_not(results: Results, recipes: Sequence[Benchmark], reference: str | None) -> None:
    """One line on stderr for published numbers that are not in the tables."""
    from rich.text import Text

    from brittle.evaluation import comparable

    for recipe in recipes:
        line = comparable(results, recipe).refusal(has_reference=reference is not None)
        if line:
            console(stderr=True).print(Text(line, "dim"), soft_wrap=True)


def _print(tables: Sequence[ScoreTable], form: Format, intervals: bool) -> None:
    from brittle.evaluation import format_table, table_parts

    for number, table in enumerate(tables):
        if number:
            typer.echo()
        if form == "table":
            screen = console()
            for part in table_parts(table, width=screen.width, intervals=intervals):
                screen.print(part)
        else:
            text = format_table(table, form, intervals=intervals)
            heading = f"# {table.title}\n" if form == "csv" and len(tables) > 1 else ""
            typer.echo(heading + text, nl=False)


def _write(tables: Sequence[ScoreTable], form: Format, output: Path, intervals: bool) -> list[Path]:
    """The files: one for all tables, or one a table where CSV has several."""
    from brittle._io import atomic_write
    from brittle.evaluation import format_table

    texts = {table.name: format_table(table, form, intervals=intervals) for table in tables}
    if form == "csv" and len(texts) > 1:
        files = {output.with_name(f"{output.stem}-{name}{output.suffix}"): text for name, text in texts.items()}
    else:
        files = {output: "\n".join(texts.values())}
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path) as part:
            part.write_text(text, encoding="utf-8")
    return list(files)


def tables_as_json(tables: Sequence[ScoreTable]) -> dict[str, Any]:
    """Tables by their names, row by row."""
    return {
        table.name: {"title": table.title, "notes": list(table.notes), "rows": table.to_polars().to_dicts()}
        for table in tables
    }
