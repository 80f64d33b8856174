"""`brittle compare`: models side by side, on the same images."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from brittle._errors import BrittleError
from brittle.cli.console import console, print_json, split_numbers, tell_files
from brittle.cli.options import CorruptionMeasure, RankBy, TableFormat, option
from brittle.cli.scores import added_metrics, cell, new_table, print_corruptions, print_published, print_reference
from brittle.cli.slide.inputs import has_slides, print_slides
from brittle.cli.styles import DIM, END

if TYPE_CHECKING:
    from rich.text import Text

    from brittle.cli.compare_tables import SlideInputs, TableRequest
    from brittle.evaluation import Comparable, Results, Scores
    from brittle.metrics import Estimate

EXAMPLES = (
    ("brittle compare run", "the models of one run"),
    ("brittle compare run-a run-b", "models of two runs on the same data"),
    ("brittle compare run --reference demo-standard", "mCE against a model of the run"),
    (
        "brittle compare run -b cifar10-c --reference other-run:demo-standard",
        "against a model of another run on the same images",
    ),
    ("brittle compare run --figure accuracy.pdf", "and a figure, corruption by corruption"),
    ("brittle compare run --per-corruption --format latex -o corruptions.tex", "a table for a paper"),
    ("brittle compare run --per-corruption --measure R --no-intervals", "another measure, without intervals"),
    ("brittle compare run --ranks -o ranks.md", "ranks at each severity, with Kendall's τ"),
    ("brittle compare run --calibration", "ECE, Brier score, NLL, AURC, accuracy at 90 % coverage, top-5"),
    ("brittle compare run -o scores.csv", "every digit, for other programs"),
    ("brittle compare --table noc-table3 --table c-bar-table2", "published tables; `--table list` names all"),
    ("brittle compare all-run --class-counts 1,2", "of generated shifts: how many classes are enough?"),
    ("brittle compare run --json", "for a script"),
)


def compare_verb(
    runs: Annotated[
        list[Path] | None, typer.Argument(metavar="RUN…", help="Folders that `brittle run` wrote.", show_default=False)
    ] = None,
    benchmark: Annotated[str | None, option("--benchmark", show_default="all")] = None,
    reference: Annotated[
        str | None,
        option("--reference", show_default="the published one, where it is comparable"),
    ] = None,
    id_accuracy: Annotated[
        Path | None, option("--id-accuracy", show_default="scale 0, or clean images of the run")
    ] = None,
    slope_models: Annotated[Path | None, option("--slope-models", show_default="all")] = None,
    model_axes: Annotated[Path | None, option("--model-axes")] = None,
    class_counts: Annotated[list[str] | None, option("--class-counts")] = None,
    no_published: Annotated[bool, option("--no-published")] = False,
    figure: Annotated[
        Path | None,
        option("--figure"),
    ] = None,
    per_corruption: Annotated[bool, option("--per-corruption")] = False,
    measure: Annotated[
        CorruptionMeasure | None, option("--measure", show_default="CE with a reference, else error")
    ] = None,
    ranks: Annotated[bool, option("--ranks")] = False,
    rank_by: Annotated[
        RankBy | None, option("--rank-by", show_default="severity, if the corruptions share two")
    ] = None,
    calibration: Annotated[bool, option("--calibration")] = False,
    table: Annotated[list[str] | None, option("--table")] = None,
    format: Annotated[TableFormat | None, option("--format", show_default="by the name of the file")] = None,  # noqa: A002
    output: Annotated[
        Path | None,
        option("--output", help="A file for the tables: .tex, .md, .csv or .txt. CSV has one table a file."),
    ] = None,
    no_intervals: Annotated[bool, option("--no-intervals")] = False,
    as_json: Annotated[bool, option("--json")] = False,
) -> None:
    """Compare models: ranks, scores with intervals, paired differences to the best, and every corruption.

    A difference is the model's mean accuracy minus the best one's on the same images; a star means that its 95 %
    interval excludes 0. With three or more models the intervals of differences are simultaneous: they stay valid for
    any number of models, and although the best model was chosen after seeing the results.

    Published numbers (the reference of mCE, and published scores) are shown only for runs of the same test on all
    images of the published measurement; otherwise one line gives the reason.

    --per-corruption, --ranks, --table, --format and --output print or write tables for a paper: Markdown, CSV with
    every digit, and LaTeX that needs the package booktabs; the best values are bold.
    """
    from dataclasses import asdict

    import brittle
    from brittle.cli.compare_tables import SlideInputs, TableRequest, print_tables, published_tables, tables_as_json
    from brittle.cli.streams import has_stream, print_streams, streams_as_json
    from brittle.evaluation import (
        calibration_by_cell,
        calibration_scores,
        comparable,
        compare_all,
        has_nuisances,
        nuisance_table,
        scores,
    )

    counts = _whole_numbers(class_counts)
    request = TableRequest(
        per_corruption,
        measure,
        ranks,
        rank_by,
        tuple(table or ()),
        format,
        output,
        not no_intervals,
        counts,
        calibration,
    )
    slides = SlideInputs(id_accuracy, slope_models, model_axes)
    others = not no_published
    if as_json and (format or output):
        raise BrittleError("--json prints one JSON of everything; leave out --format and --output, or --json")
    if not runs and not table:
        raise BrittleError("name at least one run, or a published table: --table NAME (--table list names all)")
    if not runs:
        if as_json:
            print_json(tables_as_json(published_tables(request.published)))
        else:
            print_tables(request, None, [])
        return

    if figure is not None:
        from brittle.plots import check_figure, plot_by_corruption, plot_stream, save_figure

        check_figure(figure)
    results = brittle.load_results(*runs)
    recipes = [recipe for recipe in results.benchmarks() if benchmark in (None, recipe.name)]
    if results.sequences is not None and not recipes and benchmark is None:
        from brittle.cli.sequences import print_sequences, sequences_as_json

        if as_json:
            print_json({"sequences": sequences_as_json(results, reference)})
        elif request:
            print_tables(request, results, [], reference=reference)
        else:
            print_sequences(results, reference)
        return
    with_streams = has_stream(results, benchmark)
    if with_streams and not recipes:
        if as_json:
            print_json({"streams": streams_as_json(results, benchmark)})
        elif request:
            print_tables(request, results, [], reference=reference)
        else:
            print_streams(results, benchmark)
        if figure is not None:
            tell_files(save_figure(plot_stream(results, benchmark), figure))
        return
    if not recipes and benchmark is None and has_slides(results):
        if as_json:
            _slides_as_json(request, results, reference, slides)
        elif request or slides:
            print_tables(request, results, [], reference=reference, slides=slides)
        else:
            print_slides(results)
        if figure is not None:
            tell_files(*_slide_figures(results, figure, model_axes))
        return
    if slides or counts:
        raise BrittleError("--id-accuracy, --slope-models, --model-axes and --class-counts are for runs on slides")
    if not recipes and benchmark is None and has_nuisances(results):
        if as_json:
            print_json(nuisance_table(results).to_polars())
        else:
            print_tables(request, results, [])
        return
    if not recipes:
        complete = ", ".join(recipe.name for recipe in results.benchmarks()) or "none"
        missing = f"these runs hold no complete benchmark {benchmark or ''}".rstrip()
        raise BrittleError(f"{missing}; they hold: {complete}")
    if request and not as_json:
        print_tables(request, results, recipes, reference=reference, others=others)
        if figure is not None:
            tell_files(save_figure(plot_by_corruption(results, recipes), figure))
        return
    tables, names = {}, [recipe.name for recipe in recipes]
    for recipe in recipes:
        rows = scores(results, recipe, reference=reference)
        name = recipe.name if names.count(recipe.name) == 1 else f"{recipe.name} {recipe.hash[:6]}"
        tables[name] = (rows, compare_all(results, recipe, [row.model for row in rows]))
    beside = {name: comparable(results, recipe) for name, recipe in zip(tables, recipes, strict=True)}
    if as_json:
        known = _as_json(tables, beside, others)
        for name, recipe in zip(tables, recipes, strict=True) if calibration else ():
            known[name]["calibration"] = [asdict(row) for row in calibration_scores(results, recipe)]
            known[name]["calibration_by_cell"] = calibration_by_cell(results, recipe).to_polars().to_dicts()
        streams = {"streams": streams_as_json(results, benchmark)} if with_streams else {}
        print_json(known | tables_as_json(published_tables(request.published)) | streams)
        return
    for recipe, name in zip(recipes, tables, strict=True):
        rows = tables[name][0]
        _print(name, *tables[name])
        if others:
            print_published(beside[name])
        print_reference(rows, beside[name], recipe, published=others)
        print_corruptions(rows)
    if len(recipes) > 1 and len(results.models) > 2:
        _print_agreement({name: rows for name, (rows, _) in tables.items()})
    if with_streams:
        print_streams(results, benchmark)
    if figure is not None:
        tell_files(save_figure(plot_by_corruption(results, recipes), figure))


def _whole_numbers(class_counts: list[str] | None) -> tuple[int, ...]:
    numbers = split_numbers(class_counts, "--class-counts")
    if any(number != int(number) for number in numbers):
        raise BrittleError(f"--class-counts are whole numbers such as 10,25,50; got {', '.join(class_counts or ())}")
    return tuple(map(int, numbers))


def _slides_as_json(request: TableRequest, results: Results, reference: str | None, slides: SlideInputs) -> None:
    """Everything that is known of models along the scales of slides, and published tables that were asked for.

    Ranks are those of each shift and scale, by accuracy and by its drop, which the tables have over all shifts.
    """
    from brittle.cli.compare_tables import published_tables, tables_as_json, tables_of_slides
    from brittle.evaluation import cns_scores

    tables = [*tables_of_slides(request, results, reference, slides), *published_tables(request.published)]
    known, by_drop = cns_scores(results), cns_scores(results, rank_by="drop")
    frames = {"accuracy": known.accuracy, "rankings": known.rankings, "rankings-by-drop": by_drop.rankings}
    print_json({**frames, **tables_as_json(tables)})


def _slide_figures(results: Results, figure: Path, model_axes: Path | None) -> list[Path]:
    """The drops of models, or one figure for each axis with the drops of its groups."""
    from brittle.evaluation import cns_scores, grouped_scores, read_model_axes
    from brittle.plots import plot_drop, save_figure

    known = cns_scores(results)
    if model_axes is None:
        return [save_figure(plot_drop(known), figure)]
    return [
        save_figure(plot_drop(grouped_scores(known, groups)), figure.with_stem(f"{figure.stem}-{axis}"))
        for axis, groups in read_model_axes(model_axes).items()
    ]


def _print(name: str, rows: list[Scores], differences: dict[str, Estimate]) -> None:
    from rich.text import Text

    fields = [
        ("clean", "clean"),
        ("error", "error"),
        ("mce", "mCE"),
        ("relative_mce", "rel. mCE"),
    ]
    fields = [(f, title) for f, title in fields if any(getattr(row, f) is not None for row in rows)]
    table = new_table(name)
    table.add_column("", justify="right", style="dim")
    table.add_column("model", overflow="fold")
    added = added_metrics(rows)
    for _, title in (*fields, *added):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("to the best", justify="right", no_wrap=True)
    for rank, row in enumerate(rows, 1):
        gap = differences.get(row.model)
        table.add_row(
            str(rank),
            row.model,
            *(cell(getattr(row, f)) for f, _ in fields),
            *(cell(row.more.get(f)) for f, _ in added),
            Text("–", "dim") if gap is None else _gap(gap),
        )
    console().print(table)
    note = (
        "percent, 95 % intervals over images; error is unnormalised; differences are paired, * the interval excludes 0"
    )
    simultaneous = "; their intervals hold for all models at once" if len(differences) > 1 else ""
    console().print(f"{DIM}{note}{simultaneous}{END}")


def _gap(gap: Estimate) -> Text:
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


def _as_json(
    tables: dict[str, tuple[list[Scores], dict[str, Estimate]]], beside: dict[str, Comparable], others: bool
) -> dict[str, Any]:
    from dataclasses import asdict

    return {
        name: {
            "reference": next((row.reference for row in rows), None),
            "why_not_comparable": beside[name].refusal(has_reference=any(row.reference for row in rows)) or None,
            "notes": list(beside[name].notes),
            "models": [
                {**asdict(row), "rank": rank, "to_the_best": asdict(gaps[row.model]) if row.model in gaps else None}
                for rank, row in enumerate(rows, 1)
            ],
            "published": [asdict(score) for score in beside[name].published] if others else [],
        }
        for name, (rows, gaps) in tables.items()
    }
