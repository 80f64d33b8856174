"""`brittle study distance`: does an augmentation that comes nearer to a corruption help more against it?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from brittle.cli.console import console, interrupted, progress_bar, say_if_compiling
from brittle.cli.distance_plan import (
    BATCH,
    BENCHMARK,
    CORRUPTIONS,
    DRAWS,
    FOLDER,
    IMAGES,
    SAMPLES,
    SEED,
    SEVERITIES,
    save_table,
)
from brittle.cli.matrix import tell_files
from brittle.cli.overlap_plan import plan_of, training_of, weights_of
from brittle.cli.recipe import chosen_recipe
from brittle.cli.run import follow, load_data
from brittle.cli.several import several, several_numbers

if TYPE_CHECKING:
    import polars as pl

    from brittle.datasets.dataset import Dataset
    from brittle.design import Plan

DISTANCE = (
    (
        "brittle study distance -d cifar10:DATA --start demo:standard --schemes 24 -o study",
        "24 schemes, fine-tuned from the bundled model",
    ),
    (
        "brittle study distance -d cifar10:DATA --network small:8 -s 1,3,5 --test-images 1000 -o quick",
        "a five times faster network, trained first",
    ),
)

TESTED = Annotated[str, typer.Option("--data", "-d", help="Test data, `cifar10:FOLDER` …; its training part trains.")]
TRAINING = Annotated[
    str | None, typer.Option("--training", help="Training data.", show_default="the training part of the data")
]
MODE = Annotated[
    str, typer.Option("--mode", help="`finetune` the standard model, train from `scratch`, or `batchnorm` alone.")
]
NETWORK = Annotated[str, typer.Option("--network", help="`small`, `small:WIDTH` or `timm:NAME`.")]
START = Annotated[str | None, typer.Option("--start", help="A standard model: weights, or `demo:standard`.")]
EPOCHS = Annotated[
    int | None, typer.Option("--epochs", help="Of each model.", show_default="1 of fine-tuning, 40 from scratch")
]
STANDARD_EPOCHS = Annotated[
    int | None, typer.Option("--standard-epochs", help="Of the standard model.", show_default="40")
]
TRAINING_IMAGES = Annotated[
    int | None,
    typer.Option("--training-images", help="Of each model.", show_default="all, 10,000 of fine-tuning"),
]
TEST_IMAGES = Annotated[int | None, typer.Option("--test-images", help="Test images.", show_default="all")]


def distance_study_verb(
    data: TESTED,
    output: FOLDER,
    benchmark: BENCHMARK = "cifar10-c",
    schemes: Annotated[int, typer.Option("--schemes", help="Of the 512 subsets of AugMix's nine bases.")] = 24,
    mode: MODE = "finetune",
    network: NETWORK = "small",
    start: START = None,
    epochs: EPOCHS = None,
    standard_epochs: STANDARD_EPOCHS = None,
    training: TRAINING = None,
    training_images: TRAINING_IMAGES = None,
    test_images: TEST_IMAGES = None,
    corruptions: CORRUPTIONS = None,
    severities: SEVERITIES = None,
    images: IMAGES = 100,
    samples: SAMPLES = 1000,
    corruption_samples: DRAWS = 25,
    seed: SEED = 0,
    batch_size: BATCH = 128,
) -> None:
    """Repeat the MSD paper's experiment: is a scheme that comes nearer to a corruption better against it?

    Takes schemes of the augmentation powerset (always none, all geometric, all colour and all bases), trains a model
    with each, tests all of them on the benchmark, measures the distance of each scheme to each corruption, and ranks
    both. The same command again goes on where it was.
    """
    from brittle.design.scheme_models import scheme_models
    from brittle.design.scheme_study import run_together, scheme_correlations, scheme_features, scheme_points
    from brittle.distance import corruption_features, feature_images
    from brittle.report.figures import save_figure, study_figure
    from brittle.training.augmentation import some_schemes

    chosen = some_schemes(schemes, seed=seed)
    recipe = chosen_recipe(benchmark, several(corruptions), several_numbers(severities, "severities"), None)
    assert recipe is not None
    plan, taught, weights = lesson(
        data, training, mode, network, start, epochs, standard_epochs, training_images, batch_size, seed
    )
    test = load_data(data, test_images, None, {})
    shown = feature_images(taught, images, seed=seed)
    say_if_compiling()
    with progress_bar() as bar:
        told = follow(bar)
        try:
            models = scheme_models(chosen, taught, output / "models", plan, start=weights, progress=told)
            standard = models.pop("standard")
            results = run_together(models, test, recipe, output / "run", batch_size=batch_size, progress=told)
            how: dict[str, Any] = {"folder": output / "features", "batch_size": batch_size}
            cells = corruption_features(
                standard,
                shown,
                recipe,
                samples=corruption_samples,
                progress=lambda done, total, _speed: told("looking at corruptions", done, total),
                **how,
            )
            features = scheme_features(chosen, standard, shown, samples=samples, seed=seed, progress=told, **how)
        except KeyboardInterrupt:
            bar.stop()
            interrupted()
    points = scheme_points(features, cells, results, recipe)
    found = scheme_correlations(points)
    _print(found)
    title = f"Nearer augmentations, fewer errors? {len(chosen)} schemes on {recipe.name}"
    files = [save_table(points, output / "points.csv"), save_table(found, output / "correlations.csv")]
    files.append(save_figure(study_figure(points, found, title=title), output / "study.svg"))
    words = f"The same by MMD: {len(chosen)} schemes on {recipe.name}"
    files.append(save_figure(study_figure(points, found, distance="mmd", title=words), output / "study-mmd.svg"))
    tell_files(*files)


def lesson(
    data: str,
    training: str | None,
    mode: str,
    network: str,
    start: str | None,
    epochs: int | None,
    standard_epochs: int | None,
    training_images: int | None,
    batch_size: int,
    seed: int,
) -> tuple[Plan, Dataset, Path | None]:
    """The plan, the training data and the weights to start from, of a verb that trains with augmentations."""
    plan = plan_of(mode, network, epochs, standard_epochs, training_images, batch_size, seed, started=start is not None)
    taught = training_of(data, training, training_images if mode == "scratch" else None)
    return plan, taught, None if start is None else weights_of(start, network, taught)


def _print(found: pl.DataFrame) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from brittle.design.scheme_study import STRONG

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("corruption", overflow="fold")
    for heading in ("ρ of MSD", "95 %", "p", "ρ of MMD"):
        table.add_column(heading, justify="right", no_wrap=True, style="dim" if heading in ("95 %", "p") else "")
    for row in found.iter_rows(named=True):
        plain = row["corruption"].rpartition("/")[2]
        if row["msd"] is None:
            table.add_row(plain, "–", "", "", "–")
            continue
        p = "< 0.001" if row["msd_p"] < 0.001 else f"{row['msd_p']:.3f}"
        between = f"{row['msd_low']:.2f} to {row['msd_high']:.2f}"
        other = "–" if row["mmd"] is None else f"{row['mmd']:.2f}"
        table.add_row(plain, f"{row['msd']:.2f}", between, p, other, style="bold" if row["msd"] > STRONG else "")
    console().print(table)
    known = found.drop_nulls("msd")
    strong = int((known["msd"] > STRONG).sum())
    below = int((known["mmd"].fill_null(-1) > STRONG).sum())
    console().print(
        f"[bold]{strong} of {len(found)} above {STRONG:g}[/] (the paper: 12 of 15), {below} by MMD; Spearman's rank "
        f"correlation of distance and error over {found['schemes'][0]} schemes\n"
    )
