"""`brittle failure-points`: the severity at which each image breaks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from brittle.cli.console import console, interrupted, progress_bar, say_if_compiling
from brittle.cli.run import DATA, DEVICE, MODEL, PARTIAL, PREPARE, follow, load_data, load_models
from brittle.cli.several import several

if TYPE_CHECKING:
    import polars as pl

EXAMPLES = (
    ("brittle failure-points -m demo:augmix -d demo -b cifar10-c -o run", "of the bundled model"),
    ("brittle failure-points -m demo:augmix -d demo -c fog --tolerance 0.01 -o run", "of fog, finely"),
)


def failure_points_verb(
    models: MODEL,
    data: DATA,
    output: Annotated[Path, typer.Option("--output", "-o", help="The run's folder; one that is there goes on.")],
    benchmark: Annotated[
        str | None, typer.Option("--benchmark", "-b", help="Whose corruptions.", show_default="imagenet-c")
    ] = None,
    corruptions: Annotated[
        list[str] | None, typer.Option("--corruption", "-c", metavar="NAME", help="Only these, with commas.")
    ] = None,
    tolerance: Annotated[float, typer.Option("--tolerance", help="How finely a failure point is found.")] = 0.05,
    step: Annotated[float, typer.Option("--step", help="Steps tried upwards before the halving.")] = 1.0,
    limit: Annotated[int | None, typer.Option("--limit", help="Only so many images, evenly over the data.")] = None,
    prepare: PREPARE = None,
    partial: PARTIAL = False,
    seed: Annotated[int | None, typer.Option("--seed", help="Other draws.", show_default="the recipe's")] = None,
    device: DEVICE = "auto",
) -> None:
    """Find the smallest severity at which a model is wrong, image by image, on the continuous axis.

    Whole steps are tried upwards until the first failure, then halved down to the tolerance: about ten looks an image
    where a grid as fine would need a hundred. The draws grow with severity, so a failure point is a point on a path.
    """
    from brittle.cli.recipe import chosen_recipe
    from brittle.evaluation import search_failure_points

    recipe = chosen_recipe(benchmark, several(corruptions), [], seed, default="imagenet-c")
    assert recipe is not None
    loaded = load_models(models, device=device, bf16=False)
    dataset = load_data(data, limit, prepare, {"partial": True} if partial else {})
    say_if_compiling(entry.corruption for entry in recipe.entries)
    with progress_bar() as bar:
        try:
            rows = search_failure_points(
                loaded, dataset, recipe, output, step=step, tolerance=tolerance, progress=follow(bar)
            )
        except KeyboardInterrupt:
            bar.stop()
            interrupted()
    for model in loaded:
        _print(model.name, rows)
    console().print(f"\n{output / 'failure-points'}  [dim]a Parquet file for each corruption[/]", soft_wrap=True)


SPARKS = " ▁▂▃▄▅▆▇█"


def _print(model: str, rows: pl.DataFrame) -> None:
    import numpy as np
    import polars as pl
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from brittle.metrics import FailurePoints

    mine = rows.filter(pl.col("model") == model)
    table = Table(title=model, title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("corruption", overflow="fold")
    for title in ("median", "mean", "never fails", "looks"):
        table.add_column(title, justify="right")
    table.add_column("share still right, 0 to the end")
    found = []
    for (corruption,), group in mine.group_by("corruption", maintain_order=True):
        highest, resolution = group["max_severity"][0], group["resolution"][0]
        points = FailurePoints(group["failed"].to_numpy(), np.arange(round(highest / resolution) + 1) * resolution)
        found.append((points.mean(), str(corruption), points, highest, group["shown"][0]))
    for mean, corruption, points, highest, shown in sorted(found, key=lambda row: row[0] / row[3]):
        curve = "".join(SPARKS[round(8 * share)] for share in points.survival(np.linspace(0, highest, 21)))
        median = points.median()
        table.add_row(
            corruption.rpartition("/")[2],
            f"{median:.2f}" if np.isfinite(median) else f"> {highest:g}",
            f"{mean:.2f}",
            f"{100 * points.never / len(points):.0f} %",
            f"{shown:.1f}",
            curve,
        )
    console().print(table)
    shown = sum(row[4] for row in found)
    grid = sum(len(row[2].severities) for row in found)
    note = (
        f"{shown:.0f} looks an image over {len(found)} corruptions; a grid as fine takes {grid} ({grid / shown:.0f}×)"
    )
    console().print(f"[dim]most brittle first; {note}[/]")
