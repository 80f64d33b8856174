"""`brittle design overlap`: which corruptions measure the same thing?"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from brittle._errors import BrittleError
from brittle.cli.console import (
    compile_first,
    console,
    interrupted,
    print_json,
    progress_bar,
    say_next,
    split_commas,
    tell_files,
)
from brittle.cli.inputs import (
    ALL_CLASSES,
    CACHE,
    DEVICE,
    PARTIAL,
    PREPARE,
    PRESET,
    SETTINGS,
    THREADS,
    TrainingData,
    follow,
    plan_of,
    settings_of,
    tell_deviations,
    weights_of,
)
from brittle.cli.options import Engine, Mode, OverlapForm, option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from brittle.benchmarks import Benchmark
    from brittle.design import OverlapMatrix

CANDIDATES = ("noc-candidates", "syn2nat-candidates")
"""The recipes that give a corruption of a published set of candidates its range or level."""


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


PUBLISHED = "noc-table7 or noc-table8"

EXAMPLES = (
    ("brittle design overlap --from-table noc-table7 -o imagenet-c-overlap", "the published one, in a second"),
    (
        "brittle design overlap -d cifar10:cifar10 --candidates noc-candidates -o overlap",
        "23 candidates, fine-tuned from one model",
    ),
    (
        "brittle design overlap -d cifar10:cifar10 --candidates fog,snow,noc/rain --start demo:standard -o three",
        "three corruptions by name",
    ),
    (
        "brittle design overlap -d cifar10:cifar10 --start demo:standard -o overlap",
        "the standard model is there already",
    ),
    (
        "brittle design overlap -d cifar10:cifar10 --mode scratch -o paper",
        "as the papers do it: each model from new weights",
    ),
    (
        "brittle design overlap -d imagenet-100:imagenet --mode scratch --preset noc --network timm:resnet18 -o noc",
        "NOC's own matrix: ImageNet-100, ResNet-18, its settings",
    ),
    ("brittle design overlap -d test.npz --train-data train.npz --mode batchnorm -o quick", "your own data, quickest"),
)


def overlap_verb(
    output: Annotated[Path, option("--output", help="The folder; an existing one is resumed.")],
    data: Annotated[str | None, option("--data")] = None,
    candidates: Annotated[
        str,
        option("--candidates"),
    ] = "noc-candidates",
    mode: Annotated[Mode, option("--mode")] = "finetune",
    network: Annotated[str, option("--network")] = "small",
    epochs: Annotated[
        int | None,
        option("--epochs", show_default="40 from scratch, 1 of fine-tuning"),
    ] = None,
    standard_epochs: Annotated[
        int | None,
        option("--standard-epochs", show_default="40"),
    ] = None,
    start: Annotated[str | None, option("--start")] = None,
    training: Annotated[str | None, option("--train-data", show_default="the training part of the data")] = None,
    images: Annotated[
        int | None,
        option("--train-limit", show_default="all, 10,000 of fine-tuning"),
    ] = None,
    test_images: Annotated[int | None, option("--limit", show_default="all")] = None,
    batch_size: Annotated[int | None, option("--batch-size", show_default="128")] = None,
    form: Annotated[OverlapForm, option("--form")] = ("ratio"),
    rate: Annotated[float | None, option("--lr", show_default="0.05")] = None,
    no_control: Annotated[bool, option("--no-control")] = False,
    preset: PRESET = None,
    more: SETTINGS = None,
    prepare: PREPARE = None,
    partial: PARTIAL = False,
    all_classes: ALL_CLASSES = False,
    cache: CACHE = None,
    workers: THREADS = None,
    seed: Annotated[int, option("--seed")] = 0,
    engine: Annotated[Engine, option("--engine")] = "local",
    address: Annotated[str | None, option("--address")] = None,
    device: DEVICE = "auto",
    from_table: Annotated[str | None, option("--from-table")] = None,
    as_json: Annotated[bool, option("--json")] = False,
) -> None:
    """Measure how much each pair of corruptions overlaps: how far learning one helps with the other.

    One model learns each candidate, and all models are tested on all candidates. 0 means that learning one corruption
    does not help with the other, 1 that it helps as much as learning the other itself. The folder gets the models, the
    run, overlap.csv, overlap.parquet with intervals, and overlap.svg. The same command again resumes where it stopped.
    """
    if from_table is not None:
        if data is not None:
            raise BrittleError(f"--from-table {from_table} trains nothing; leave --data out")
        _published(from_table, output, as_json)
        return
    if data is None:
        raise BrittleError(f"say which --data to train and test on, or --from-table {PUBLISHED}")
    from brittle._parallel import check_engine
    from brittle.design import VanishingGain, correct_cube, measure_overlap, overlap_with_intervals

    check_engine(engine, address)  # a mistake is told before data are read
    recipe = candidates_of(candidates)
    how: dict[str, Any] = {"started": start is not None, "rate": rate, "control": not no_control}
    how |= {"preset": preset, "settings": settings_of(more)}
    plan = plan_of(mode, network, epochs, standard_epochs, images, batch_size, seed, **how)
    given = TrainingData(data, training, prepare, partial, all_classes, preset)
    trained = given.trained(images if mode == "scratch" else None, plan.standard)
    test = given.tested(test_images, trained, plan.standard)
    weights = None if start is None else weights_of(start, plan.network, trained)
    if weights is None or mode == "scratch":
        tell_deviations(plan.standard, preset or "noc")
    compile_first(entry.corruption for entry in recipe.entries)
    with progress_bar() as bar:
        try:
            results = measure_overlap(
                trained,
                test,
                recipe,
                output,
                plan,
                start=weights,
                cache=cache,
                workers=workers,
                batch_size=batch_size or plan.standard.batch_size,
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
    _tell_uneven(correct, recipe)
    _write(found, output, f"Overlap of {recipe.name} on {test.name} ({mode})", as_json)


def _tell_uneven(correct: NDArray[Any], recipe: Benchmark) -> None:
    """Say how far the clean accuracies of all models lie apart, and warn if that distorts robustness scores."""
    from brittle.metrics import uneven_clean

    names = ["the standard model", *(entry.id for entry in recipe.entries)]
    clean = dict(zip(names, correct[:, 0].mean(axis=-1).tolist(), strict=True))
    console().print(f"clean accuracy of all models: {min(clean.values()):.1%} to {max(clean.values()):.1%}")
    uneven = uneven_clean(clean, correct.shape[-1], reference=names[0])
    if uneven:
        listed = ", ".join(f"{name} ({ratio:.0%})" for name, ratio in uneven.items())
        console().print(
            "[yellow]clean accuracies differ by more than 5 % of the standard model's, which robustness scores and "
            f"overlaps then show too:[/] {listed}; train longer, or with a lower --lr"
        )


def _tell_masked(names: Sequence[str]) -> None:
    if names:
        words = f"[yellow]masked, hardly learned by their own models:[/] {', '.join(names)}"
        console().print(f"{words}; train longer, make them more severe or leave them out\n")


def _published(name: str, output: Path, as_json: bool) -> None:
    from brittle.design import published_overlap

    _write(published_overlap(name), output, f"Overlap, from the published table {name}", as_json)


def _write(overlap: OverlapMatrix, folder: Path, title: str, as_json: bool) -> None:
    from brittle.report.figures import overlap_figure, save_figure

    if as_json:
        print_json(overlap)
    else:
        _print(overlap)
    tables = [overlap.save(folder / f"overlap{ending}") for ending in (".csv", ".parquet")]
    tell_files(*tables, save_figure(overlap_figure(overlap, title=title), folder / "overlap.svg"))
    say_next("design", "build", "non-overlapping", folder, "-t", 0.1, "-o", "recipe.toml")


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
