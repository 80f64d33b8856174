"""`brittle design build dissimilar`: the corruptions farthest from a benchmark, equally hard."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from brittle.cli.console import (
    FIGURE,
    check_ending,
    compile_first,
    console,
    figure_path,
    print_json,
    resumable_progress,
    tell_files,
)
from brittle.cli.design.build import NAME
from brittle.cli.inputs import (
    BATCH,
    CORRUPTION_SAMPLES,
    DATA,
    DEVICE,
    FEATURE_IMAGES,
    SEED,
    follow,
    load_data,
    load_training,
    save_table,
    tell_models,
)
from brittle.cli.options import option
from brittle.cli.styles import BOLD, DIM, END, YELLOW

if TYPE_CHECKING:
    from brittle.benchmarks import Benchmark
    from brittle.design.dissimilarity import Dissimilar

DISSIMILAR = (
    (
        "brittle design build dissimilar --candidates cifar10-c-bar-candidates --away-from cifar10-c -m demo:standard "
        "-d cifar10:cifar10 -o far.toml",
        "C-bar once more",
    ),
    (
        "brittle design build dissimilar --candidates cifar10-c-bar-candidates --away-from cifar10-c -m demo:standard "
        "--feature-model demo:augmix -d demo --train-data cifar10:cifar10 -o two.toml",
        "one network for errors, another for features, as in the paper; your own feature images",
    ),
    (
        "brittle design build dissimilar --candidates mine.toml --away-from cifar10-c -m demo:standard -d demo "
        "--members 4 --repeats 3 -o far.toml",
        "four of your own candidates, three runs",
    ),
)

PUBLISHED = {"cifar10-c-bar-candidates": "cifar10-c-bar", "imagenet-c-bar-candidates": "imagenet-c-bar"}


def dissimilar_verb(
    candidates: Annotated[str, option("--candidates")],
    away_from: Annotated[str, option("--away-from")],
    models: Annotated[list[str], option("--model")],
    data: DATA,
    output: Annotated[Path, option("--output", help="The recipe, a .toml file.")],
    members: Annotated[int, option("--members")] = 10,
    repeats: Annotated[
        int | None,
        option("--repeats", show_default="1 a model"),
    ] = None,
    feature_models: Annotated[list[str] | None, option("--feature-model", show_default="the models")] = None,
    train_data: Annotated[str | None, option("--train-data", show_default="the training part of the data")] = None,
    limit: Annotated[int | None, option("--limit")] = None,
    feature_images: FEATURE_IMAGES = 100,
    corruption_samples: CORRUPTION_SAMPLES = 10,
    draw_per_image: Annotated[bool, option("--draw-per-image")] = False,
    datasets: Annotated[int, option("--datasets")] = 100_000,
    error_tolerance: Annotated[float, option("--error-tolerance")] = 0.01,
    name: NAME = None,
    seed: SEED = 0,
    batch_size: BATCH = 128,
    device: DEVICE = "auto",
    figure: FIGURE = None,
    as_json: Annotated[bool, option("--json")] = False,
) -> None:
    """Build the benchmark that is farthest from another one and equally hard, as C-bar was made.

    The command measures error and distance of every candidate, samples data sets of k candidates with the mean error of
    the benchmark, and takes the k candidates that move such data sets farthest away. Errors and features are saved
    beside the recipe, so the same command resumes after an interruption; only calibrations are repeated.
    """
    import brittle
    from brittle.datasets import has_training_part
    from brittle.design import check_search, dissimilar, dissimilar_benchmark, repeated_images, scan_runs
    from brittle.evaluation import image_shape
    from brittle.models import load_models
    from brittle.plots import plot_dissimilar, save_figure

    check_ending(output, "a recipe", ".toml")
    picture = figure_path(figure, output)
    recipe, baseline = brittle.load_benchmark(candidates), brittle.load_benchmark(away_from)
    check_search(
        recipe,
        members,
        error_tolerance,
        repeats=repeats,
        datasets=datasets,
        corruption_samples=corruption_samples,
        batch_size=batch_size,
    )
    loaded, extractors = load_models(models, device=device), load_models(feature_models or [], device=device)
    tell_models([*loaded, *extractors])
    test, training = load_data(data, limit=limit), load_training(data, train_data, labelled=False)
    if train_data is None and not has_training_part(data):
        console().print(
            f"{DIM}{training.name} has no training part: features are those of test images (--train-data){END}"
        )
    images = repeated_images(
        loaded, training, feature_models=extractors, feature_images=feature_images, repeats=repeats, seed=seed
    )
    compile_first()
    with resumable_progress() as bar:
        scanned = scan_runs(
            loaded,
            test,
            images,
            recipe,
            baseline,
            output.with_suffix(".scan"),
            corruption_samples=corruption_samples,
            feature_models=extractors,
            draw_per_image=draw_per_image,
            batch_size=batch_size,
            progress=follow(bar),
        )
        bar.add_task("sampling data sets", total=None)
        farthest = dissimilar(
            scanned.runs,
            scanned.target_error,
            spread=scanned.spread,
            k=members,
            datasets=datasets,
            tolerance=error_tolerance,
            seed=seed,
        )
    published = _published(recipe)
    if as_json:
        print_json(farthest.table())
    else:
        _print(farthest, published, baseline.name)
    side = max(image_shape(test)[:2])
    output.parent.mkdir(parents=True, exist_ok=True)
    dissimilar_benchmark(
        farthest, scanned.candidates, name=name or output.stem, away_from=baseline.name, image_size=side
    ).save(output)
    drawn = plot_dissimilar(farthest, published=published)
    tell_files(output, save_table(farthest.table(), output.with_suffix(".csv")), save_figure(drawn, picture))


def _published(candidates: Benchmark) -> set[str]:
    import brittle

    known = PUBLISHED.get(candidates.name)
    return set() if known is None else {entry.id for entry in brittle.load_benchmark(known).entries}


def _print(farthest: Dissimilar, published: set[str], baseline: str) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("candidate", overflow="fold")
    table.add_column("shift", justify="right", no_wrap=True)
    table.add_column("levels", no_wrap=True)
    table.add_column("published" if published else "")
    for row in farthest.table().drop_nulls("shift").iter_rows(named=True):
        mark = "yes" if row["candidate"] in published else ""
        levels = (row["levels"] or "").replace(" ", "  ")
        table.add_row(
            row["candidate"].rpartition("/")[2],
            f"{row['shift']:.2f}".replace("-", "−"),
            levels,
            mark,
            style="bold" if row["picked"] else "dim",
        )
    console().print(table)
    if farthest.unfit:
        unfit = ", ".join(name.rpartition("/")[2] for name in farthest.unfit)
        console().print(f"{YELLOW}left out, at none of its levels as hard as is needed:{END} {unfit}")
    errors = f"mean error {100 * farthest.error:.2f} %, that of {baseline} is {100 * farthest.target:.2f} %"
    console().print(f"{BOLD}{len(farthest.picked)} of {len(farthest.candidates)} candidates{END}, {errors}")
    if published:
        same = len(published & set(farthest.picked))
        console().print(f"{BOLD}{same} of the {len(published)} published ones are among them{END}")
    console().print()
