"""`brittle failure-points`: the severity at which each image breaks."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from brittle.cli.console import compile_first, console, interrupted, print_json, progress_bar, say_next, split_commas
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
    THREADS,
    fit_data,
    follow,
    load_data,
    load_models,
    tell_models,
)
from brittle.cli.options import option
from brittle.cli.probe import class_name

if TYPE_CHECKING:
    import polars as pl

    from brittle.evaluation.failure_summary import FailureSummary, SearchedFolder
    from brittle.metrics import Estimate

EXAMPLES = (
    ("brittle failure-points -m demo:augmix -d demo -b cifar10-c -o run", "of the bundled model"),
    ("brittle failure-points -m demo:augmix -d demo -c fog --tolerance 0.01 -o run", "of fog, finely"),
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
    step: Annotated[float, option("--search-step")] = 1.0,
    limit: Annotated[int | None, option("--limit")] = None,
    prepare: PREPARE = None,
    partial: PARTIAL = False,
    classes: CLASSES = None,
    mean: MEAN = None,
    std: STD = None,
    size: SIZE = None,
    crop: CROP = None,
    threads: THREADS = None,
    seed: Annotated[int | None, option("--seed", show_default="the recipe's")] = None,
    figure: Annotated[
        Path | None,
        option("--figure", show_default="failure-points.png in the run's folder", dir_okay=False),
    ] = None,
    device: DEVICE = "auto",
    overwrite: OVERWRITE = False,
    as_json: Annotated[bool, option("--json")] = False,
) -> None:
    """Find the smallest severity at which a model is wrong, image by image, on the continuous axis.

    Whole steps are tried upwards until the first failure, then halved down to the tolerance: about seven evaluations
    per image where a grid as fine would need a hundred. The draws grow with severity, so a failure point is a point on
    a path. The run's folder gets a table of all images, a picture, and what `brittle report` needs.
    """
    from brittle.cli.console import check_picture, chosen_recipe, save_picture
    from brittle.evaluation import search_failure_points
    from brittle.evaluation.failure_search import drawn_key
    from brittle.evaluation.failure_summary import SearchedFolder
    from brittle.report.strips import failure_sheet

    if figure is not None:
        check_picture(figure)
    recipe = chosen_recipe(benchmark, split_commas(corruptions), [], seed, default="imagenet-c")
    assert recipe is not None
    options = {**({"partial": True} if partial else {}), **({} if classes is None else {"classes": classes})}
    dataset = load_data(data, limit, prepare, options, tell=False)
    loaded = load_models(models, device=device, bf16=False, mean=mean, std=std, size=size, crop=crop)
    dataset = fit_data(dataset, loaded, output)
    tell_models(loaded)
    compile_first(entry.corruption for entry in recipe.entries)
    with progress_bar() as bar:
        try:
            rows = search_failure_points(
                loaded,
                dataset,
                recipe,
                output,
                step=step,
                tolerance=tolerance,
                threads=threads,
                overwrite=overwrite,
                progress=follow(bar),
            )
        except KeyboardInterrupt:
            bar.stop()
            interrupted()
    searched = SearchedFolder(output)
    wanted = {(model.key, drawn_key(recipe, entry)) for model in loaded for entry in recipe.entries}
    names = list(dataset.classes)
    figure = figure or output / "failure-points.png"
    files = [save_rows(rows, output / "failure-points.csv")]
    for model in loaded:
        own = [one for one in searched.summaries if one.key == model.key and (one.key, one.drawn) in wanted]
        if not as_json:
            _print(own, searched)
        if any(one.examples() for one in own):
            path = figure if len(loaded) == 1 else figure.with_stem(f"{figure.stem}-{plain_name(model.name)}")
            save_picture(failure_sheet(searched, own, lambda number: class_name(number, names)), path)
            files.append(path)
    if as_json:
        print_json(rows)
        return
    console().print()
    for path in files:
        what = "the failure point of every image" if path.suffix == ".csv" else "images at their failure points"
        console().print(f"{path}  [dim]{what}[/]", soft_wrap=True)
    say_next("report", output, after=output)


def save_rows(rows: pl.DataFrame, path: Path) -> Path:
    """Every image's failure point as a table that spreadsheets read; one that never fails has none."""
    import polars as pl

    from brittle._io import atomic_write

    never = pl.col("failed").is_infinite()
    table = rows.select(
        "model",
        "corruption",
        "sample",
        "label",
        pl.when(~never).then("failed").alias("failure_point"),
        pl.when(pl.col("failed") > 0).then("held").alias("last_right"),
        pl.when(~never).then("prediction").alias("prediction"),
        pl.when(~never).then("failed_confidence").alias("confidence"),
        "evaluations",
        "max_severity",
        "resolution",
    )
    with atomic_write(path) as part:
        table.write_csv(part, float_precision=6)
    return path


def plain_name(name: str) -> str:
    """A name that can be part of a file's."""
    return "".join(letter if letter.isalnum() or letter in "+-_." else "-" for letter in name)


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
    for one in summaries:
        curve = "".join(SPARKS[round(8 * share)] for share in one.points.survival(np.linspace(0, one.last, 11)))
        table.add_row(
            one.corruption.rpartition("/")[2],
            _severity(one.early, one.last),
            _severity(one.half, one.last),
            f"{100 * one.never:.0f} %" if right else "–",
            f"{one.evaluations:.1f}",
            curve,
        )
    screen.print(table)
    evaluations = sum(one.evaluations for one in summaries)
    grid = sum(len(one.points.severities) for one in summaries)
    note = (
        "severities of the images that are right when clean, with 95 % intervals; the most brittle first\n"
        f"{evaluations:.0f} evaluations per image over {len(summaries)} corruptions; a grid as fine takes {grid} "
        f"({grid / evaluations:.0f}×)"
    )
    screen.print(f"[dim]{note}[/]")
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
    for one in summaries:
        change = searched.change(one)
        if change is not None:
            row = (
                f"{change.severity:.2f}",
                change.words,
                f"{change.psnr:.1f} dB",
                f"{change.ssim:.2f}",
                change.contrast_change,
            )
            table.add_row(one.corruption.rpartition("/")[2], *row)
    if table.row_count:
        console().print()
        console().print(table)
        console().print("[dim]at the severity of the 5 % column, else of the next or the end; means over images[/]")


def _severity(found: Estimate | None, last: float, between: str = "\n") -> str:
    """A severity and its interval; beyond the axis it is only known to be larger."""
    if found is None or found.low is None or found.high is None:
        return "–"
    low, high = (f"{end:.2f}" if end <= last else f"> {last:g}" for end in (found.low, found.high))
    value = f"{found.value:.2f}" if found.value <= last else f"> {last:g}"
    return f"{value}{between}[dim]({low}–{high})[/]"
