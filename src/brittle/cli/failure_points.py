"""`brittle failure-points`: the severity at which the prediction for each image fails."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from brittle._io import file_name
from brittle.cli.console import (
    choose_benchmark,
    compile_first,
    console,
    print_json,
    resumable_progress,
    say_next,
)
from brittle.cli.inputs import (
    CLASSES,
    CROP,
    DATA,
    DEVICE,
    MEAN,
    MODEL,
    OVERWRITE,
    PARTIAL,
    PREPARE,
    SIZE,
    STD,
    fit_data,
    follow,
    load_data,
    load_models,
    tell_models,
)
from brittle.cli.options import option
from brittle.cli.styles import DIM, END

if TYPE_CHECKING:
    from brittle.evaluation import FailureSummary, SearchedFolder
    from brittle.metrics import Estimate

EXAMPLES = (
    ("brittle failure-points -m demo:augmix -d demo -b cifar10-c -o run", "a bundled model on bundled images"),
    (
        "brittle failure-points -m demo:augmix -d demo -c fog --tolerance 0.01 -o run",
        "one corruption, more precisely",
    ),
)


def failure_points_verb(
    models: MODEL,
    data: DATA,
    output: Annotated[Path, option("--output", help="The run's folder; an existing one is resumed.")],
    benchmark: Annotated[
        str | None,
        option("--benchmark", show_default="imagenet-c"),
    ] = None,
    corruptions: Annotated[list[str] | None, option("--corruption")] = None,
    tolerance: Annotated[float, option("--tolerance")] = 0.05,
    search_step: Annotated[float, option("--search-step")] = 1.0,
    limit: Annotated[int | None, option("--limit")] = None,
    prepare: PREPARE = None,
    partial: PARTIAL = False,
    classes: CLASSES = None,
    mean: MEAN = None,
    std: STD = None,
    size: SIZE = None,
    crop: CROP = None,
    seed: Annotated[int | None, option("--seed", show_default="the recipe's")] = None,
    picture: Annotated[
        Path | None,
        option("--picture", show_default="failure-points.png in the run's folder", dir_okay=False),
    ] = None,
    device: DEVICE = "auto",
    overwrite: OVERWRITE = False,
    as_json: Annotated[bool, option("--json")] = False,
) -> None:
    """Find the smallest severity at which a model is wrong, image by image, on the continuous axis.

    The search goes up in steps until the first failure, then halves the last step down to the tolerance: about seven
    evaluations per image, where an equally fine grid needs a hundred. The random pattern stays the same and only
    becomes stronger with severity. The run's folder gets a table of all images, a picture, and the data for `brittle
    report`.
    """
    from brittle.datasets import check_picture, class_name, save_picture
    from brittle.evaluation import SearchedFolder, drawn_key, search_failure_points, write_failure_points
    from brittle.report import failure_sheet

    if picture is not None:
        check_picture(picture)
    recipe = choose_benchmark(benchmark, corruptions, seed=seed, default="imagenet-c")
    assert recipe is not None
    dataset = load_data(data, limit=limit, prepare=prepare, partial=partial, classes=classes, quiet=True)
    loaded = load_models(models, device=device, bf16=False, mean=mean, std=std, size=size, crop=crop)
    dataset, loaded = fit_data(dataset, loaded, output)
    tell_models(loaded)
    compile_first(entry.corruption for entry in recipe.entries)
    with resumable_progress() as bar:
        rows = search_failure_points(
            loaded,
            dataset,
            recipe,
            output,
            search_step=search_step,
            tolerance=tolerance,
            overwrite=overwrite,
            progress=follow(bar),
        )
    searched = SearchedFolder(output)
    keys = {(model.key, drawn_key(recipe, entry)) for model in loaded for entry in recipe.entries}
    picture = picture or output / "failure-points.png"
    files = [write_failure_points(rows, output / "failure-points.csv")]
    for model in loaded:
        summaries = [
            summary
            for summary in searched.summaries
            if summary.key == model.key and (summary.key, summary.drawn) in keys
        ]
        if not as_json:
            _print(summaries, searched)
        if any(summary.examples() for summary in summaries):
            path = picture if len(loaded) == 1 else picture.with_stem(f"{picture.stem}-{file_name(model.name)}")
            sheet = failure_sheet(searched, summaries, lambda number: class_name(number, dataset.classes))
            save_picture(sheet, path)
            files.append(path)
    if as_json:
        print_json(rows)
        return
    console().print()
    for path in files:
        content = "the failure point of every image" if path.suffix == ".csv" else "images at their failure points"
        console().print(f"{path}  {DIM}{content}{END}", soft_wrap=True)
    say_next("report", output, after=output)


SPARKS = " ▁▂▃▄▅▆▇█"


def _print(summaries: list[FailureSummary], searched: SearchedFolder) -> None:
    """The quantiles of every corruption, and what the severities at them do to images."""
    import numpy as np
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    first = summaries[0]
    right = len(first.points) - first.points.at_zero
    screen = console()
    title = f"{first.model}: {right} of {len(first.points)} images are right when clean"
    table = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("corruption", overflow="fold")
    for heading in ("5 % fail\nbelow", "half fail\nbelow", "never\nfail", "evaluations\nper image"):
        table.add_column(heading, justify="right")
    table.add_column("still right\n0 to end", no_wrap=True)
    for summary in summaries:
        curve = "".join(SPARKS[round(8 * share)] for share in summary.points.survival(np.linspace(0, summary.last, 11)))
        table.add_row(
            summary.corruption.rpartition("/")[2],
            _severity(summary.early, summary.last),
            _severity(summary.half, summary.last),
            f"{100 * summary.never:.0f} %" if right else "–",
            f"{summary.evaluations:.1f}",
            curve,
        )
    screen.print(table)
    evaluations = sum(summary.evaluations for summary in summaries)
    grid = sum(len(summary.points.severities) for summary in summaries)
    note = (
        "severities of the images that are right when clean, with 95 % intervals; the most brittle first\n"
        f"{evaluations:.0f} evaluations per image over {len(summaries)} corruptions; a grid as fine takes {grid} "
        f"({grid / evaluations:.0f}×)"
    )
    screen.print(f"{DIM}{note}{END}")
    if first.early is not None and np.isfinite(first.early.value):
        name = first.corruption.rpartition("/")[2]
        screen.print(
            f"5 % of images fail below severity {_severity(first.early, first.last, ' ')} of {name}.", soft_wrap=True
        )
    _print_changes(summaries, searched)


def _print_changes(summaries: list[FailureSummary], searched: SearchedFolder) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    title = "What these severities do to an image"
    table = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("corruption", overflow="fold")
    table.add_column("severity", justify="right")
    table.add_column("parameters there")
    for heading in ("PSNR", "SSIM", "contrast"):
        table.add_column(heading, justify="right", no_wrap=True)
    for summary in summaries:
        change = searched.change(summary)
        if change is not None:
            row = (
                f"{change.severity:.2f}",
                change.words,
                f"{change.psnr:.1f} dB",
                f"{change.ssim:.2f}",
                change.contrast_change,
            )
            table.add_row(summary.corruption.rpartition("/")[2], *row)
    if table.row_count:
        console().print()
        console().print(table)
        console().print(f"{DIM}at the severity of the 5 % column, else of the next or the end; means over images{END}")


def _severity(severity: Estimate | None, last: float, between: str = "\n") -> str:
    """A severity and its interval; beyond the axis it is only known to be larger."""
    if severity is None or severity.low is None or severity.high is None:
        return "–"
    low, high = (f"{end:.2f}" if end <= last else f"> {last:g}" for end in (severity.low, severity.high))
    value = f"{severity.value:.2f}" if severity.value <= last else f"> {last:g}"
    return f"{value}{between}{DIM}({low}–{high}){END}"
