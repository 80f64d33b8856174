"""`brittle probe`: what flips the prediction for one photograph."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from brittle.cli.console import compile_first, console, print_json, progress_bar, split_commas
from brittle.cli.inputs import DEVICE, MEAN, STD, THREADS, load_models, tell_models
from brittle.cli.options import option
from brittle.cli.show import photograph

if TYPE_CHECKING:
    from brittle._types import Image
    from brittle.evaluation.probing import Probe
    from brittle.models import Model

EXAMPLES = (
    ("brittle probe photo.jpg -m timm:resnet50", "which of 15 corruptions flips it first"),
    ("brittle probe cat -m demo:standard --image-size 32 -o flips.png", "with a picture of each flip"),
    ("brittle probe photo.jpg -m timm:resnet50 -m net.onnx -o flips.png", "two models beside each other"),
    ("brittle probe photo.jpg -m net.onnx -c fog,snow,noc/rain --tolerance 0.01", "your own list, finely"),
)


def probe_verb(
    photo: Annotated[str, typer.Argument(metavar="PHOTO", help="An image file; or `cat` or `coffee`.")],
    models: Annotated[list[str], option("--model")],
    benchmark: Annotated[
        str | None,
        option("--benchmark", show_default="imagenet-c"),
    ] = None,
    corruptions: Annotated[list[str] | None, option("--corruption")] = None,
    size: Annotated[
        int | None,
        option("--image-size", show_default="the models' own, else 224"),
    ] = None,
    mean: MEAN = None,
    std: STD = None,
    threads: THREADS = None,
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

    No label is needed: what counts is when the prediction leaves the one for the clean photograph.
    """
    from brittle._parallel import use_threads
    from brittle.cli.console import check_picture, chosen_recipe, save_picture
    from brittle.datasets.classes import read_class_names
    from brittle.datasets.images import square
    from brittle.evaluation.probing import probe

    recipe = chosen_recipe(benchmark, split_commas(corruptions), [], None, default="imagenet-c")
    assert recipe is not None
    if output is not None:
        check_picture(output)
    use_threads(threads)
    names = [] if classes is None else read_class_names(classes)
    taken = photograph(photo)
    loaded = load_models(models, device=device, bf16=False, mean=mean, std=std)
    side = size if size is not None else max((s for s in map(own_side, loaded) if s), default=224)
    picture = square(taken, side)
    for model in loaded:
        _tell_size(model, side, given=size is not None)
    tell_models(loaded)
    compile_first(entry.corruption for entry in recipe.entries)
    with progress_bar() as bar:
        task = bar.add_task("probing", total=len(loaded) * len(recipe.entries))
        found = {
            model.name: probe(
                model, picture, recipe, draws=draws, tolerance=tolerance, progress=lambda: bar.advance(task)
            )
            for model in loaded
        }
    words = {model.name: names or _usual_names(model, picture) for model in loaded}
    if as_json:
        print_json(found)
    else:
        for model in loaded:
            _print(model.name, found[model.name], words[model.name])
    if output is None:
        return
    title = Path(photo).name
    if len(loaded) == 1:
        from brittle.report.strips import probe_sheet

        [(name, probed)] = found.items()
        sheet = probe_sheet(picture, recipe, name, title, probed, lambda number: class_name(number, words[name]))
    else:
        from brittle.report.strips import Seen, flip_sheet

        sheet = flip_sheet(picture, recipe, [Seen(name, found[name], words[name]) for name in found], photo=title)
    save_picture(sheet, output)
    console().print(f"{output}  [dim]{sheet.width}×{sheet.height} px, of {', '.join(found)}[/]", soft_wrap=True)


def own_side(model: Model) -> int | None:
    """The side of the square images that a model was made for, where that is known."""
    if model.name.startswith("demo-"):
        return 32
    shown = getattr(getattr(model, "prepare", None), "shown", None)
    return None if shown is None else int(min(shown))


def _tell_size(model: Model, side: int, *, given: bool) -> None:
    """Say at which size a model is shown the photograph, and warn where it was made for another."""
    own = own_side(model)
    resizes = getattr(getattr(model, "prepare", None), "shown", None) is not None
    screen = console(stderr=True)
    if own is None:
        why = "" if given else f", as {model.name} does not say its own size (--image-size sets another)"
        screen.print(f"[dim]The photograph is shown at {side}×{side} px{why}.[/]", soft_wrap=True)
    elif own == side:
        screen.print(f"[dim]The photograph is shown at {side}×{side} px, the size of {model.name}.[/]", soft_wrap=True)
    elif resizes:
        words = f"The photograph is corrupted at {side}×{side} px; {model.name} then resizes it to {own} px itself."
        screen.print(f"[dim]{words}[/]", soft_wrap=True)
    else:
        words = f"{model.name} was trained on {own}×{own} px and is shown {side}×{side} px: what it says means little."
        screen.print(f"[yellow]{words}[/] --image-size {own} fits.", soft_wrap=True)


def _usual_names(model: Model, picture: Image) -> list[str]:
    """The class names that a model brings along, those of the bundled ones, and ImageNet's for 1,000 outputs."""
    from brittle.datasets.cifar import CIFAR10
    from brittle.datasets.classes import imagenet_names

    if getattr(model, "classes", ()):
        return list(model.classes)  # type: ignore[attr-defined]
    if model.name.startswith("demo-"):
        return list(CIFAR10)
    return list(imagenet_names()) if model.scores(picture[None]).shape[1] == 1000 else []


def class_name(index: int, names: list[str]) -> str:
    """What a class is called, or its number; a negative one is an output that the data has no class for."""
    if index < 0:
        return "none of the classes"
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
