"""`brittle augment study`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from brittle._errors import BrittleError
from brittle.cli.augment import distance as given
from brittle.cli.augment import study as options
from brittle.cli.augment.distance import recipe_of
from brittle.cli.console import compile_first, console, print_json, resumable_progress, split_numbers, tell_files
from brittle.cli.inputs import (
    BATCH,
    CORRUPTION_SAMPLES,
    IMAGES,
    PRESET,
    SETTINGS,
    TrainingData,
    check_counts,
    follow,
    plan_of,
    save_table,
    settings_of,
    tell_deviations,
    weights_of,
)
from brittle.cli.options import Mode, option

if TYPE_CHECKING:
    import polars as pl

    from brittle.benchmarks import Benchmark
    from brittle.datasets.dataset import Dataset
    from brittle.design import Plan
    from brittle.evaluation import Results
    from brittle.training.augmentation import Scheme

TESTED = Annotated[str, option("--data")]
TRAINING = Annotated[str | None, option("--train-data", show_default="the training part of the data")]
MODE = Annotated[Mode, option("--mode")]
NETWORK = Annotated[str, option("--network")]
START = Annotated[str | None, option("--start")]
EPOCHS = Annotated[
    int | None,
    option("--epochs", show_default="1 of fine-tuning, 40 from scratch"),
]
STANDARD_EPOCHS = Annotated[
    int | None,
    option("--standard-epochs", show_default="40"),
]
TRAINING_IMAGES = Annotated[
    int | None,
    option("--train-limit", show_default="all, 10,000 of fine-tuning"),
]
TEST_IMAGES = Annotated[int | None, option("--limit", show_default="all")]
SEED = Annotated[int, option("--seed")]


def lesson(
    data: str,
    training: str | None,
    *,
    mode: str,
    network: str,
    start: str | None,
    epochs: int | None,
    standard_epochs: int | None,
    images: int | None,
    batch_size: int,
    seed: int,
    preset: str | None = None,
    more: list[str] | None = None,
    test_images: int | None = None,
) -> tuple[Plan, Dataset, Dataset, Path | None]:
    """The plan, the training and the test data, and the weights to start from."""
    plan = plan_of(
        mode,
        network,
        epochs,
        standard_epochs,
        images,
        batch_size,
        seed,
        started=start is not None,
        preset=preset,
        settings=settings_of(more),
    )
    given_data = TrainingData(data, training, preset=preset)
    taught = given_data.trained(images if mode == "scratch" else None, plan.standard)
    test = given_data.tested(test_images, taught, plan.standard)
    if start is None or mode == "scratch":
        tell_deviations(plan.standard, preset or "noc")
    return plan, taught, test, None if start is None else weights_of(start, network, taught)


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


def distance_study_verb(
    data: options.TESTED,
    output: given.FOLDER,
    benchmark: given.BENCHMARK = "cifar10-c",
    schemes: Annotated[int, option("--schemes")] = 24,
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
    images: IMAGES = 100,
    samples: given.SAMPLES = 1000,
    corruption_samples: CORRUPTION_SAMPLES = 25,
    preset: PRESET = None,
    more: SETTINGS = None,
    seed: options.SEED = 0,
    batch_size: BATCH = 128,
    as_json: Annotated[bool, option("--json")] = False,
) -> None:
    """Repeat the MSD paper's experiment: is a scheme that comes nearer to a corruption better against it?

    Takes schemes of the augmentation powerset (always none, all geometric, all colour and all bases), trains a model
    with each, tests all of them on the benchmark, measures the distance of each scheme to each corruption, and ranks
    both. The same command again resumes where it stopped.
    """
    from brittle.design.studies import run_together, scheme_correlations, scheme_features, scheme_models, scheme_points
    from brittle.distance import corruption_features, feature_images
    from brittle.report.figures import save_figure, study_figure
    from brittle.training.augmentation import some_schemes

    check_counts(samples=samples, corruption_samples=corruption_samples, batch_size=batch_size)
    chosen = some_schemes(schemes, seed=seed)
    recipe = recipe_of(benchmark, corruptions, severities)
    plan, taught, test, weights = options.lesson(
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
        preset=preset,
        more=more,
        test_images=test_images,
    )
    shown = feature_images(taught, images, seed=seed)
    compile_first()
    with resumable_progress() as bar:
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
    if as_json:
        print_json(found)
    else:
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

    from brittle.report.figures.distance import STRONG

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


def mixing_study_verb(
    data: options.TESTED,
    output: given.FOLDER,
    near: Annotated[str, option("--near")] = "impulse_noise",
    far: Annotated[str, option("--far")] = "motion_blur",
    severity: Annotated[float, option("--severity")] = 3.0,
    shares: Annotated[str, option("--shares")] = SHARES,
    no_errors: Annotated[bool, option("--no-errors")] = False,
    benchmark: given.BENCHMARK = "cifar10-c",
    mode: options.MODE = "finetune",
    network: options.NETWORK = "small",
    start: options.START = None,
    epochs: options.EPOCHS = None,
    standard_epochs: options.STANDARD_EPOCHS = None,
    training: options.TRAINING = None,
    training_images: options.TRAINING_IMAGES = None,
    test_images: options.TEST_IMAGES = None,
    images: IMAGES = 100,
    samples: given.SAMPLES = 1000,
    corruption_samples: CORRUPTION_SAMPLES = 100,
    preset: PRESET = None,
    more: SETTINGS = None,
    seed: options.SEED = 0,
    batch_size: BATCH = 128,
    as_json: Annotated[bool, option("--json")] = False,
) -> None:
    """Repeat the MSD paper's Figure 2b: mix the tested corruption into another augmentation, less and less of it.

    MMD, the distance of the means, grows with every step. MSD, the distance of the nearest sample, stays low as long as
    a few samples are left, and in the paper so does the error of the models trained with the mixtures.
    """
    from brittle._io import claim
    from brittle.design.studies import mixing_points, mixture_of, run_together, scheme_features, scheme_models
    from brittle.distance import corruption_features, feature_images
    from brittle.report.figures import mixing_figure, save_figure

    check_counts(samples=samples, corruption_samples=corruption_samples, batch_size=batch_size)
    wanted = split_numbers([shares], "shares")
    first, target = _corruption(benchmark, near, severity)
    second = _other(benchmark, far, severity)
    mixtures = {f"share {share:g}": mixture_of(first, second, share) for share in wanted}
    if len(mixtures) < 2:
        raise BrittleError(f"mixtures are compared, so give two --shares or more, such as {SHARES}; got {shares}")
    plan, taught, test, weights = options.lesson(
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
        preset=preset,
        more=more,
        test_images=test_images,
    )
    shown = feature_images(taught, images, seed=seed)
    # models are named by their shares alone, so those of another mixture would be taken for these
    claim(output / "mixing.json", {"near": near, "far": far, "severity": severity, "recipe": target.hash}, "mixtures")
    compile_first()
    with resumable_progress() as bar:
        told = follow(bar)
        teach = {} if no_errors else mixtures
        models = scheme_models(teach, taught, output / "models", plan, start=weights, progress=told)
        standard = models.pop("standard")
        how: dict[str, Any] = {"folder": output / "features", "batch_size": batch_size}
        cells = corruption_features(standard, shown, target, samples=corruption_samples, **how)
        both = {near: first, far if far != near else f"{far} too": second}
        features = scheme_features(both, standard, shown, samples=samples, seed=seed, progress=told, **how)
        mine, others = features.values()
        points = mixing_points(mine, others, cells, wanted, seed=seed)
        if not no_errors:
            run = run_together(models, test, target, output / "run", batch_size=batch_size, progress=told)
            points = points.with_columns(_errors(run, list(models), target))
    if as_json:
        print_json(points)
    else:
        _mixing_print(points)
    note = f"A share of {near} at severity {severity:g}, the rest {far}; tested on {near}. {samples:,} samples."
    figure = save_figure(mixing_figure(points, note=note), output / "mixing.svg")
    tell_files(save_table(points, output / "mixing.csv"), figure)


def _corruption(benchmark: str, name: str, severity: float) -> tuple[Scheme, Benchmark]:
    """A corruption at one severity as an augmentation of every image, and as a benchmark of its own."""
    from brittle.training import Corrupted

    recipe = recipe_of(benchmark, [name], [str(severity)])
    return Corrupted(recipe, share=1.0), recipe


def _other(benchmark: str, spec: str, severity: float) -> Scheme:
    """A corruption of the benchmark, or else an augmentation by its name."""
    import brittle
    from brittle.training.augmentation import scheme_by_name

    names = {entry.corruption.name for entry in brittle.load_benchmark(benchmark).entries}
    if spec.rpartition("/")[2] in names:
        return _corruption(benchmark, spec, severity)[0]
    return scheme_by_name(spec)


def _errors(run: Results, names: list[str], target: Benchmark) -> pl.Series:
    import polars as pl

    return pl.Series("error", [float(1 - run.matrix(name, target.cells()).values.mean()) for name in names])


def _mixing_print(points: pl.DataFrame) -> None:
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
