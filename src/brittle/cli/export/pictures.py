"""`brittle export fiftyone`: pictures and predictions to browse."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from brittle.cli.console import console, split_commas, split_numbers
from brittle.cli.export.scores import RUNS
from brittle.cli.options import option
from brittle.cli.styles import DIM, END

EXAMPLES = (
    ("brittle export fiftyone run -b cifar10-c -c fog,snow -s 3,5 --limit 50 -o dataset", "some of its pictures"),
)


def fiftyone_verb(
    runs: RUNS,
    output: Annotated[Path, option("--output", help="Folder of the dataset.")],
    benchmark: Annotated[str | None, option("--benchmark", show_default="the only one of the runs")] = None,
    model_name: Annotated[list[str] | None, option("--model-name", show_default="all")] = None,
    corruption: Annotated[list[str] | None, option("--corruption", show_default="all")] = None,
    severity: Annotated[list[str] | None, option("--severity", show_default="all")] = None,
    limit: Annotated[int | None, option("--limit", show_default="all")] = None,
) -> None:
    """Write a dataset that FiftyOne imports: pictures as models saw them, labels, predictions and confidences.

    The pictures are drawn again by the recipe from the images in the run's folder.
    """
    from brittle.evaluation import load_results
    from brittle.publish import write_fiftyone

    results = load_results(*runs)
    with console(stderr=True).status("drawing the pictures"):
        write_fiftyone(
            results,
            output,
            benchmark,
            model_names=model_name or (),
            corruptions=split_commas(corruption),
            severities=split_numbers(severity, "severities"),
            limit=limit,
        )
    count = sum(1 for _ in (output / "data").rglob("*.png"))
    how = f"fo.Dataset.from_dir({str(output)!r}, dataset_type=fo.types.FiftyOneDataset)"
    console().print(f"{output}  {DIM}{count:,} pictures{END}\n{DIM}{how}{END}", soft_wrap=True)
