"""`brittle design build dissimilar`: the corruptions farthest from a benchmark, equally hard."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from brittle._errors import BrittleError
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
    IMAGES,
    SEED,
    check_counts,
    check_features,
    follow,
    load_data,
    save_table,
    training_part,
)
from brittle.cli.options import option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from brittle.benchmarks import Benchmark
    from brittle.design.dissimilarity import Dissimilar
    from brittle.distance import FeatureImages

DISSIMILAR = (
    (
        "brittle design build dissimilar --candidates cifar10-c-bar-candidates --away-from cifar10-c -m demo:standard "
        "-d cifar10:cifar10 -o my.toml",
        "C-bar once more",
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
    benchmark: Annotated[str, option("--away-from")],
    models: Annotated[list[str], option("--model")],
    data: DATA,
    output: Annotated[Path, option("--output", help="The recipe, a .toml file.")],
    k: Annotated[int, option("--members")] = 10,
    runs: Annotated[
        int | None,
        option("--repeats", show_default="1 a model"),
    ] = None,
    limit: Annotated[int | None, option("--limit")] = None,
    images: IMAGES = 100,
    corruption_samples: CORRUPTION_SAMPLES = 10,
    datasets: Annotated[int, option("--datasets")] = 100_000,
    tolerance: Annotated[float, option("--error-tolerance")] = 0.01,
    name: NAME = None,
    seed: SEED = 0,
    batch_size: BATCH = 128,
    device: DEVICE = "auto",
    figure: FIGURE = None,
    as_json: Annotated[bool, option("--json")] = False,
) -> None:
    """Build the benchmark that is farthest from another one and equally hard: how C-bar was made.

    Scans every candidate for its error and its distance, samples data sets of k candidates whose mean error is the
    benchmark's, and takes the k that move such data sets farthest away. Errors and features are kept beside the recipe,
    so the same command resumes after an interruption; only calibrations are made again.
    """
    import brittle
    from brittle.design.dissimilarity import dissimilar
    from brittle.design.scanning import scan_runs
    from brittle.evaluation.inputs import image_shape
    from brittle.models import load_model
    from brittle.plots import plot_dissimilar, save_figure

    check_ending(output, "a recipe", ".toml")
    picture = figure_path(figure, output)
    baseline, listed = brittle.load_benchmark(benchmark), brittle.load_benchmark(candidates)
    _check(listed, k, tolerance)
    check_counts(runs=runs, datasets=datasets, corruption_samples=corruption_samples, batch_size=batch_size)
    loaded = [load_model(spec, device=device) for spec in models]
    count = len(loaded) if runs is None else runs
    if count < len(loaded):
        raise BrittleError(f"--repeats {runs} leaves out some of {len(loaded)} models; give at least one run a model")
    test = load_data(data, limit, None, {})
    shown = _images(loaded, training_part(data), images, count, seed)
    compile_first()
    with resumable_progress() as bar:
        scanned = scan_runs(
            loaded,
            test,
            shown,
            listed,
            baseline,
            output.with_suffix(".scan"),
            samples=corruption_samples,
            batch_size=batch_size,
            progress=follow(bar),
        )
        bar.add_task("sampling data sets", total=None)
        found = dissimilar(
            scanned.runs,
            scanned.target_error,
            spread=scanned.spread,
            k=k,
            datasets=datasets,
            tolerance=tolerance,
            seed=seed,
        )
    published = _published(listed)
    if as_json:
        print_json(found.table())
    else:
        _print(found, published, baseline.name)
    recipe = _recipe(found, scanned.candidates, name or output.stem, baseline.name, max(image_shape(test)[:2]))
    output.parent.mkdir(parents=True, exist_ok=True)
    recipe.save(output)
    drawn = plot_dissimilar(found, published=published)
    tell_files(output, save_table(found.table(), output.with_suffix(".csv")), save_figure(drawn, picture))


def _check(candidates: Benchmark, k: int, tolerance: float) -> None:
    """Raise if such data sets cannot be sampled, before anything is measured."""
    from brittle.design.dissimilarity import check_k

    if k > len(candidates.entries):
        raise BrittleError(
            f"{candidates.name!r} has {len(candidates.entries)} candidates, so k is at most that; got {k}"
        )
    check_k(k, len(candidates.entries))
    if not 0 < tolerance < 1:
        raise BrittleError(
            f"--error-tolerance is a share of the target error between 0 and 1, such as 0.01; got {tolerance}"
        )


def _images(models: Sequence[Any], pictures: Any, images: int, runs: int, seed: int) -> list[FeatureImages]:
    """What each run is looked at through, once it is sure that every model shows features and has its own name."""
    from brittle.distance import feature_images

    names = [model.name for model in models]
    for name in names:
        if names.count(name) > 1:
            raise BrittleError(f"two models are called {name!r}, and errors are kept by names; rename one of the files")
    shown = [feature_images(pictures, images, seed=seed + run) for run in range(runs)]
    for model in models:
        check_features(model, shown[0])
    return shown


def _published(candidates: Benchmark) -> set[str]:
    import brittle

    known = PUBLISHED.get(candidates.name)
    return set() if known is None else {entry.id for entry in brittle.load_benchmark(known).entries}


def _recipe(found: Dissimilar, candidates: Benchmark, name: str, baseline: str, side: int) -> Benchmark:
    entries = tuple(replace(candidates.entry(each), levels=levels) for each, levels in found.picked.items())
    return replace(
        candidates,
        name=name,
        entries=entries,
        version=1,
        title=f"{len(entries)} corruptions far from {baseline}, {100 * found.error:.1f} % mean error",
        source="built by brittle: the construction of C-bar (Mintun, Kirillov & Xie, NeurIPS 2021)",
        image_size=side,
    )


def _print(found: Dissimilar, published: set[str], baseline: str) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("candidate", overflow="fold")
    table.add_column("shift", justify="right", no_wrap=True)
    table.add_column("levels", no_wrap=True)
    table.add_column("published" if published else "")
    for row in found.table().drop_nulls("shift").iter_rows(named=True):
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
    if found.unfit:
        lost = ", ".join(name.rpartition("/")[2] for name in found.unfit)
        console().print(f"[yellow]left out, at none of its levels as hard as is needed:[/] {lost}")
    words = f"mean error {100 * found.error:.2f} %, that of {baseline} is {100 * found.target:.2f} %"
    console().print(f"[bold]{len(found.picked)} of {len(found.candidates)} candidates[/], {words}")
    if published:
        same = len(published & set(found.picked))
        console().print(f"[bold]{same} of the {len(published)} published ones came out[/]")
    console().print()
