"""`brittle export hf` and `brittle export robustbench`: scores where others list them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from brittle.cli.console import console, tell_files
from brittle.cli.options import option
from brittle.cli.styles import DIM, END

RUNS = Annotated[list[Path], typer.Argument(metavar="RUN…", help="Folders that `brittle run` wrote.")]
MODEL = Annotated[str | None, option("--model-name", show_default="the only one")]

HF_EXAMPLES = (
    (
        "brittle export hf run --model-name demo-augmix --dataset-id uoft-cs/cifar10 -o my-model",
        "a card and YAML files",
    ),
    (
        "brittle export hf run --model-name demo-augmix --dataset-id uoft-cs/cifar10 -b cifar10-c -o my-model",
        "one of its benchmarks",
    ),
)
ROBUSTBENCH_EXAMPLES = (
    (
        "brittle export robustbench run -b cifar10-c --model-name demo-augmix --publish-as Me2026Net -o model_info",
        "model_info/cifar10/corruptions/Me2026Net.json",
    ),
)


def hf_verb(
    runs: RUNS,
    dataset_id: Annotated[str, option("--dataset-id")],
    output: Annotated[Path, option("--output", help="Folder: a clone of the model's repository, or a new one.")],
    benchmark: Annotated[str | None, option("--benchmark", show_default="all that the runs hold")] = None,
    model_name: MODEL = None,
    publish_as: Annotated[str | None, option("--publish-as", show_default="its name in the runs")] = None,
    task_id: Annotated[str | None, option("--task-id", show_default="the recipe's name")] = None,
    source_url: Annotated[str | None, option("--source-url")] = None,
) -> None:
    """Write scores for a model page of the Hugging Face Hub: the metadata of its card, and .eval_results files.

    An existing README.md keeps its text and its other metadata. Metadata that the Hub would refuse are refused here.
    Nothing is sent: push the files yourself.
    """
    from brittle.evaluation import load_results
    from brittle.publish import HubSettings, write_hub

    settings = HubSettings(dataset_id, task_id=task_id, publish_as=publish_as, source_url=source_url)
    tell_files(*write_hub(load_results(*runs), output, settings, benchmark, model_name=model_name))


def robustbench_verb(
    runs: RUNS,
    publish_as: Annotated[str, option("--publish-as")],
    output: Annotated[Path, option("--output", help="The model_info folder of RobustBench, or a new one.")],
    benchmark: Annotated[str | None, option("--benchmark", show_default="the only one of the runs")] = None,
    model_name: MODEL = None,
    paper: Annotated[Path | None, option("--paper")] = None,
) -> None:
    """Write an entry for the corruption leaderboards of RobustBench, as JSON, and the accuracy of every cell as CSV.

    The footnote of the entry says how it was measured. RobustBench lists a model after evaluating it itself.
    """
    from brittle.evaluation import load_results
    from brittle.publish import PaperEntry, load_paper_entry, write_robustbench

    entry = PaperEntry() if paper is None else load_paper_entry(paper)
    results = load_results(*runs)
    tell_files(*write_robustbench(results, output, publish_as, benchmark, model_name=model_name, paper=entry))
    if entry.missing:
        console().print(
            f"{DIM}to be filled in, by hand or with --paper: {', '.join(entry.missing)}{END}", soft_wrap=True
        )
