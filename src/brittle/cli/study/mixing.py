"""`brittle study mixing`: what MSD and MMD say about an augmentation that does the right thing only now and then."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from brittle.cli import distance_options as given
from brittle.cli.console import console, say_if_compiling
from brittle.cli.distance_plan import recipe_of, save_table
from brittle.cli.long_work import long_work
from brittle.cli.matrix import tell_files
from brittle.cli.run import follow, load_data
from brittle.cli.several import several_numbers
from brittle.cli.study import options

if TYPE_CHECKING:
    import polars as pl

    from brittle.benchmarks import Benchmark
    from brittle.evaluation import Results
    from brittle.training.augmentation import Scheme

EXAMPLES = (
    (
        "brittle study mixing -d cifar10:cifar10 --start demo:standard -o mixing",
        "impulse noise, mixed with motion blur, as in the paper",
    ),
    (
        "brittle study mixing -d cifar10:cifar10 --start demo:standard --near fog --far none --no-errors -o fog",
        "fog among clean images; distances alone, no training",
    ),
)

SHARES = "1,0.75,0.5,0.25,0.1,0.05,0.01,0"


def mixing_study_verb(
    data: options.TESTED,
    output: given.FOLDER,
    near: Annotated[str, typer.Option("--near", help="The corruption that is tested, and mixed in.")] = "impulse_noise",
    far: Annotated[
        str, typer.Option("--far", help="The rest: a corruption, or an augmentation such as `none`.")
    ] = "motion_blur",
    severity: Annotated[float, typer.Option("--severity", "-s", help="Of both corruptions.")] = 3.0,
    shares: Annotated[str, typer.Option("--shares", help="Of the first in the mixture, with commas.")] = SHARES,
    errors: Annotated[
        bool, typer.Option("--errors/--no-errors", help="Train a model with each mixture and test it.")
    ] = True,
    benchmark: given.BENCHMARK = "cifar10-c",
    mode: options.MODE = "finetune",
    network: options.NETWORK = "small",
    start: options.START = None,
    epochs: options.EPOCHS = None,
    standard_epochs: options.STANDARD_EPOCHS = None,
    training: options.TRAINING = None,
    training_images: options.TRAINING_IMAGES = None,
    test_images: options.TEST_IMAGES = None,
    images: given.IMAGES = 100,
    samples: given.SAMPLES = 1000,
    corruption_samples: given.CORRUPTION_SAMPLES = 100,
    seed: options.SEED = 0,
    batch_size: given.BATCH = 128,
) -> None:
    """Repeat the MSD paper's Figure 2b: mix the tested corruption into another augmentation, less and less of it.

    MMD, the distance of the means, grows with every step. MSD, the distance of the nearest sample, stays low as long as
    a few samples are left, and in the paper so does the error of the models trained with the mixtures.
    """
    from brittle.design.claim import claim
    from brittle.design.mixing import mixing_points, mixture_of
    from brittle.design.scheme_models import scheme_models
    from brittle.design.scheme_study import run_together, scheme_features
    from brittle.distance import corruption_features, feature_images
    from brittle.report.figures import mixing_figure, save_figure

    given.check_counts(samples=samples, corruption_samples=corruption_samples, batch_size=batch_size)
    wanted = several_numbers([shares], "shares")
    first, target = _corruption(benchmark, near, severity)
    second = _other(benchmark, far, severity)
    mixtures = {f"share {share:g}": mixture_of(first, second, share) for share in wanted}
    if len(mixtures) < 2:
        raise ValueError(f"mixtures are compared, so give two --shares or more, such as {SHARES}; got {shares}")
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
    # models are named by their shares alone, so those of another mixture would be taken for these
    claim(output / "mixing.json", {"near": near, "far": far, "severity": severity, "recipe": target.hash}, "mixtures")
    say_if_compiling()
    with long_work() as bar:
        told = follow(bar)
        teach = mixtures if errors else {}
        models = scheme_models(teach, taught, output / "models", plan, start=weights, progress=told)
        standard = models.pop("standard")
        how: dict[str, Any] = {"folder": output / "features", "batch_size": batch_size}
        cells = corruption_features(standard, shown, target, samples=corruption_samples, **how)
        both = {near: first, far if far != near else f"{far} too": second}
        features = scheme_features(both, standard, shown, samples=samples, seed=seed, progress=told, **how)
        mine, others = features.values()
        points = mixing_points(mine, others, cells, wanted, seed=seed)
        if errors:
            run = run_together(models, test, target, output / "run", batch_size=batch_size, progress=told)
            points = points.with_columns(_errors(run, list(models), target))
    _print(points)
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

    names = {entry.corruption.name for entry in brittle.benchmark(benchmark).entries}
    if spec.rpartition("/")[2] in names:
        return _corruption(benchmark, spec, severity)[0]
    return scheme_by_name(spec)


def _errors(run: Results, names: list[str], target: Benchmark) -> pl.Series:
    import polars as pl

    from brittle.evaluation.scores import cells_of

    return pl.Series("error", [float(1 - run.matrix(name, cells_of(target)).values.mean()) for name in names])


def _print(points: pl.DataFrame) -> None:
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
