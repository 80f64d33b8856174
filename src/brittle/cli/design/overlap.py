"""`brittle design overlap`: which corruptions measure the same thing?"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from brittle._errors import BrittleError
from brittle.cli.console import compile_first, console, print_json, resumable_progress, say_next, tell_files
from brittle.cli.inputs import DEVICE, TrainingOptions, follow
from brittle.cli.options import Engine, OverlapAveraging, OverlapForm, option, with_groups
from brittle.cli.styles import DIM, END, YELLOW

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from brittle.benchmarks import Benchmark
    from brittle.design import OverlapMatrix

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
        "brittle design overlap -d cifar10:cifar10 --candidates cifar10-noc-candidates.toml --start demo:standard "
        "-o overlap",
        "start from an existing standard model",
    ),
    (
        "brittle design overlap -d cifar10:cifar10 --mode scratch -o paper",
        "as in the papers: each model from new weights",
    ),
    (
        "brittle design overlap -d imagenet-100:imagenet --mode scratch --preset noc --network timm:resnet18 -o noc",
        "NOC's own matrix: ImageNet-100, ResNet-18, its settings",
    ),
    (
        "brittle design overlap -d test.npz --train-data train.npz --mode batchnorm -o quick",
        "your own data, the quickest way",
    ),
)


@with_groups
def overlap_verb(
    output: Annotated[Path, option("--output", help="The folder; an existing one is resumed.")],
    trainings: TrainingOptions,
    data: Annotated[str | None, option("--data")] = None,
    candidates: Annotated[
        str,
        option("--candidates"),
    ] = "noc-candidates",
    form: Annotated[OverlapForm, option("--form")] = "ratio",
    averaging: Annotated[
        OverlapAveraging | None, option("--averaging", show_default="gains, ratios from scratch")
    ] = None,
    lr: Annotated[float | None, option("--lr", show_default="0.05")] = None,
    no_control: Annotated[bool, option("--no-control")] = False,
    repeats: Annotated[int, option("--repeats")] = 1,
    engine: Annotated[Engine, option("--engine")] = "local",
    address: Annotated[str | None, option("--address")] = None,
    device: DEVICE = "auto",
    from_table: Annotated[str | None, option("--from-table")] = None,
    as_json: Annotated[bool, option("--json")] = False,
) -> None:
    """Measure how much each pair of corruptions overlaps: how far training with one helps against the other.

    One model is trained with each candidate, and all models are tested on all candidates. 0 means that training with
    one corruption does not help against the other, 1 that it helps as much as training with the other itself. The
    folder gets the models, the run, overlap.csv, overlap.parquet with intervals, and overlap.svg. The same command
    again resumes where it stopped.
    """
    from brittle.plots.style import check_figure

    check_figure(output / "overlap.svg")  # what cannot be drawn is reported before models are trained
    if from_table is not None:
        if data is not None:
            raise BrittleError(f"--from-table {from_table} trains nothing; leave --data out")
        _published(from_table, output, as_json)
        return
    if data is None:
        raise BrittleError(f"say which --data to train and test on, or --from-table {PUBLISHED}")
    from brittle._parallel import check_engine
    from brittle.design.overlap import VanishingGain, load_candidates, overlap_with_intervals
    from brittle.design.overlap_training import correct_cubes, measure_overlap

    check_engine(engine, address)  # before data are read
    recipe = load_candidates(candidates)
    plan = trainings.plan(lr=lr, control=not no_control, repeats=repeats)
    training = trainings.training_set(data, plan)
    test, weights = trainings.test_set(data, training, plan), trainings.weights(training)
    compile_first(entry.corruption for entry in recipe.entries)
    with resumable_progress() as bar:
        results = measure_overlap(
            training,
            test,
            recipe,
            output,
            plan,
            start=weights,
            cache=trainings.cache,
            batch_size=plan.standard.batch_size,
            engine=engine,
            address=address,
            device=device,
            progress=follow(bar),
        )
    cubes = correct_cubes(results, recipe)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", VanishingGain)  # the matrix lists them, and they are printed below
        overlap = overlap_with_intervals(cubes, recipe, form=form, averaging=averaging or plan.averaging)
    _print_masked(overlap.unlearned or ())
    correct = cubes.mean(axis=0)
    clean, corrupted = correct[0, 0].mean(), correct[0, 1:].mean()
    console().print(f"the standard model recognises {clean:.1%} of clean images, {corrupted:.1%} under the candidates")
    _print_uneven(correct, recipe)
    _write(overlap, output, as_json)


def _print_uneven(correct: NDArray[Any], recipe: Benchmark) -> None:
    """Print how far the clean accuracies of all models lie apart, and warn if that distorts robustness scores."""
    from brittle.metrics import uneven_clean

    names = ["the standard model", *(entry.id for entry in recipe.entries)]
    clean = dict(zip(names, correct[:, 0].mean(axis=-1).tolist(), strict=True))
    console().print(f"clean accuracy of all models: {min(clean.values()):.1%} to {max(clean.values()):.1%}")
    uneven = uneven_clean(clean, correct.shape[-1], reference=names[0])
    if uneven:
        listed = ", ".join(f"{name} ({ratio:.0%})" for name, ratio in uneven.items())
        console().print(
            f"{YELLOW}clean accuracies differ by more than 5 % of the standard model's, which robustness scores and "
            f"overlaps then show too:{END} {listed}; train longer, or with a lower --lr"
        )


def _print_masked(names: Sequence[str]) -> None:
    if names:
        warning = f"{YELLOW}masked, hardly learned by the models trained with them:{END} {', '.join(names)}"
        console().print(f"{warning}; train longer, make them more severe or leave them out\n")


def _published(name: str, output: Path, as_json: bool) -> None:
    from brittle.design import published_overlap

    _write(published_overlap(name), output, as_json)


def _write(overlap: OverlapMatrix, folder: Path, as_json: bool) -> None:
    from brittle.plots.design import plot_overlap
    from brittle.plots.style import save_figure

    if as_json:
        print_json(overlap)
    else:
        _print(overlap)
    tables = [overlap.save(folder / f"overlap{ending}") for ending in (".csv", ".parquet")]
    tell_files(*tables, save_figure(plot_overlap(overlap), folder / "overlap.svg"))
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
        note = "∞: in some resamples of the test images a model gains nothing on its corruption, so that they set no "
        console().print(f"{DIM}{note}upper bound; test on more images, or train longer{END}")
    under = sum(score < 0.1 for score, _, _ in known)
    summary = f"{len(overlap)} corruptions, {len(pairs)} pairs: {under} under 0.1, {len(pairs) - len(known)} masked"
    summary += f", mean {np.mean([score for score, _, _ in known]):.2f}" if known else ""
    console().print(f"{DIM}{summary}{END}\n")
