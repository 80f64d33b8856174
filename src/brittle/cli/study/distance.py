"""`brittle study distance`: does an augmentation that comes nearer to a corruption help more against it?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from brittle.cli import distance_options as given
from brittle.cli.console import console, say_if_compiling
from brittle.cli.distance_plan import recipe_of, save_table
from brittle.cli.long_work import long_work
from brittle.cli.matrix import tell_files
from brittle.cli.run import follow, load_data
from brittle.cli.study import options

if TYPE_CHECKING:
    import polars as pl

EXAMPLES = (
    (
        "brittle study distance -d cifar10:cifar10 --start demo:standard --schemes 24 -o study",
        "24 schemes, fine-tuned from the bundled model",
    ),
    (
        "brittle study distance -d cifar10:cifar10 --network small:8 -s 1,3,5 --test-images 1000 -o quick",
        "a five times faster network, trained first",
    ),
)


def distance_study_verb(
    data: options.TESTED,
    output: given.FOLDER,
    benchmark: given.BENCHMARK = "cifar10-c",
    schemes: Annotated[int, typer.Option("--schemes", help="Of the 512 subsets of AugMix's nine bases.")] = 24,
    mode: options.MODE = "finetune",
    network: options.NETWORK = "small",
    start: options.START = None,
    epochs: options.EPOCHS = None,
    standard_epochs: options.STANDARD_EPOCHS = None,
    training: options.TRAINING = None,
    training_images: options.TRAINING_IMAGES = None,
    test_images: options.TEST_IMAGES = None,
    corruptions: given.CORRUPTIONS = None,
    severities: given.SEVERITIES = None,
    images: given.IMAGES = 100,
    samples: given.SAMPLES = 1000,
    corruption_samples: given.CORRUPTION_SAMPLES = 25,
    seed: options.SEED = 0,
    batch_size: given.BATCH = 128,
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

    given.check_counts(samples=samples, corruption_samples=corruption_samples, batch_size=batch_size)
    chosen = some_schemes(schemes, seed=seed)
    recipe = recipe_of(benchmark, corruptions, severities)
    plan, taught, weights = options.lesson(
        data,
        training,
        mode=mode,
        network=network,
        start=start,
        epochs=epochs,
        standard_epochs=standard_epochs,
        images=training_images,
        batch_size=batch_size,
        seed=seed,
    )
    test = load_data(data, test_images, None, {})
    shown = feature_images(taught, images, seed=seed)
    say_if_compiling()
    with long_work() as bar:
        told = follow(bar)
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
    points = scheme_points(features, cells, results, recipe)
    found = scheme_correlations(points)
    _print(found)
    title = f"Nearer augmentations, fewer errors? {len(chosen)} schemes on {recipe.name}"
    files = [save_table(points, output / "points.csv"), save_table(found, output / "correlations.csv")]
    files.append(save_figure(study_figure(points, found, title=title), output / "study.svg"))
    words = f"The same by MMD: {len(chosen)} schemes on {recipe.name}"
    files.append(save_figure(study_figure(points, found, distance="mmd", title=words), output / "study-mmd.svg"))
    tell_files(*files)


def _print(found: pl.DataFrame) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from brittle.report.figures.study_figure import STRONG

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
    by_mmd = int((known["mmd"].fill_null(-1) > STRONG).sum())
    console().print(
        f"[bold]{strong} of {len(found)} above {STRONG:g}[/] (the paper: 12 of 15), {by_mmd} by MMD; Spearman's rank "
        f"correlation of distance and error over {found['schemes'][0]} schemes\n"
    )
