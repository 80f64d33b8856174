"""`brittle design calibrate`: severities at which a model loses as much as one wants."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from brittle._errors import BrittleError
from brittle.cli.console import (
    FIGURE,
    check_ending,
    compile_first,
    console,
    figure_path,
    interrupted,
    print_json,
    progress_bar,
    split_numbers,
    tell_files,
)
from brittle.cli.inputs import DATA, DEVICE, PREPARE, THREADS, load_data, tell_models
from brittle.cli.options import option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from brittle.benchmarks import Benchmark
    from brittle.design import Calibration


EXAMPLES = (
    (
        "brittle design calibrate -m demo:standard -d cifar10:cifar10 --candidates noc-candidates --limit 1000 "
        "-o cifar10-noc.toml",
        "NOC's ranges for 32 px images",
    ),
    ("brittle design calibrate -m timm:resnet18 -d imagenet:val/ --robustness 0.9,0.6 -o mine.toml", "a milder range"),
)


def calibrate_verb(
    model: Annotated[str, option("--model")],
    data: DATA,
    output: Annotated[Path, option("--output", help="The recipe, a .toml file.")],
    candidates: Annotated[str, option("--candidates")] = "noc-candidates",
    robustness: Annotated[str, option("--robustness")] = "0.95,0.5",
    limit: Annotated[int | None, option("--limit")] = None,
    tolerance: Annotated[float, option("--tolerance")] = 0.02,
    name: Annotated[str | None, option("--name", show_default="the file's name")] = None,
    batch_size: Annotated[int, option("--batch-size")] = 128,
    prepare: PREPARE = None,
    threads: THREADS = None,
    device: DEVICE = "auto",
    figure: FIGURE = None,
    as_json: Annotated[bool, option("--json")] = False,
) -> None:
    """Find the range of severities in which each corruption does harm, but not too much, and write it as a recipe.

    By NOC's rule a range begins where a standard model keeps 95 % of its clean accuracy and ends where it keeps half,
    found by halving. Each corruption's range is kept beside the recipe as soon as it is found, so the same command
    resumes after an interruption.
    """
    import brittle
    from brittle._parallel import use_threads
    from brittle.design import calibrate_all
    from brittle.evaluation.inputs import image_shape
    from brittle.models import load_model
    from brittle.plots import plot_calibration, save_figure

    check_ending(output, "a recipe", ".toml")
    picture = figure_path(figure, output)
    values = split_numbers([robustness], "robustness values")
    if len(values) != 2:
        raise BrittleError(
            f"--robustness takes two shares, such as 0.95,0.5: where a range begins and ends; got {robustness}"
        )
    recipe = brittle.load_benchmark(candidates)
    use_threads(threads)
    dataset = load_data(data, limit, prepare, {})
    loaded = load_model(model, device=device)
    tell_models([loaded])
    kept = output.with_suffix(".calibration.json")
    compile_first(entry.corruption for entry in recipe.entries)
    with progress_bar() as bar:
        task = bar.add_task("starting", total=len(recipe.entries))
        try:
            found = calibrate_all(
                recipe,
                loaded,
                dataset,
                values,
                kept,
                tolerance=tolerance,
                batch_size=batch_size,
                progress=lambda what, done, _: bar.update(task, description=f"{what:<24.24}", completed=done),
            )
        except KeyboardInterrupt:
            bar.stop()
            interrupted()
    if as_json:
        print_json(found)
    else:
        _print(found, values)
    made = _recipe(recipe, found, name or output.stem, loaded.name, f"{len(dataset):,} images of {dataset.name}")
    _save(made, image_shape(dataset), output)
    tell_files(output, save_figure(plot_calibration(found, robustness=values), picture), kept)


def _recipe(candidates: Benchmark, found: Sequence[Calibration], name: str, model: str, images: str) -> Benchmark:
    from dataclasses import replace

    from brittle.design import calibrated

    title = f"{candidates.name}, severities calibrated with {model} on {images}"
    return replace(calibrated(candidates, found, name=name, title=title), version=1)


def _save(recipe: Benchmark, shape: tuple[int, int, int], output: Path) -> None:
    from dataclasses import replace

    output.parent.mkdir(parents=True, exist_ok=True)
    replace(recipe, image_size=max(shape[:2])).save(output)


def _print(found: Sequence[Calibration], wanted: Sequence[float]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("corruption", overflow="fold")
    table.add_column("from", justify="right")
    table.add_column("to", justify="right")
    table.add_column("R there", justify="right")
    table.add_column("looks", justify="right", style="dim")
    table.add_column("")
    for one in found:
        low, high = min(one.severities), max(one.severities)
        note = "" if all(one.reached) else "[yellow]not reached[/]"
        there = " … ".join(f"{value:.2f}" for value in one.robustness)
        table.add_row(one.corruption, f"{low:.2f}", f"{high:.2f}", there, str(len(one.looked) - 1), note)
    console().print(table)
    console().print(
        f"[dim]R is the share of the clean accuracy that is left; wanted {wanted[0]:g} and {wanted[1]:g}[/]\n"
    )
