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
    print_json,
    resumable_progress,
    split_numbers,
    tell_files,
)
from brittle.cli.inputs import DATA, DEVICE, PREPARE, load_data, tell_models
from brittle.cli.options import option
from brittle.cli.styles import DIM, END, YELLOW

if TYPE_CHECKING:
    from collections.abc import Sequence

    from brittle.design import Calibration


EXAMPLES = (
    (
        "brittle design calibrate -m demo:standard -d cifar10:cifar10 --candidates noc-candidates --limit 1000 "
        "-o cifar10-noc-candidates.toml",
        "NOC's ranges for 32 px images",
    ),
    (
        "brittle design calibrate -m timm:resnet18 -d imagenet:val/ --robustness 0.9,0.6 -o mine.toml",
        "a weaker range",
    ),
)


def calibrate_verb(
    model: Annotated[str, option("--model")],
    data: DATA,
    output: Annotated[Path, option("--output", help="The recipe, a .toml file.")],
    candidates: Annotated[str, option("--candidates")] = "noc-candidates",
    robustness: Annotated[str, option("--robustness")] = "0.95,0.5",
    limit: Annotated[int | None, option("--limit")] = None,
    beyond: Annotated[bool, option("--beyond")] = False,
    tolerance: Annotated[float, option("--tolerance")] = 0.02,
    name: Annotated[str | None, option("--name", show_default="the file's name")] = None,
    batch_size: Annotated[int, option("--batch-size")] = 128,
    prepare: PREPARE = None,
    device: DEVICE = "auto",
    figure: FIGURE = None,
    as_json: Annotated[bool, option("--json")] = False,
) -> None:
    """Find the range of severities in which each corruption lowers accuracy, but not too much, and write a recipe.

    By NOC's rule a range begins where a standard model keeps 95 % of its clean accuracy and ends where it keeps half;
    both ends are found by bisection. If the strongest published level is too weak, --beyond searches above it, as far
    as the corruption's parameters can be extended. Each range is saved beside the recipe as soon as it is found, so the
    same command resumes after an interruption.
    """
    from brittle.design import calibrate_all, calibrated, load_candidates
    from brittle.evaluation import image_shape
    from brittle.models import load_model
    from brittle.plots import plot_calibration, save_figure

    check_ending(output, "a recipe", ".toml")
    picture = figure_path(figure, output)
    shares = split_numbers([robustness], "robustness values")
    if len(shares) != 2:
        raise BrittleError(
            f"--robustness takes two shares, such as 0.95,0.5: where a range begins and ends; got {robustness}"
        )
    recipe = load_candidates(candidates)
    dataset = load_data(data, limit=limit, prepare=prepare)
    loaded = load_model(model, device=device)
    tell_models([loaded])
    checkpoint = output.with_suffix(".calibration.json")
    compile_first(entry.corruption for entry in recipe.entries)
    with resumable_progress() as bar:
        task = bar.add_task("starting", total=len(recipe.entries))
        calibrations = calibrate_all(
            recipe,
            loaded,
            dataset,
            shares,
            checkpoint,
            beyond=beyond,
            tolerance=tolerance,
            batch_size=batch_size,
            progress=lambda name, done, _: bar.update(task, description=f"{name:<24.24}", completed=done),
        )
    if as_json:
        print_json(calibrations)
    else:
        _print(calibrations, shares)
    images = f"{len(dataset):,} images of {dataset.name}"
    title = f"{recipe.name}, severities calibrated with {loaded.name} on {images}"
    side = max(image_shape(dataset)[:2])
    output.parent.mkdir(parents=True, exist_ok=True)
    calibrated(recipe, calibrations, name=name or output.stem, title=title, image_size=side).save(output)
    drawn = plot_calibration(calibrations, robustness=shares)
    tell_files(output, save_figure(drawn, picture), checkpoint)


def _print(calibrations: Sequence[Calibration], shares: Sequence[float]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("corruption", overflow="fold")
    table.add_column("from", justify="right")
    table.add_column("to", justify="right")
    table.add_column("R at the ends", justify="right")
    table.add_column("evaluations", justify="right", style="dim")
    table.add_column("")
    for calibration in calibrations:
        low, high = min(calibration.severities), max(calibration.severities)
        note = f"{YELLOW}not reached{END}" if not all(calibration.reached) else "beyond" if calibration.beyond else ""
        robustness = " … ".join(f"{value:.2f}" for value in calibration.robustness)
        evaluations = str(len(calibration.evaluations) - 1)
        table.add_row(calibration.corruption, f"{low:.2f}", f"{high:.2f}", robustness, evaluations, note)
    console().print(table)
    console().print(
        f"{DIM}R is the share of the clean accuracy that is left; asked for {shares[0]:g} and {shares[1]:g}{END}\n"
    )
    outside = [calibration.corruption for calibration in calibrations if calibration.beyond]
    if outside:
        console().print(f"{YELLOW}beyond the strongest published level:{END} {', '.join(outside)}\n")
