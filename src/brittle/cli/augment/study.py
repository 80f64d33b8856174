"""`brittle augment study`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from brittle.cli.augment.inputs import (
    CORRUPTION_SAMPLES,
    CORRUPTIONS,
    FEATURE_IMAGES,
    FOLDER,
    JSON,
    SAMPLES,
    SEVERITIES,
    cut_benchmark,
)
from brittle.cli.console import compile_first, console, print_json, resumable_progress, split_numbers, tell_files
from brittle.cli.inputs import TrainingOptions, follow, save_table
from brittle.cli.options import option, with_groups

if TYPE_CHECKING:
    import polars as pl

DATA = Annotated[str, option("--data")]
BENCHMARK = Annotated[str, option("--benchmark")]

EXAMPLES = (
    (
        "brittle augment study distance -d cifar10:cifar10 --start demo:standard --schemes 24 -o study",
        "24 schemes, fine-tuned from the bundled model",
    ),
    (
        "brittle augment study distance -d cifar10:cifar10 --network small:8 -s 1,3,5 --limit 1000 -o quick",
        "a five times faster network, trained first",
    ),
)


@with_groups
def distance_study_verb(
    data: DATA,
    output: FOLDER,
    trainings: TrainingOptions,
    benchmark: BENCHMARK = "cifar10-c",
    schemes: Annotated[int, option("--schemes")] = 24,
    corruptions: CORRUPTIONS = None,
    severities: SEVERITIES = None,
    feature_images: FEATURE_IMAGES = 100,
    samples: SAMPLES = 1000,
    corruption_samples: CORRUPTION_SAMPLES = 25,
    as_json: JSON = False,
) -> None:
    """Repeat the MSD paper's experiment: is a scheme that comes nearer to a corruption better against it?

    Takes schemes of the augmentation powerset (always none, all geometric, all colour and all bases), trains a model
    with each, tests all of them on the benchmark, measures the distance of each scheme to each corruption, and ranks
    both. The same command again resumes where it stopped.
    """
    from brittle import distance
    from brittle.design import distance_study
    from brittle.plots import check_figure, plot_study, save_figure
    from brittle.training.augmentation import some_schemes

    check_figure(output / "study.svg")
    chosen = some_schemes(schemes, seed=trainings.seed)
    recipe = cut_benchmark(benchmark, corruptions, severities)
    plan = trainings.plan()
    training = trainings.training_set(data, plan)
    weights, test = trainings.weights(training), trainings.test_set(data, training, plan)
    compile_first()
    with resumable_progress() as bar:
        study = distance_study(
            chosen,
            training,
            test,
            recipe,
            output,
            plan,
            start=weights,
            cache=trainings.cache,
            images=distance.feature_images(training, feature_images, seed=trainings.seed),
            samples=samples,
            corruption_samples=corruption_samples,
            seed=trainings.seed,
            batch_size=plan.standard.batch_size,
            progress=follow(bar),
        )
    points, correlations = study.points, study.correlations
    if as_json:
        print_json(correlations)
    else:
        _print(correlations)
    files = [save_table(points, output / "points.csv"), save_table(correlations, output / "correlations.csv")]
    files.append(save_figure(plot_study(points, correlations), output / "study.svg"))
    figure = plot_study(points, correlations, distance="mmd")
    tell_files(*files, save_figure(figure, output / "study-mmd.svg"))


def _print(correlations: pl.DataFrame) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from brittle.plots import STRONG

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("corruption", overflow="fold")
    for heading in ("ρ of MSD", "95 %", "p", "ρ of MMD"):
        table.add_column(heading, justify="right", no_wrap=True, style="dim" if heading in ("95 %", "p") else "")
    for row in correlations.iter_rows(named=True):
        corruption = row["corruption"].rpartition("/")[2]
        if row["msd"] is None:
            table.add_row(corruption, "–", "", "", "–")
            continue
        p = "< 0.001" if row["msd_p"] < 0.001 else f"{row['msd_p']:.3f}"
        between = f"{row['msd_low']:.2f} to {row['msd_high']:.2f}"
        other = "–" if row["mmd"] is None else f"{row['mmd']:.2f}"
        table.add_row(corruption, f"{row['msd']:.2f}", between, p, other, style="bold" if row["msd"] > STRONG else "")
    console().print(table)
    known = correlations.drop_nulls("msd")
    strong = int((known["msd"] > STRONG).sum())
    by_mmd = int((known["mmd"].fill_null(-1) > STRONG).sum())
    console().print(
        f"[bold]{strong} of {len(correlations)} above {STRONG:g}[/] (the paper: 12 of 15), {by_mmd} by MMD; Spearman's "
        f"rank correlation of distance and error over {correlations['schemes'][0]} schemes\n"
    )


MIXING_EXAMPLES = (
    (
        "brittle augment study mixing -d cifar10:cifar10 --start demo:standard -o mixing",
        "impulse noise, mixed with motion blur, as in the paper",
    ),
    (
        "brittle augment study mixing -d cifar10:cifar10 --start demo:standard --near fog --far none --no-errors "
        "-o fog",
        "fog among clean images; distances alone, no training",
    ),
)

SHARES = "1,0.75,0.5,0.25,0.1,0.05,0.01,0"


@with_groups
def mixing_study_verb(
    data: DATA,
    output: FOLDER,
    trainings: TrainingOptions,
    near: Annotated[str, option("--near")] = "impulse_noise",
    far: Annotated[str, option("--far")] = "motion_blur",
    severity: Annotated[float, option("--severity")] = 3.0,
    shares: Annotated[str, option("--shares")] = SHARES,
    no_errors: Annotated[bool, option("--no-errors")] = False,
    benchmark: BENCHMARK = "cifar10-c",
    feature_images: FEATURE_IMAGES = 100,
    samples: SAMPLES = 1000,
    corruption_samples: CORRUPTION_SAMPLES = 100,
    as_json: JSON = False,
) -> None:
    """Repeat the MSD paper's Figure 2b: mix the tested corruption into another augmentation, less and less of it.

    MMD, the distance of the means, grows with every step. MSD, the distance of the nearest sample, stays low as long as
    a few samples are left, and in the paper so does the error of the models trained with the mixtures.
    """
    from brittle import distance
    from brittle.design import mixing_study
    from brittle.plots import check_figure, plot_mixing, save_figure

    check_figure(output / "mixing.svg")
    weights_of_near = split_numbers([shares], "shares")
    plan = trainings.plan()
    training = trainings.training_set(data, plan)
    weights, test = trainings.weights(training), trainings.test_set(data, training, plan)
    compile_first()
    with resumable_progress() as bar:
        points = mixing_study(
            near,
            far,
            weights_of_near,
            training,
            test,
            output,
            plan,
            benchmark=benchmark,
            severity=severity,
            errors=not no_errors,
            start=weights,
            cache=trainings.cache,
            images=distance.feature_images(training, feature_images, seed=trainings.seed),
            samples=samples,
            corruption_samples=corruption_samples,
            seed=trainings.seed,
            batch_size=plan.standard.batch_size,
            progress=follow(bar),
        )
    if as_json:
        print_json(points)
    else:
        _print_mixing(points)
    figure = save_figure(plot_mixing(points), output / "mixing.svg")
    tell_files(save_table(points, output / "mixing.csv"), figure)


def _print_mixing(points: pl.DataFrame) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for heading in ("share", "samples of it", "MSD", "MMD", *(["error"] if "error" in points.columns else [])):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in points.iter_rows(named=True):
        error = [f"{100 * row['error']:.1f} %"] if "error" in row else []
        table.add_row(
            f"{100 * row['share']:g} %", f"{row['picked']:,}", f"{row['msd']:.2f}", f"{row['mmd']:.2f}", *error
        )
    console().print(table)
