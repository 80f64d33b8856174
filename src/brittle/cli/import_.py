"""`brittle import`: predictions that were made elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from brittle.cli.console import console, print_json, say_next
from brittle.cli.inputs import DATA, PARTIAL, PREPARE, load_data
from brittle.cli.options import option
from brittle.cli.scores import print_scores, scores_as_json

EXAMPLES = (
    ("brittle import preds.csv -d imagenet:val/ -b imagenet-c -o run", "with columns sample, corruption, level, …"),
    ("brittle import a.npz -d demo -b cifar10-c -o run --model-name mine", "into an existing run"),
)


def import_verb(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A .csv or .npz file of predictions.")],
    data: DATA,
    output: Annotated[Path, option("--output", help="The run's folder; predictions are added to an existing one.")],
    benchmark: Annotated[str | None, option("--benchmark")] = None,
    limit: Annotated[int | None, option("--limit")] = None,
    prepare: PREPARE = None,
    partial: PARTIAL = False,
    model_name: Annotated[str | None, option("--model-name", show_default="the file's name")] = None,
    as_json: Annotated[bool, option("--json")] = False,
) -> None:
    """Import predictions that were made elsewhere into a run, to score, compare and report them like any other.

    The file has one row per prediction: sample, corruption (or `clean`), level, prediction (the number of a class), and
    confidence if known. Samples have the ids of the data set: relative path or index.
    """
    import brittle
    from brittle.evaluation import import_predictions

    recipe = None if benchmark is None else brittle.load_benchmark(benchmark)
    dataset = load_data(data, limit=limit, prepare=prepare, partial=partial)
    results = import_predictions(file, dataset, output, model_name=model_name, benchmark=recipe)
    if as_json:
        print_json(scores_as_json(results))
        return
    print_scores(results, first=recipe)
    console().print()
    say_next("report", output, after=output)
