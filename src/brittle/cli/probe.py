"""`brittle probe`: what flips the prediction for one photograph."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from brittle.cli.console import QUIET, choose_benchmark, compile_first, console, print_json, progress_bar
from brittle.cli.inputs import DEVICE, MEAN, STD, load_models, tell_models
from brittle.cli.options import option
from brittle.cli.styles import DIM, END, YELLOW

if TYPE_CHECKING:
    from collections.abc import Sequence

    from brittle.evaluation import Probe
    from brittle.models import Model

EXAMPLES = (
    ("brittle probe photo.jpg -m timm:resnet50", "which of 15 corruptions flips it first"),
    ("brittle probe cat -m demo:standard --image-size 32 -o flips.png", "with a picture of each flip"),
    ("brittle probe photo.jpg -m timm:resnet50 -m net.onnx -o flips.png", "two models side by side"),
    ("brittle probe photo.jpg -m net.onnx -c fog,snow,noc/rain --tolerance 0.01", "your own list, with a finer search"),
)


def probe_verb(
    photo: Annotated[str, typer.Argument(metavar="PHOTO", help="An image file; or `cat` or `coffee`.")],
    models: Annotated[list[str], option("--model")],
    benchmark: Annotated[
        str | None,
        option("--benchmark", show_default="imagenet-c"),
    ] = None,
    corruptions: Annotated[list[str] | None, option("--corruption")] = None,
    image_size: Annotated[
        int | None,
        option("--image-size", show_default="that of the models, else 224"),
    ] = None,
    mean: MEAN = None,
    std: STD = None,
    tolerance: Annotated[float, option("--tolerance")] = 0.05,
    draws: Annotated[int, option("--draws")] = 5,
    classes: Annotated[Path | None, option("--classes", dir_okay=False)] = None,
    device: DEVICE = "auto",
    output: Annotated[
        Path | None,
        option("--output", help="Also draw each flip, of every model: a .png, .jpg or .webp.", dir_okay=False),
    ] = None,
    as_json: Annotated[bool, option("--json")] = False,
) -> None:
    """Find out which corruption flips a model's prediction for a photograph first, and at what severity.

    No label is needed: the command finds the severity at which the prediction first differs from the prediction for the
    clean photograph.
    """
    from brittle.datasets import check_picture, load_photo, save_picture
    from brittle.evaluation import photo_side, probe_photo

    recipe = choose_benchmark(benchmark, corruptions, default="imagenet-c")
    assert recipe is not None
    if output is not None:
        check_picture(output)
    picture = load_photo(photo)  # before models are
    loaded = load_models(models, device=device, bf16=False, mean=mean, std=std)
    side = photo_side(loaded, image_size)
    for model in loaded:
        _tell_size(model, side, given=image_size is not None)
    tell_models(loaded)
    compile_first(entry.corruption for entry in recipe.entries)
    with progress_bar() as bar:
        task = bar.add_task("probing", total=len(loaded) * len(recipe.entries))
        probed = probe_photo(
            picture,
            loaded,
            recipe,
            image_size=side,
            classes=classes or (),
            draws=draws,
            tolerance=tolerance,
            progress=lambda: bar.advance(task),
        )
    if as_json:
        print_json(probed.probes)
    else:
        for name, probe in probed.probes.items():
            _print(name, probe, probed.classes[name])
    if output is not None:
        from brittle.report import flip_sheet

        sheet = flip_sheet(probed, photo=Path(photo).name)
        save_picture(sheet, output)
        size = f"{sheet.width}×{sheet.height} px"
        console().print(f"{output}  {DIM}{size}, of {', '.join(probed.probes)}{END}", soft_wrap=True)


def _tell_size(model: Model, side: int, *, given: bool) -> None:
    """Say at which size a model is shown the photograph, and warn where it was made for another."""
    from brittle.models import input_side, resizes_images

    trained = input_side(model)
    screen = console(stderr=True)
    screen.quiet = QUIET.get() and (trained in (None, side) or resizes_images(model))
    if trained is None:
        why = "" if given else f", as {model.name} does not say its input size (--image-size sets another)"
        screen.print(f"{DIM}The photograph is shown at {side}×{side} px{why}.{END}", soft_wrap=True)
    elif trained == side:
        screen.print(
            f"{DIM}The photograph is shown at {side}×{side} px, the size of {model.name}.{END}", soft_wrap=True
        )
    elif resizes_images(model):
        note = f"The photograph is corrupted at {side}×{side} px; {model.name} then resizes it to {trained} px itself."
        screen.print(f"{DIM}{note}{END}", soft_wrap=True)
    else:
        warning = f"{model.name} was trained on {trained}×{trained} px and is shown {side}×{side} px"
        screen.print(
            f"{YELLOW}{warning}: its predictions mean little.{END} --image-size {trained} fits.", soft_wrap=True
        )


def _print(model: str, probed: Probe, names: Sequence[str]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    from brittle.datasets import class_name

    title = f"{model} sees {class_name(probed.prediction, names)} ({100 * probed.confidence:.0f} %)"
    table = Table(title=title, title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("corruption", overflow="fold")
    table.add_column("flips at", justify="right")
    table.add_column("range", justify="right", style="dim")
    table.add_column("to", overflow="fold")
    for flip in probed.flips:
        never = flip.median == float("inf")
        at = Text("never", "green") if never else Text(f"{flip.median:.2f}", "bold")
        low, high = (f"{x:.2f}" if x != float("inf") else "never" for x in (flip.least, flip.most))
        to = "" if flip.becomes is None else class_name(flip.becomes, names)
        table.add_row(flip.corruption.rpartition("/")[2], at, "" if low == high else f"{low} … {high}", to)
    console().print(table)
    console().print(f"{DIM}median and range over {probed.draws} draws; the most brittle first{END}")
