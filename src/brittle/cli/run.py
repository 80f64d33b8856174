"""`brittle run`: models through a benchmark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from brittle._errors import BrittleError
from brittle.cli.console import (
    TEXTURES,
    choose_benchmark,
    compile_first,
    console,
    hint,
    print_json,
    resumable_progress,
    say_next,
    with_options,
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
from brittle.cli.options import Engine, option
from brittle.cli.report import report_verb
from brittle.cli.scores import print_scores, scores_as_json
from brittle.cli.styles import END, YELLOW

if TYPE_CHECKING:
    from brittle.benchmarks import Benchmark
    from brittle.evaluation import Results

EXAMPLES = (
    ("brittle run -m demo:standard -d demo -b cifar10-c -o run", "a bundled model on bundled data"),
    ("brittle run -m models.py:load -d photos/ -b imagenet-c -o run --report", "your own model and photographs"),
    ("brittle run -m timm:resnet50 -d imagenet:val/ -b imagenet-c -o run", "ImageNet-C in memory, no 75 GB of JPEGs"),
    (
        "brittle run -m net.onnx -m models.py:load -d photos/ -b my.toml -o run",
        "two models on the same pictures",
    ),
    ("brittle run -m timm:resnet50 -d imagenet-c:ImageNet-C/ -o run", "the published pictures from disk"),
    ("brittle run -m demo:augmix -d demo -c fog -s 0.5,1,1.5,2 -o run", "one corruption at other severities"),
    ("brittle run -m demo:standard -d demo -b cifar10-p -o run", "how often predictions flip along sequences"),
    (
        "brittle run -m demo:standard -m bn-adapt:demo:standard -d demo -b cifar10-c-continual -o run",
        "a stream, and a model that adapts to it",
    ),
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

    The run's folder has one Parquet file for each (model, corruption, level). The same command computes only missing
    cells: after Ctrl-C, a crash or a power cut, with another model, or with a longer recipe.
    """
    from brittle.cli.sequences import cut_sequences, print_sequences, sequences_as_json
    from brittle.cli.slide.inputs import print_slides
    from brittle.cli.streams import cut_stream, print_streams, streams_as_json
    from brittle.datasets import stored_set
    from brittle.evaluation import as_sequence_benchmark, as_stored_sequences, as_stream_benchmark
    from brittle.evaluation.loggers import load_callback
    from brittle.evaluation.run import evaluate

    callbacks = [load_callback(text) for text in log or ()]
    sequences = as_sequence_benchmark(benchmark, data)
    stream = None if sequences is not None else as_stream_benchmark(benchmark)
    if stream is not None:
        recipe = None
        stream = cut_stream(stream, corruptions, severities, seed=seed, textures=textures)
    elif sequences is not None:
        recipe = None
        sequences = cut_sequences(sequences, corruptions, severities, seed=seed, difficulty=difficulty)
    else:
        recipe = choose_benchmark(benchmark, corruptions, severities, seed=seed, textures=textures)
    if sequences is None and difficulty is not None:
        raise BrittleError(f"--difficulty belongs to sequences such as --benchmark imagenet-p, got {difficulty}")
    of_set = partial and not data.startswith("cns-bench:")  # else it is of --clean, which may be a part of ImageNet
    stored = stored_set(data, keep=keep, **({"partial": True} if of_set else {}))
    if stored is None:
        _refuse(data, clean=clean, keep=keep)
    else:
        _refuse_stored(data, benchmark=recipe, limit=limit, engine=engine, classes=classes)
    reading: dict[str, Any] = {"prepare": prepare, "partial": partial, "classes": classes}
    on_disk = stored is not None or as_stored_sequences(data) is not None
    dataset = None if on_disk else load_data(data, limit=limit, quiet=True, **reading)
    clean_data = None if clean is None else load_data(clean, **reading)
    loaded = load_models(models, device=device, bf16=bf16, mean=mean, std=std, size=size, crop=crop)
    if dataset is not None:
        dataset, loaded = fit_data(dataset, loaded, output)
    tell_models(loaded)
    drawn = recipe if stream is None else stream.benchmark
    if stored is None and drawn is not None and engine == "local":
        compile_first(entry.corruption for entry in drawn.entries)
    with resumable_progress() as bar:
        results = evaluate(
            loaded,
            dataset or stored or data,
            sequences or stream or recipe,
            output,
            clean=clean_data,
            batch_size=batch_size,
            engine=engine,
            address=address,
            progress=follow(bar, "images" if stored is None else None),
            overwrite=overwrite,
            callbacks=callbacks,
        )
    if as_json:
        if sequences is not None:
            print_json({"sequences": sequences_as_json(results)})
        elif stream is not None:
            print_json({"streams": streams_as_json(results)})
        else:
            print_json(scores_as_json(results))
        if report:
            report_verb([output])
        return
    if stored is not None and stored.scheme == "cns-bench":
        print_slides(results)
    elif sequences is not None:
        print_sequences(results)
    elif stream is not None:
        print_streams(results)
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


def _refuse(data: str, *, clean: str | None, keep: Path | None) -> None:
    """Raise if options of stored corrupted images are given with clean ones."""
    if keep is not None:
        raise BrittleError(f"--keep belongs to slides, cns-bench:FOLDER, and {data!r} are none")
    if clean is not None:
        raise BrittleError(f"--clean belongs to published corrupted pictures, and {data!r} holds none")


def _refuse_stored(
    data: str, *, benchmark: Benchmark | None, limit: int | None, engine: str, classes: Path | None
) -> None:
    """Raise if options of a benchmark are given with images that are corrupted already."""
    if benchmark is not None:
        raise BrittleError(f"{data!r} holds corrupted pictures already; leave --benchmark and --corruption out")
    if limit is not None or engine != "local":
        raise BrittleError("published pictures are run in full and on this machine: leave --limit and --engine out")
    if classes is not None:
        raise BrittleError(f"{data!r} numbers its classes itself; leave --classes out")


def tell_guessing(results: Results, models: list[str]) -> None:
    """Warn of models that are no better than guessing on clean images."""
    from rich.text import Text

    from brittle.evaluation import guessing_models, guessing_warning

    classes = next((run.classes for run in results.runs if run.classes), ())
    for name, guess in guessing_models(results, models).items():
        console().print(Text(with_options(guessing_warning(name, guess, classes)), "yellow"))


def tell_batches(results: Results) -> None:
    """Print the batch size of the last call, if it computed anything."""
    sizes = [call.batch_size for run in results.runs for call in run.calls if call.batch_size]
    if sizes:
        hint(f"batches of {sizes[-1]} images (--batch-size)")


def tell_skipped(results: Results) -> None:
    """Print how many images could not be read."""
    for run in results.runs:
        if run.skipped:
            first, reason = next(iter(run.skipped.items()))
            warning = f"{YELLOW}unreadable images, left out: {len(run.skipped):,}{END}, such as {first}: {reason}"
            console().print(warning, soft_wrap=True)
