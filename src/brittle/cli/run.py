"""`brittle run`: models through a benchmark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from brittle.cli.console import console, interrupted, progress_bar, say_if_compiling
from brittle.cli.scores import print_scores
from brittle.cli.several import several, several_numbers

if TYPE_CHECKING:
    from collections.abc import Callable

    from brittle.models import Model

EXAMPLES = (
    ("brittle run -m demo:standard -d demo -b cifar10-c -o run", "a bundled model on bundled data"),
    ("brittle run -m timm:resnet50 -d imagenet:val/ -b imagenet-c -o run", "ImageNet-C in memory, no 75 GB of JPEGs"),
    ("brittle run -m net.onnx -m models.py:load -d photos/ -b my.toml -o run", "two models share the pictures"),
    ("brittle run -m timm:resnet50 -d imagenet-c:ImageNet-C/ -o run", "the published pictures from disk"),
    ("brittle run -m demo:augmix -d demo -c fog -s 0.5,1,1.5,2 -o run", "one corruption at severities of your own"),
    ("brittle run -m timm:resnet50 -d cns-bench:slides/ --keep filtered/kept.csv -o run", "generated slides"),
)

MODEL = Annotated[
    list[str],
    typer.Option(
        "--model",
        "-m",
        help="`demo:standard`, `timm:NAME`, `transformers:FOLDER`, `FILE.onnx`, `FILE.py:FUNCTION` …; may be repeated.",
    ),
]
DATA = Annotated[
    str, typer.Option("--data", "-d", help="`demo`, a folder of class folders, an .npz file, `cifar10:FOLDER` …")
]
PARTIAL = Annotated[bool, typer.Option("--partial", help="Allow for fewer classes than the full set has.")]
PREPARE = Annotated[
    str | None,
    typer.Option(
        "--prepare",
        help="`imagenet`: short side to 256, central 224; or `none`.",
        show_default="imagenet for ImageNet and its shifts",
    ),
]
DEVICE = Annotated[str, typer.Option("--device", help="`cpu`, `cuda`, `cuda:1`, `mps`, or the best there is: `auto`.")]


def run_verb(
    models: MODEL,
    data: DATA,
    output: Annotated[Path, typer.Option("--output", "-o", help="The run's folder; one that is there goes on.")],
    benchmark: Annotated[
        str | None, typer.Option("--benchmark", "-b", help="A recipe: its name or .toml file. None: clean images only.")
    ] = None,
    corruptions: Annotated[
        list[str] | None, typer.Option("--corruption", "-c", metavar="NAME", help="Only these, with commas.")
    ] = None,
    severities: Annotated[
        list[str] | None, typer.Option("--severity", "-s", metavar="S", help="At these severities, real numbers.")
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Other draws.", show_default="the recipe's")] = None,
    limit: Annotated[int | None, typer.Option("--limit", help="Only so many images, evenly over the data.")] = None,
    partial: PARTIAL = False,
    prepare: PREPARE = None,
    clean: Annotated[
        str | None, typer.Option("--clean", help="The clean images that belong to published corrupted ones.")
    ] = None,
    keep: Annotated[
        Path | None,
        typer.Option("--keep", metavar="FILE", help="Only these samples of cns-bench: kept.csv of `brittle slide`."),
    ] = None,
    batch_size: Annotated[
        int | None, typer.Option("--batch-size", help="Images at once.", show_default="the fastest that fits")
    ] = None,
    threads: Annotated[
        int | None, typer.Option("--threads", help="That corrupt.", show_default="one for each processor")
    ] = None,
    device: DEVICE = "auto",
    bf16: Annotated[bool, typer.Option("--bf16", help="Half the memory, where the device is good at it.")] = False,
    engine: Annotated[
        str, typer.Option("--engine", help="`local`, or `ray` to spread cells over a cluster.")
    ] = "local",
    address: Annotated[str | None, typer.Option("--address", help="Of the Ray cluster.")] = None,
) -> None:
    """Run models through a benchmark and keep every prediction.

    The run's folder holds a Parquet file for each (model, corruption, level). The same command again computes only
    what is missing: after Ctrl-C, a crash or a power cut, with another model, with a longer recipe.
    """
    import brittle
    from brittle.cli.recipe import chosen_recipe
    from brittle.cli.slide.scores import print_slides
    from brittle.datasets.stored_set import stored_set
    from brittle.evaluation import evaluate_stored
    from brittle.evaluation.decode import image_shape

    recipe = chosen_recipe(benchmark, several(corruptions), several_numbers(severities, "severities"), seed)
    options: dict[str, Any] = {"partial": True} if partial else {}
    stored = stored_set(data, **options, **({} if keep is None else {"keep": kept_ids(keep)}))
    if stored is not None and recipe is not None:
        raise ValueError(f"{data!r} holds corrupted pictures already; leave --benchmark and --corruption out")
    if stored is not None and (limit is not None or engine != "local"):
        raise ValueError("published pictures are run whole and here: leave --limit and --engine out")
    if stored is None and keep is not None:
        raise ValueError(f"--keep belongs to slides, cns-bench:FOLDER, and {data!r} are none")
    if stored is None and clean is not None:
        raise ValueError(f"--clean belongs to published corrupted pictures, and {data!r} holds none")
    loaded = load_models(models, device=device, bf16=bf16)
    with progress_bar() as bar:
        report = follow(bar)
        try:
            if stored is not None:
                results = evaluate_stored(
                    loaded,
                    stored,
                    output,
                    clean=None if clean is None else load_data(clean, None, prepare, options),
                    batch_size=batch_size,
                    threads=threads,
                    progress=report,
                )
            else:
                dataset = load_data(data, limit, prepare, options)
                say_if_compiling()
                if batch_size is None:
                    batch_size = batch_for(loaded, output, image_shape(dataset))
                results = brittle.evaluate(
                    loaded,
                    dataset,
                    recipe,
                    output,
                    batch_size=batch_size,
                    threads=threads,
                    engine=engine,
                    address=address,
                    progress=report,
                )
        except KeyboardInterrupt:
            bar.stop()
            interrupted()
    if stored is not None and stored.scheme == "cns-bench":
        print_slides(results)
    else:
        print_scores(results, [model.name for model in loaded])
    tell_skipped(results)
    console().print(f"\n{output}  [dim]next: brittle report {output}[/]", soft_wrap=True)


def kept_ids(path: Path) -> list[str]:
    """The samples of a file with a column `sample`."""
    import csv

    if not path.is_file():
        raise FileNotFoundError(f"there is no file of samples {str(path)!r}; `brittle slide filter` writes kept.csv")
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        if "sample" not in (reader.fieldnames or ()):
            raise ValueError(f"{str(path)!r} has columns {reader.fieldnames}; a file of samples has one called sample")
        return [row["sample"] for row in reader]


def load_models(specs: list[str], *, device: str, bf16: bool) -> list[Model]:
    """The models of a command line, in its order."""
    from brittle.cli.world_model import world_model
    from brittle.models import load_model

    return [world_model(s, device=device) or load_model(s, device=device, bf16=bf16) for s in several(specs)]


def load_data(data: str, limit: int | None, prepare: str | None, options: dict[str, Any]) -> Any:
    """The dataset of a command line; a limit takes images evenly, so that every class is there."""
    import numpy as np

    from brittle.datasets import load_dataset

    dataset = load_dataset(data, prepare=prepare, **options)
    if limit is None:
        return dataset
    if limit < 1:
        raise ValueError(f"--limit must be at least 1, got {limit}")
    count = min(limit, len(dataset))
    return dataset.subset(np.arange(count) * len(dataset) // count)


def batch_for(models: list[Model], folder: Path, shape: tuple[int, int, int]) -> int | None:
    """The batch size that suits all models; None if the run has one already."""
    from brittle.evaluation.store import Store
    from brittle.models import best_batch_size

    if any(Store(folder).batch_size(model) for model in models):
        return None
    free = [model for model in models if getattr(model, "batch_size", None) is None]  # the others split batches
    return min((best_batch_size(model, shape) for model in free), default=None)


def follow(bar: Any) -> Callable[[str, int, int], None]:
    """A callback that moves a progress bar."""
    task = bar.add_task("starting", total=None)

    def progress(what: str, done: int, total: int) -> None:
        bar.update(task, description=f"{what:<24.24}", completed=done, total=total)

    return progress


def tell_skipped(results: Any) -> None:
    """Say how many images could not be read."""
    for run in results.runs:
        if run["skipped"]:
            first, reason = next(iter(run["skipped"].items()))
            count = len(run["skipped"])
            words = f"[yellow]{count} images could not be read and were left out[/], such as {first}: {reason}"
            console().print(words, soft_wrap=True)
