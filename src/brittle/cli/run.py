"""`brittle run`: models through a benchmark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from brittle._errors import BrittleError
from brittle.cli.console import (
    TEXTURES,
    chosen_recipe,
    compile_first,
    console,
    interrupted,
    print_json,
    progress_bar,
    say_next,
    split_commas,
    split_numbers,
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
    THREADS,
    fit_data,
    follow,
    load_data,
    load_models,
    tell_models,
)
from brittle.cli.options import Engine, option
from brittle.cli.report import report_verb
from brittle.cli.scores import print_scores, scores_as_json
from brittle.cli.sequences import chosen_sequences, print_sequences, sequences_as_json

if TYPE_CHECKING:
    pass

EXAMPLES = (
    ("brittle run -m demo:standard -d demo -b cifar10-c -o run", "a bundled model on bundled data"),
    ("brittle run -m models.py:load -d photos/ -b imagenet-c -o run --report", "your own model and photographs"),
    ("brittle run -m timm:resnet50 -d imagenet:val/ -b imagenet-c -o run", "ImageNet-C in memory, no 75 GB of JPEGs"),
    ("brittle run -m net.onnx -m models.py:load -d photos/ -b my.toml -o run", "two models share the pictures"),
    ("brittle run -m timm:resnet50 -d imagenet-c:ImageNet-C/ -o run", "the published pictures from disk"),
    ("brittle run -m demo:augmix -d demo -c fog -s 0.5,1,1.5,2 -o run", "one corruption at severities of your own"),
    ("brittle run -m demo:standard -d demo -b cifar10-p -o run", "how often predictions flip along sequences"),
    ("brittle run -m timm:resnet50 -d cns-bench:slides/ --keep filtered/kept.csv -o run", "generated slides"),
)


def run_verb(
    models: MODEL,
    data: DATA,
    output: Annotated[Path, option("--output", help="The run's folder; an existing one is resumed.")],
    benchmark: Annotated[str | None, option("--benchmark")] = None,
    corruptions: Annotated[list[str] | None, option("--corruption")] = None,
    severities: Annotated[list[str] | None, option("--severity")] = None,
    seed: Annotated[int | None, option("--seed", show_default="the recipe's")] = None,
    difficulty: Annotated[int | None, option("--difficulty", show_default="1, with sequences")] = None,
    textures: TEXTURES = None,
    limit: Annotated[int | None, option("--limit")] = None,
    partial: PARTIAL = False,
    prepare: PREPARE = None,
    classes: CLASSES = None,
    mean: MEAN = None,
    std: STD = None,
    size: SIZE = None,
    crop: CROP = None,
    clean: Annotated[str | None, option("--clean")] = None,
    keep: Annotated[
        Path | None,
        option("--keep"),
    ] = None,
    batch_size: Annotated[
        int | None,
        option("--batch-size", show_default="64, 32 above 64 px, or more"),
    ] = None,
    threads: THREADS = None,
    device: DEVICE = "auto",
    bf16: Annotated[bool, option("--bf16")] = False,
    engine: Annotated[Engine, option("--engine")] = "local",
    address: Annotated[str | None, option("--address")] = None,
    overwrite: OVERWRITE = False,
    log: Annotated[list[str] | None, option("--log")] = None,
    report: Annotated[bool, option("--report")] = False,
    as_json: Annotated[bool, option("--json")] = False,
) -> None:
    """Run models through a benchmark and keep every prediction.

    The run's folder holds a Parquet file for each (model, corruption, level). The same command again computes only
    what is missing: after Ctrl-C, a crash or a power cut, with another model, with a longer recipe.
    """
    from brittle.cli.slide.inputs import print_slides
    from brittle.datasets import stored_sequences, stored_set
    from brittle.evaluation import evaluate
    from brittle.evaluation.loggers import load_callback

    callbacks = [load_callback(text) for text in log or ()]
    names, levels = split_commas(corruptions), split_numbers(severities, "severities")
    sequences = chosen_sequences(benchmark, data, names, levels, seed, difficulty)
    recipe = None if sequences is not None else chosen_recipe(benchmark, names, levels, seed, textures=textures)
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
    on_disk = stored is not None or stored_sequences(data) is not None
    dataset = None if on_disk else load_data(data, limit, prepare, options, tell=False)
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
            results = evaluate(
                loaded,
                dataset or stored or data,
                sequences or recipe,
                output,
                clean=clean_data,
                batch_size=batch_size,
                threads=threads,
                engine=engine,
                address=address,
                progress=shown,
                overwrite=overwrite,
                callbacks=callbacks,
            )
        except KeyboardInterrupt:
            bar.stop()
            interrupted()
    if as_json:
        print_json(scores_as_json(results) if sequences is None else {"sequences": sequences_as_json(results)})
        if report:
            report_verb([output])
        return
    if stored is not None and stored.scheme == "cns-bench":
        print_slides(results)
    elif sequences is not None:
        print_sequences(results)
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


def tell_guessing(results: Any, models: list[str]) -> None:
    """Warn of models that are no better than guessing on clean images."""
    from rich.text import Text

    from brittle.evaluation.score import guessing_models, guessing_warning

    classes = next((run.classes for run in results.runs if run.classes), ())
    for name, found in guessing_models(results, models).items():
        console().print(Text(guessing_warning(name, found, classes), "yellow"))


def tell_batches(results: Any) -> None:
    """Say how many images were shown at once in the last call, if any were."""
    sizes = [call.batch_size for run in results.runs for call in run.calls if call.batch_size]
    if sizes:
        console().print(f"[dim]batches of {sizes[-1]} images (--batch-size)[/]")


def tell_skipped(results: Any) -> None:
    """Say how many images could not be read."""
    for run in results.runs:
        if run.skipped:
            first, reason = next(iter(run.skipped.items()))
            count = len(run.skipped)
            words = f"[yellow]{count} images could not be read and were left out[/], such as {first}: {reason}"
            console().print(words, soft_wrap=True)
