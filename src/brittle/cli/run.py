"""`brittle run`: models through a benchmark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from brittle._errors import BrittleError
from brittle.cli.console import (
    TEXTURES,
    chosen_recipe,
    compile_first,
    console,
    interrupted,
    progress_bar,
    say_next,
    split_commas,
    split_numbers,
)
from brittle.cli.report import report_verb
from brittle.cli.scores import print_scores

if TYPE_CHECKING:
    from collections.abc import Callable

    from brittle.models import Model

EXAMPLES = (
    ("brittle run -m demo:standard -d demo -b cifar10-c -o run", "a bundled model on bundled data"),
    ("brittle run -m models.py:load -d photos/ -b imagenet-c -o run --report", "your own model and photographs"),
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
        help="`demo:standard`, `timm:NAME`, `transformers:FOLDER`, `FILE.onnx`, `FILE.py:FUNCTION` …, with options "
        "such as `timm:resnet50,checkpoint=FILE`; may be repeated.",
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
        help="`imagenet`: short side to 256 px, central 224×224; `342,299`: the same with these; or `none`.",
        show_default="what ImageNet and photographs of different sizes need",
    ),
]
CLASSES = Annotated[
    Path | None,
    typer.Option(
        "--classes",
        metavar="FILE",
        help="Text file with one class name or WordNet id a line, in the order of the model's outputs.",
        show_default="the sorted class folders",
    ),
]
MEAN = Annotated[
    str | None,
    typer.Option("--mean", help="Mean of each channel that images are normalised with, such as `0.5,0.5,0.5`."),
]
STD = Annotated[str | None, typer.Option("--std", help="Standard deviation of each channel, likewise.")]
SIZE = Annotated[
    str | None, typer.Option("--size", help="Side that models resize images to; with --crop, the shorter side.")
]
CROP = Annotated[str | None, typer.Option("--crop", help="Side of the central square that models see.")]
THREADS = Annotated[
    int | None,
    typer.Option(
        "--threads",
        "-j",
        help="Number of threads: so many corrupt images and compute.",
        show_default="by the number of processors",
    ),
]
OVERWRITE = Annotated[
    bool,
    typer.Option(
        "--overwrite",
        help="Remove the run that the folder holds, its predictions and failure points, and start anew.",
    ),
]
DEVICE = Annotated[str, typer.Option("--device", help="`cpu`, `cuda`, `cuda:1`, `mps`, or the best there is: `auto`.")]


def run_verb(
    models: MODEL,
    data: DATA,
    output: Annotated[Path, typer.Option("--output", "-o", help="The run's folder; an existing one is resumed.")],
    benchmark: Annotated[
        str | None, typer.Option("--benchmark", "-b", help="A recipe: its name or .toml file. None: clean images only.")
    ] = None,
    corruptions: Annotated[
        list[str] | None, typer.Option("--corruption", "-c", metavar="NAME", help="Corruptions to run, with commas.")
    ] = None,
    severities: Annotated[
        list[str] | None, typer.Option("--severity", "-s", metavar="S", help="Severities to run at, real numbers.")
    ] = None,
    seed: Annotated[int | None, typer.Option("--seed", help="Seed of the draws.", show_default="the recipe's")] = None,
    textures: TEXTURES = None,
    limit: Annotated[int | None, typer.Option("--limit", help="Number of images to use, evenly over the data.")] = None,
    partial: PARTIAL = False,
    prepare: PREPARE = None,
    classes: CLASSES = None,
    mean: MEAN = None,
    std: STD = None,
    size: SIZE = None,
    crop: CROP = None,
    clean: Annotated[
        str | None, typer.Option("--clean", help="The clean images that belong to published corrupted ones.")
    ] = None,
    keep: Annotated[
        Path | None,
        typer.Option("--keep", metavar="FILE", help="Only these samples of cns-bench: kept.csv of `brittle slide`."),
    ] = None,
    batch_size: Annotated[
        int | None,
        typer.Option(
            "--batch-size",
            help="Number of images shown to a model at once.",
            show_default="64, 32 above 64 px, or more",
        ),
    ] = None,
    threads: THREADS = None,
    device: DEVICE = "auto",
    bf16: Annotated[
        bool, typer.Option("--bf16", help="Compute in bfloat16: half the memory, where the device is good at it.")
    ] = False,
    engine: Annotated[
        str, typer.Option("--engine", help="`local`, or `ray` to spread cells over a cluster.")
    ] = "local",
    address: Annotated[str | None, typer.Option("--address", help="Address of the Ray cluster.")] = None,
    overwrite: OVERWRITE = False,
    report: Annotated[
        bool, typer.Option("--report", help="Write the page about it as well, report.html in the run's folder.")
    ] = False,
) -> None:
    """Run models through a benchmark and keep every prediction.

    The run's folder holds a Parquet file for each (model, corruption, level). The same command again computes only
    what is missing: after Ctrl-C, a crash or a power cut, with another model, with a longer recipe.
    """
    import brittle
    from brittle.cli.slide.inputs import print_slides
    from brittle.datasets.load import stored_set

    recipe = chosen_recipe(
        benchmark, split_commas(corruptions), split_numbers(severities, "severities"), seed, textures=textures
    )
    options: dict[str, Any] = {"partial": True} if partial else {}
    stored = stored_set(data, **options, **({} if keep is None else {"keep": kept_ids(keep)}))
    if stored is not None and recipe is not None:
        raise BrittleError(f"{data!r} holds corrupted pictures already; leave --benchmark and --corruption out")
    if stored is not None and (limit is not None or engine != "local"):
        raise BrittleError("published pictures are run whole and here: leave --limit and --engine out")
    if stored is None and keep is not None:
        raise BrittleError(f"--keep belongs to slides, cns-bench:FOLDER, and {data!r} are none")
    if stored is None and clean is not None:
        raise BrittleError(f"--clean belongs to published corrupted pictures, and {data!r} holds none")
    if stored is not None and classes is not None:
        raise BrittleError(f"{data!r} numbers its classes itself; leave --classes out")
    if classes is not None:
        options["classes"] = classes
    dataset = None if stored is not None else load_data(data, limit, prepare, options, tell=False)
    clean_data = None if clean is None else load_data(clean, None, prepare, options)
    loaded = load_models(models, device=device, bf16=bf16, mean=mean, std=std, size=size, crop=crop)
    if dataset is not None:
        dataset = fit_data(dataset, loaded, output)
    tell_models(loaded)
    if stored is None and recipe is not None and engine == "local":
        compile_first(entry.corruption for entry in recipe.entries)
    with progress_bar() as bar:
        shown = follow(bar, "images" if stored is None else None)
        try:
            results = brittle.evaluate(
                loaded,
                dataset if stored is None else stored,
                recipe,
                output,
                clean=clean_data,
                batch_size=batch_size,
                threads=threads,
                engine=engine,
                address=address,
                progress=shown,
                overwrite=overwrite,
            )
        except KeyboardInterrupt:
            bar.stop()
            interrupted()
    if stored is not None and stored.scheme == "cns-bench":
        print_slides(results)
    else:
        print_scores(results, [model.name for model in loaded], first=recipe)
    tell_skipped(results)
    tell_guessing(results, [model.name for model in loaded])
    tell_batches(results)
    console().print()
    if report:
        report_verb([output])
    else:
        say_next("report", output, after=output)


def kept_ids(path: Path) -> list[str]:
    """The samples of a file with a column `sample`."""
    import csv

    if not path.is_file():
        raise FileNotFoundError(f"there is no file of samples {str(path)!r}; `brittle slide filter` writes kept.csv")
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file)
        if "sample" not in (reader.fieldnames or ()):
            raise BrittleError(
                f"{str(path)!r} has columns {reader.fieldnames}; a file of samples has one called sample"
            )
        return [row["sample"] for row in reader]


def load_models(
    specs: list[str],
    *,
    device: str,
    bf16: bool,
    mean: str | None = None,
    std: str | None = None,
    size: str | None = None,
    crop: str | None = None,
) -> list[Model]:
    """The models of a command line, in its order; mean, std, size and crop are for those that take them."""
    from brittle.models import load_model
    from brittle.models.load import model_texts, option_value, options_of

    given = {"mean": mean, "std": std, "size": size, "crop": crop}
    shown = {option: option_value(option, text) for option, text in given.items() if text is not None}
    texts = list(dict.fromkeys(text for spec in specs for text in model_texts(spec)))
    loaded, taken = [], set()
    for text in texts:
        takes = {key: shown[key] for key in shown if key in options_of(text)}
        taken |= set(takes)
        loaded.append(load_model(text, device=device, bf16=bf16, **takes))
    for option in shown:
        if option not in taken:
            raise BrittleError(f"--{option} does not apply: {', '.join(texts)} prepare images in a way of their own")
    return loaded


def load_data(data: str, limit: int | None, prepare: str | None, options: dict[str, Any], *, tell: bool = True) -> Any:
    """The dataset of a command line; a limit takes images evenly, so that every class is there.

    Says what is done to photographs of different sizes, unless `tell` is false.
    """
    from brittle.datasets import load_dataset

    dataset = load_dataset(data, prepare=prepare, **options).limited(limit)
    if tell:
        _tell_prepared(dataset)
    return dataset


def fit_data(dataset: Any, models: list[Model], folder: Path) -> Any:
    """The dataset at the size and with the numbers of classes that the models have; says what is done to it."""
    from brittle.evaluation.inputs import fitted

    fits = fitted(dataset, models, folder)
    _tell_prepared(fits)
    if fits.classes != dataset.classes:
        console().print(f"[dim]{fits.name}: classes are numbered as the model's {len(fits.classes):,} outputs[/]")
    return fits


def _tell_prepared(dataset: Any) -> None:
    if dataset.prepared_in_words is not None:
        console().print(f"[dim]{dataset.name}: {dataset.prepared_in_words} (--prepare none leaves them)[/]")


def tell_models(models: list[Model]) -> None:
    """Say what each model does to images before its network sees them."""
    from brittle.models.preprocessing import preprocessing_in_words

    for model in models:
        console().print(f"[dim]{model.name}: {preprocessing_in_words(model)}[/]")


def tell_guessing(results: Any, models: list[str]) -> None:
    """Warn of models that are no better than guessing on clean images."""
    from rich.text import Text

    from brittle.evaluation.score import guessing_in_words, guessing_models

    classes = next((run.classes for run in results.runs if run.classes), ())
    for name, found in guessing_models(results, models).items():
        console().print(Text(guessing_in_words(name, found, classes), "yellow"))


def tell_batches(results: Any) -> None:
    """Say how many images were shown at once in the last call, if any were."""
    sizes = [call.batch_size for run in results.runs for call in run.calls if call.batch_size]
    if sizes:
        console().print(f"[dim]batches of {sizes[-1]} images (--batch-size)[/]")


def follow(bar: Any, unit: str | None = None) -> Callable[[str, int, int | None], None]:
    """A callback that moves a progress bar; `unit` names what is counted, such as images, and shows their speed."""
    task = bar.add_task("starting", total=None, unit=unit)

    def progress(what: str, done: int, total: int | None) -> None:
        bar.update(task, description=f"{what:<24.24}", completed=done, total=total)

    return progress


def tell_skipped(results: Any) -> None:
    """Say how many images could not be read."""
    for run in results.runs:
        if run.skipped:
            first, reason = next(iter(run.skipped.items()))
            count = len(run.skipped)
            words = f"[yellow]{count} images could not be read and were left out[/], such as {first}: {reason}"
            console().print(words, soft_wrap=True)
