"""`brittle overlap`: which corruptions measure the same thing?"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from brittle._errors import BrittleError
from brittle.cli.console import compile_first, console, interrupted, progress_bar, say_next, split_commas, tell_files
from brittle.cli.run import DEVICE, follow, load_data

if TYPE_CHECKING:
    from collections.abc import Sequence

    from brittle.benchmarks import Benchmark
    from brittle.datasets.dataset import Dataset
    from brittle.design import OverlapMatrix, Plan

CANDIDATES = ("noc-candidates", "syn2nat-candidates")
"""The recipes that give a corruption of a published set of candidates its range or level."""


def plan_of(
    mode: str,
    network: str,
    epochs: int | None,
    standard_epochs: int | None,
    images: int | None,
    batch_size: int,
    seed: int,
    *,
    started: bool,
    rate: float | None = None,
    control: bool = True,
    option: str = "--images",
) -> Plan:
    """The plan of a command line; `epochs` are those of the models that learn, `option` is what says their `images`."""
    from dataclasses import replace

    from brittle.design import Plan

    usual = Plan(mode, network)
    if standard_epochs is not None and (mode == "scratch" or started):
        why = "is trained as all others, so use --epochs" if mode == "scratch" else "is there already by --start"
        raise BrittleError(f"--standard-epochs {standard_epochs} does not apply: the standard model {why}")
    if epochs is not None and mode == "batchnorm":
        raise BrittleError(f"batchnorm takes one pass over the images and no --epochs, got {epochs}; use {option}")
    if images is not None and images < batch_size:
        raise BrittleError(f"{option} {images} do not fill a batch of {batch_size}; lower --batch-size or take more")
    if mode != "finetune" and rate is not None:
        raise BrittleError(f"--rate {rate:g} is that of fine-tuning, and --mode is {mode}; leave it out")
    full = epochs if mode == "scratch" else standard_epochs
    short = epochs if mode == "finetune" else None
    shared: dict[str, Any] = {"batch_size": batch_size, "seed": seed}
    changed: dict[str, Any] = {} if rate is None else {"learning_rate": rate}
    return replace(
        usual,
        standard=replace(usual.standard, epochs=usual.standard.epochs if full is None else full, **shared),
        tuning=replace(usual.tuning, epochs=usual.tuning.epochs if short is None else short, **shared, **changed),
        tuning_images=images or usual.tuning_images,
        control=control,
    )


def candidates_of(given: str) -> Benchmark:
    """The candidates that a command line names: a recipe, or corruptions with commas.

    A corruption that is named alone has the range or level that it has among the candidates of NOC or Syn2Nat, and
    otherwise the levels 1 to 5, of which each image draws one.
    """
    import brittle
    from brittle.benchmarks import Benchmark, Entry
    from brittle.corruptions import get_corruption

    if given in brittle.list_benchmarks() or given.endswith(".toml"):
        return brittle.load_benchmark(given)
    usual = {entry.id: entry for name in CANDIDATES for entry in brittle.load_benchmark(name).entries}
    try:
        ids = [get_corruption(name).id for name in split_commas([given])]
    except ValueError as error:
        recipes = ", ".join(brittle.list_benchmarks())
        raise BrittleError(f"candidates are a recipe ({recipes}, or a .toml file) or corruptions: {error}") from None
    entries = tuple(usual.get(identity, Entry(identity, (1, 2, 3, 4, 5))) for identity in ids)
    return Benchmark("candidates", entries, title=f"{len(entries)} candidates")


def training_of(data: str, training: str | None, images: int | None) -> Dataset:
    """The training data: named, or the training part of the data."""
    from brittle.datasets import dataset_options

    if training is None and "train" not in dataset_options(data):
        raise BrittleError(f"{data!r} has no training part of its own; name one by --training")
    found: Dataset = load_data(training or data, images, None, {} if training is not None else {"train": True})
    if not found.classes:
        raise BrittleError(
            f"{found.name!r} does not name its classes, so a network cannot be made; give an .npz `classes`"
        )
    return found


def weights_of(start: str, network: str, training: Dataset) -> Path:
    """The file of weights, once it is sure that they fit the network."""
    from brittle.models import build_network
    from brittle.models.networks import DEMO_WEIGHTS, load_into

    scheme, _, which = start.partition(":")
    path = DEMO_WEIGHTS / f"{which}.safetensors" if scheme == "demo" and which else Path(start)
    load_into(build_network(network, len(training.classes)), path)
    return path


PUBLISHED = "noc-table7 or noc-table8"

EXAMPLES = (
    ("brittle overlap --from-table noc-table7 -o imagenet-c-overlap", "the published one, in a second"),
    ("brittle overlap -d cifar10:cifar10 -C noc-candidates -o overlap", "23 candidates, fine-tuned from one model"),
    (
        "brittle overlap -d cifar10:cifar10 -C fog,snow,noc/rain --start demo:standard -o three",
        "three corruptions by name",
    ),
    ("brittle overlap -d cifar10:cifar10 --start demo:standard -o overlap", "the standard model is there already"),
    ("brittle overlap -d cifar10:cifar10 --mode scratch -o paper", "as the papers do it: each model from new weights"),
    ("brittle overlap -d test.npz --training train.npz --mode batchnorm -o quick", "your own data, quickest"),
)


def overlap_verb(
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder; an existing one is resumed.")],
    data: Annotated[
        str | None, typer.Option("--data", "-d", help="Test data, `cifar10:FOLDER` …; its training part trains.")
    ] = None,
    candidates: Annotated[
        str,
        typer.Option(
            "--candidates",
            "-C",
            help="A recipe, or names of corruptions with commas. Each image draws its severity from the range of its "
            "corruption, or one of its levels.",
        ),
    ] = "noc-candidates",
    mode: Annotated[
        str, typer.Option("--mode", help="`finetune` the standard model, train from `scratch`, or `batchnorm` alone.")
    ] = "finetune",
    network: Annotated[str, typer.Option("--network", help="`small`, `small:WIDTH` or `timm:NAME`.")] = "small",
    epochs: Annotated[
        int | None,
        typer.Option(
            "--epochs",
            help="Number of training epochs of each model.",
            show_default="40 from scratch, 1 of fine-tuning",
        ),
    ] = None,
    standard_epochs: Annotated[
        int | None,
        typer.Option("--standard-epochs", help="Number of training epochs of the standard model.", show_default="40"),
    ] = None,
    start: Annotated[
        str | None, typer.Option("--start", help="Weights of a standard model: a file, or `demo:standard`.")
    ] = None,
    training: Annotated[
        str | None, typer.Option("--training", help="Training data.", show_default="the training part of the data")
    ] = None,
    images: Annotated[
        int | None,
        typer.Option("--images", help="Training images of each model.", show_default="all, 10,000 of fine-tuning"),
    ] = None,
    test_images: Annotated[int | None, typer.Option("--test-images", help="Test images.", show_default="all")] = None,
    batch_size: Annotated[
        int, typer.Option("--batch-size", help="Number of images at once, in training and testing.")
    ] = 128,
    form: Annotated[str, typer.Option("--form", help="`ratio` as in the papers, or `accuracy` as Syn2Nat's code.")] = (
        "ratio"
    ),
    rate: Annotated[
        float | None, typer.Option("--rate", help="Learning rate of fine-tuning.", show_default="0.05")
    ] = None,
    control: Annotated[
        bool,
        typer.Option("--control/--no-control", help="Let the standard model go on too, with clean images."),
    ] = True,
    seed: Annotated[int, typer.Option("--seed", help="Seed of all trainings.")] = 0,
    engine: Annotated[
        str, typer.Option("--engine", help="`local`, or `ray` for a cluster that trains and tests.")
    ] = "local",
    address: Annotated[str | None, typer.Option("--address", help="Address of the Ray cluster.")] = None,
    device: DEVICE = "auto",
    from_table: Annotated[
        str | None, typer.Option("--from-table", help=f"Train nothing: {PUBLISHED}, published tables.")
    ] = None,
) -> None:
    """Measure how much each pair of corruptions overlaps: how far learning one helps with the other.

    One model learns each candidate, and all models are tested on all candidates. 0 means that learning one corruption
    does not help with the other, 1 that it helps as much as learning the other itself. The folder gets the models, the
    run, overlap.csv, overlap.parquet with intervals, and overlap.svg. The same command again resumes where it stopped.
    """
    if from_table is not None:
        if data is not None:
            raise BrittleError(f"--from-table {from_table} trains nothing; leave --data out")
        _published(from_table, output)
        return
    if data is None:
        raise BrittleError(f"say which --data to train and test on, or --from-table {PUBLISHED}")
    if form not in ("ratio", "accuracy"):
        raise BrittleError(f"the form is ratio (the papers) or accuracy (the code of Syn2Nat), got {form!r}")
    from brittle._parallel import check_engine
    from brittle.design import VanishingGain, correct_cube, measure_overlap, overlap_with_intervals

    check_engine(engine, address)  # a mistake is told before data are read
    recipe = candidates_of(candidates)
    how: dict[str, Any] = {"started": start is not None, "rate": rate, "control": control}
    plan = plan_of(mode, network, epochs, standard_epochs, images, batch_size, seed, **how)
    taught = training_of(data, training, images if mode == "scratch" else None)
    test = load_data(data, test_images, None, {})
    weights = None if start is None else weights_of(start, plan.network, taught)
    if engine == "local":
        compile_first(entry.corruption for entry in recipe.entries)
    with progress_bar() as bar:
        try:
            results = measure_overlap(
                taught,
                test,
                recipe,
                output,
                plan,
                start=weights,
                batch_size=batch_size,
                engine=engine,
                address=address,
                device=device,
                progress=follow(bar),
            )
        except KeyboardInterrupt:
            bar.stop()
            interrupted()
    correct = correct_cube(results, recipe)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", VanishingGain)  # the matrix knows which, and says so below
        shape: dict[str, Any] = {"form": form}
        found = overlap_with_intervals(correct, recipe, **shape)
    _tell_masked(found.unlearned or ())
    clean, under = correct[0, 0].mean(), correct[0, 1:].mean()
    console().print(f"the standard model recognises {clean:.1%} of clean images, {under:.1%} under the candidates")
    _write(found, output, f"Overlap of {recipe.name} on {test.name} ({mode})")


def _tell_masked(names: Sequence[str]) -> None:
    if names:
        words = f"[yellow]masked, hardly learned by their own models:[/] {', '.join(names)}"
        console().print(f"{words}; train longer, make them more severe or leave them out\n")


def _published(name: str, output: Path) -> None:
    from brittle.design import published_overlap

    _write(published_overlap(name), output, f"Overlap, from the published table {name}")


def _write(overlap: OverlapMatrix, folder: Path, title: str) -> None:
    from brittle.report.figures import overlap_figure, save_figure

    _print(overlap)
    tables = [overlap.save(folder / f"overlap{ending}") for ending in (".csv", ".parquet")]
    tell_files(*tables, save_figure(overlap_figure(overlap, title=title), folder / "overlap.svg"))
    say_next("build", "non-overlapping", folder, "-t", 0.1, "-o", "recipe.toml")


def _print(overlap: OverlapMatrix, most: int = 10) -> None:
    """The pairs that overlap most, with their intervals."""
    import numpy as np
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    rows, columns = np.triu_indices(len(overlap), 1)
    pairs = [(float(overlap.scores[i, j]), int(i), int(j)) for i, j in zip(rows, columns, strict=True)]
    known = sorted((pair for pair in pairs if not np.isnan(pair[0])), reverse=True)
    table = Table(title="largest overlaps", title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("corruption", overflow="fold")
    table.add_column("and", overflow="fold")
    table.add_column("overlap", justify="right", no_wrap=True)
    if overlap.low is not None:
        table.add_column("95 %", justify="right", no_wrap=True, style="dim")
    for score, i, j in known[:most]:
        ends = [] if overlap.low is None or overlap.high is None else [overlap.low[i, j], overlap.high[i, j]]
        interval = [f"{ends[0]:.2f}–{'∞' if np.isinf(ends[1]) else f'{ends[1]:.2f}'}"] if ends else []
        table.add_row(overlap.names[i], overlap.names[j], f"{score:.2f}", *interval)
    if known:
        console().print(table)
    if overlap.high is not None and np.isinf(overlap.high[~np.isnan(overlap.high)]).any():
        words = "∞: in some resamples of the test images a model gains nothing on its own corruption, so that they set "
        console().print(f"[dim]{words}no upper bound; test on more images, or train longer[/]")
    under = sum(score < 0.1 for score, _, _ in known)
    words = f"{len(overlap)} corruptions, {len(pairs)} pairs: {under} under 0.1, {len(pairs) - len(known)} masked"
    words += f", mean {np.mean([score for score, _, _ in known]):.2f}" if known else ""
    console().print(f"[dim]{words}[/]\n")
