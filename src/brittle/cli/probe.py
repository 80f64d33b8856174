"""`brittle probe`: what flips the prediction for one photograph."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from brittle.cli.console import console, progress_bar, say_if_compiling
from brittle.cli.run import DEVICE, load_models
from brittle.cli.several import several
from brittle.cli.show import photograph

if TYPE_CHECKING:
    from brittle.arrays import Image
    from brittle.benchmarks import Benchmark
    from brittle.evaluation.probe import Probe
    from brittle.models import Model

EXAMPLES = (
    ("brittle probe photo.jpg -m timm:resnet50", "which of 15 corruptions flips it first"),
    ("brittle probe cat -m demo:standard --size 32 -o flips.png", "with a picture of each flip"),
    ("brittle probe photo.jpg -m timm:resnet50 -m net.onnx -o flips.png", "two models beside each other"),
    ("brittle probe photo.jpg -m net.onnx -c fog,snow,noc/rain --tolerance 0.01", "your own list, finely"),
)


def probe_verb(
    photo: Annotated[str, typer.Argument(metavar="PHOTO", help="An image file; or `cat` or `coffee`.")],
    models: Annotated[list[str], typer.Option("--model", "-m", help="As in `brittle run`; may be repeated.")],
    benchmark: Annotated[
        str | None, typer.Option("--benchmark", "-b", help="Whose corruptions.", show_default="imagenet-c")
    ] = None,
    corruptions: Annotated[
        list[str] | None, typer.Option("--corruption", "-c", metavar="NAME", help="Only these, with commas.")
    ] = None,
    size: Annotated[
        int, typer.Option("--size", help="The side that the photograph's central square is brought to.")
    ] = 224,
    tolerance: Annotated[float, typer.Option("--tolerance", help="How finely a flip is found.")] = 0.05,
    draws: Annotated[int, typer.Option("--draws", help="Seeds tried; the table gives their median and range.")] = 5,
    classes: Annotated[
        Path | None, typer.Option("--classes", help="A text file with a class name on each line.", dir_okay=False)
    ] = None,
    device: DEVICE = "auto",
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="Also draw each flip, of every model: a .png, .jpg or .webp.", dir_okay=False
        ),
    ] = None,
) -> None:
    """Find out which corruption flips a model's prediction for a photograph first, and at what severity.

    No label is needed: what counts is when the prediction leaves the one for the clean photograph.
    """
    from brittle.cli.recipe import chosen_recipe
    from brittle.cli.save import check_picture, save_picture
    from brittle.datasets.photo import square
    from brittle.evaluation.probe import probe

    recipe = chosen_recipe(benchmark, several(corruptions), [], None, default="imagenet-c")
    assert recipe is not None
    if output is not None:
        check_picture(output)
    names = _class_names(classes)
    picture = square(photograph(photo), size)
    loaded = load_models(models, device=device, bf16=False)
    say_if_compiling()
    with progress_bar() as bar:
        task = bar.add_task("probing", total=len(loaded) * len(recipe.entries))
        found = {
            model.name: probe(
                model, picture, recipe, draws=draws, tolerance=tolerance, progress=lambda: bar.advance(task)
            )
            for model in loaded
        }
    words = {model.name: names or _usual_names(model, picture) for model in loaded}
    for model in loaded:
        _print(model.name, found[model.name], words[model.name])
    if output is None:
        return
    if len(loaded) == 1:
        sheet = _sheet(picture, recipe, found[loaded[0].name])
    else:
        from brittle.report.flip_sheet import Seen, flip_sheet

        sheet = flip_sheet(picture, recipe, [Seen(name, found[name], words[name]) for name in found])
    save_picture(sheet, output)
    console().print(f"{output}  [dim]{sheet.width}×{sheet.height} px, of {', '.join(found)}[/]", soft_wrap=True)


def _sheet(picture: Image, recipe: Benchmark, probed: Probe) -> Any:
    """The photograph, the strongest corruption that it withstands, and the weakest that flips it."""
    from dataclasses import replace

    from brittle.report import contact_sheet

    rows = []
    for flip in probed.flips:
        ends = (flip.held, flip.median) if flip.median != float("inf") else (flip.held,)
        rows.append(replace(recipe.entry(flip.corruption), levels=ends))
    return contact_sheet(
        picture,
        rows,
        seed=recipe.seed,
        size=len(picture),
        table=recipe.table,
        headings=("unmoved", "flipped"),
        samples=[flip.draw for flip in probed.flips],
    )


def _usual_names(model: Model, picture: Image) -> list[str]:
    """The class names of the bundled models and of models with ImageNet's 1,000 outputs."""
    from brittle.datasets.cifar_names import CIFAR10
    from brittle.datasets.class_table import imagenet_names

    if model.name.startswith("demo-"):
        return list(CIFAR10)
    return list(imagenet_names()) if model.scores(picture[None]).shape[1] == 1000 else []


def _class_names(path: Path | None) -> list[str]:
    if path is None:
        return []
    if not path.is_file():
        raise FileNotFoundError(f"there is no file of class names {str(path)!r}")
    return path.read_text(encoding="utf-8").splitlines()


def class_name(index: int, names: list[str]) -> str:
    """What a class is called, or its number."""
    return names[index] if index < len(names) else f"class {index}"


def _print(model: str, probed: Probe, names: list[str]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

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
    console().print(f"[dim]median and range over {probed.draws} draws; the most brittle first[/]")
