"""`brittle distance` and `brittle leak`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from brittle._errors import BrittleError
from brittle.cli import distance as given
from brittle.cli.console import (
    chosen_recipe,
    compile_first,
    console,
    resumable_progress,
    split_commas,
    split_numbers,
    tell_files,
)
from brittle.cli.run import DEVICE, PREPARE, THREADS, load_data, tell_models

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import polars as pl

    from brittle.benchmarks import Benchmark
    from brittle.distance import Distances, Extractor, FeatureImages, LeakCheck
    from brittle.evaluation.results import Results
    from brittle.training.augmentation import Scheme

AUGMENTATIONS = Annotated[
    list[str],
    typer.Option(
        "--augmentation",
        "-a",
        help="`augmix`, `autoaugment-cifar10`, `patch-gaussian`, `FILE.py:FUNCTION` …; may be repeated.",
    ),
]
AUGMENTATION = Annotated[
    str,
    typer.Option(
        "--augmentation", "-a", help="`augmix`, `autoaugment-cifar10`, `patch-gaussian`, `FILE.py:FUNCTION` …"
    ),
]
MODEL = Annotated[
    str, typer.Option("--model", "-m", help="Whose features are compared, as in `brittle run`; a plain one is best.")
]
DATA = Annotated[
    str, typer.Option("--data", "-d", help="`cifar10:FOLDER` …; its training part is taken if it has one.")
]
BENCHMARK = Annotated[str, typer.Option("--benchmark", "-b", help="A recipe: its name or .toml file.")]
FOLDER = Annotated[Path, typer.Option("--output", "-o", help="The folder; an existing one is resumed.")]
CORRUPTIONS = Annotated[
    list[str] | None, typer.Option("--corruption", "-c", metavar="NAME", help="Corruptions to measure, with commas.")
]
SEVERITIES = Annotated[
    list[str] | None,
    typer.Option("--severity", "-s", metavar="S", help="Severities to measure at, instead of the recipe's."),
]
IMAGES = Annotated[int, typer.Option("--images", help="Number of images whose features represent a transform.")]
SAMPLES = Annotated[int, typer.Option("--samples", help="Sampled augmentations of each scheme; the paper: 100,000.")]
CORRUPTION_SAMPLES = Annotated[
    int, typer.Option("--corruption-samples", help="Sampled corruptions of each level; the paper: 100.")
]
TOLERANCE = Annotated[
    float | None,
    typer.Option("--tolerance", help="Fewer samples, if they tell each mean MSD to ± this share, such as 0.05."),
]
SEED = Annotated[int, typer.Option("--seed", help="Seed of the images and of the augmentations.")]
BATCH = Annotated[int, typer.Option("--batch-size", help="Images shown to the model at once.")]


def check_counts(**counts: int | None) -> None:
    """Raise if a number of things that were asked for is below 1, before anything is computed."""
    for name, count in counts.items():
        if count is not None and count < 1:
            raise BrittleError(f"--{name.replace('_', '-')} must be at least 1, got {count}")


@dataclass(frozen=True)
class DistanceInputs:
    """Who looks, at which images, at what."""

    extractor: Extractor
    images: FeatureImages
    benchmark: Benchmark


def scene(
    model: str,
    data: str,
    benchmark: str,
    *,
    corruptions: Sequence[str] | None,
    severities: Sequence[str] | None,
    images: int,
    seed: int,
    device: str,
    prepare: str | None = None,
    threads: int | None = None,
) -> DistanceInputs:
    """Everything that a command line names, or one sentence that says what is wrong."""
    from brittle._parallel import use_threads
    from brittle.distance import feature_images
    from brittle.models import load_model

    recipe = recipe_of(benchmark, corruptions, severities)
    use_threads(threads)
    shown = feature_images(training_part(data, prepare), images, seed=seed)
    looker = load_model(model, device=device)
    tell_models([looker])
    check_features(looker, shown)
    compile_first(entry.corruption for entry in recipe.entries)
    return DistanceInputs(looker, shown, recipe)  # type: ignore[arg-type]  # it shows features


def recipe_of(benchmark: str, corruptions: Sequence[str] | None, severities: Sequence[str] | None) -> Benchmark:
    """The benchmark that is measured to, perhaps cut down."""
    recipe = chosen_recipe(benchmark, split_commas(corruptions), split_numbers(severities, "severities"), None)
    assert recipe is not None
    return recipe


def check_features(model: Any, images: FeatureImages) -> None:
    """Raise if a model shows no features, before anything is computed."""
    from brittle.distance.features import check_extractor

    check_extractor(model).features(images.pixels[:1])


def training_part(data: str, prepare: str | None = None) -> Any:
    """The training images of the data, or all of them if it does not know of any."""
    from brittle.datasets import dataset_options

    return load_data(data, None, prepare, {"train": True} if "train" in dataset_options(data) else {})


def schemes_of(specs: Sequence[str]) -> dict[str, Scheme]:
    """The augmentation schemes of a command line by what they are called there."""
    from brittle.training.augmentation import scheme_by_name

    found = {spec: scheme_by_name(spec) for spec in split_commas(specs)}
    if not found:
        raise BrittleError(f"name at least one augmentation, such as augmix; got {', '.join(map(repr, specs))}")
    return found


def looking(bar: Any) -> Callable[[str, int, int, float], None]:
    """A callback that moves a bar and tells the speed."""
    task = bar.add_task("starting", total=None)

    def told(what: str, done: int, total: int, speed: float) -> None:
        words = f"{what} {speed:,.0f}/s"
        bar.update(task, description=f"{words:<34.34}", completed=done, total=total)

    return told


def tell_speed(speeds: Iterable[tuple[int, float]], images: int) -> None:
    """How many augmentations were looked at, and how fast, if any were: from (number, images per second) of each."""
    new = [(count, speed) for count, speed in speeds if count]
    words = "all features were there already"
    if new:
        computed, seconds = sum(count for count, _ in new), sum(count * images / speed for count, speed in new)
        words = f"{computed:,} augmentations of {images} images at {computed * images / seconds:,.0f} images/s"
    console().print(f"[dim]{words}[/]\n")


def save_table(table: Any, path: Path) -> Path:
    """A table as CSV, whole or not at all."""
    from brittle._io import atomic_write

    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as part:
        table.write_csv(part)
    return path


EXAMPLES = (
    (
        "brittle distance -a augmix -b cifar10-c -m demo:standard -d cifar10:cifar10 -o distance",
        "how near AugMix comes to CIFAR-10-C",
    ),
    (
        "brittle distance -a augmix,patch-gaussian -b cifar10-c -s 3 -m demo:standard -d demo --samples 200 -o quick",
        "two schemes, one severity, bundled data: minutes",
    ),
    (
        "brittle distance -a mine.py:augment -b imagenet-c -m timm:resnet50 -d imagenet:val/ --tolerance 0.05 -o mine",
        "your own augmentation, until MSD is known to 5 %",
    ),
)


def distance_verb(
    augmentations: given.AUGMENTATIONS,
    benchmark: given.BENCHMARK,
    model: given.MODEL,
    data: given.DATA,
    output: given.FOLDER,
    corruptions: given.CORRUPTIONS = None,
    severities: given.SEVERITIES = None,
    images: given.IMAGES = 100,
    samples: given.SAMPLES = 1000,
    corruption_samples: given.CORRUPTION_SAMPLES = 25,
    tolerance: given.TOLERANCE = None,
    seed: given.SEED = 0,
    batch_size: given.BATCH = 200,
    prepare: PREPARE = None,
    threads: THREADS = None,
    device: DEVICE = "auto",
) -> None:
    """Measure how near augmentations come to each corruption of a benchmark, as a network sees them.

    MSD is the distance from the mean corruption to the nearest sampled augmentation, MMD that of the two means. The
    folder gets tables, figures, a picture of the nearest augmentations, and all features, so that the same command goes
    on after an interruption, and more samples add to those there are.
    """
    from brittle.distance import corruption_features, distances_until
    from brittle.distance.measures import check_tolerance
    from brittle.report.figures import convergence_figure, distance_figure, save_figure

    given.check_counts(samples=samples, corruption_samples=corruption_samples, batch_size=batch_size)
    check_tolerance(tolerance)
    schemes, features = schemes_of(augmentations), output / "features"
    cut = {"corruptions": corruptions, "severities": severities}
    how = {"images": images, "seed": seed, "device": device, "prepare": prepare, "threads": threads}
    seen = scene(model, data, benchmark, **cut, **how)  # type: ignore[arg-type]
    with resumable_progress() as bar:
        told = looking(bar)
        cells = corruption_features(
            seen.extractor,
            seen.images,
            seen.benchmark,
            samples=corruption_samples,
            folder=features,
            batch_size=batch_size,
            progress=partial(told, "corruptions"),
        )
        looked = distances_until(
            seen.extractor,
            seen.images,
            schemes,
            cells,
            samples=samples,
            tolerance=tolerance,
            seed=seed,
            folder=features,
            batch_size=batch_size,
            progress=told,
        )
    found = {name: one.distances for name, one in looked.items()}
    for one in found.values():
        _print(one)
    console().print(
        "[dim]clean: the distance of the clean images; covered: the share of it that the nearest augmentation goes[/]"
    )
    tell_speed([(one.computed, one.images_per_second) for one in looked.values()], len(seen.images))
    _write(list(found.values()), output)
    title = f"How near augmentations come to {seen.benchmark.name}"
    figures = [
        save_figure(distance_figure(list(found.values()), title=title), output / "msd.svg"),
        save_figure(convergence_figure(list(found.values())), output / "convergence.svg"),
    ]
    tell_files(output / "distances.csv", output / "levels.csv", *figures)
    tell_files(_nearest(seen, schemes, found, seed, output / "nearest.png"))


def _write(found: Sequence[Distances], output: Path) -> None:
    import polars as pl

    save_table(pl.concat([one.by_corruption() for one in found]), output / "distances.csv")
    save_table(pl.concat([one.table() for one in found]), output / "levels.csv")


def _print(found: Distances) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from brittle.distance import covered

    table = Table(
        title=f"{found.augmentation}, {found.samples:,} samples",
        title_justify="left",
        title_style="bold",
        box=SIMPLE_HEAD,
        pad_edge=False,
    )
    table.add_column("corruption", overflow="fold")
    for name in ("clean", "MSD", "95 %", "MMD", "95 %"):
        table.add_column(name, justify="right", no_wrap=True, style="dim" if name in ("clean", "95 %") else "")
    table.add_column("covered", justify="right", no_wrap=True)
    for row in [
        *found.by_corruption().iter_rows(named=True),
        {"corruption": "mean", **found.mean().row(0, named=True)},
    ]:
        table.add_row(
            row["corruption"].rpartition("/")[2],
            f"{row['clean']:.2f}",
            f"{row['msd']:.2f}",
            f"{row['msd_low']:.2f}–{row['msd_high']:.2f}",
            f"{row['mmd']:.2f}",
            f"{row['mmd_low']:.2f}–{row['mmd_high']:.2f}",
            f"{100 * covered(row['msd'], row['clean']):.0f} %",
            style="bold" if row["corruption"] == "mean" else "",
        )
    console().print(table)


def _nearest(
    seen: DistanceInputs, schemes: Mapping[str, Scheme], found: Mapping[str, Distances], seed: int, path: Path
) -> Path:
    from brittle.cli.console import save_picture
    from brittle.report.nearest import nearest_rows, nearest_sheet

    image = seen.images.pixels[0]
    rows = nearest_rows(image, seen.benchmark, schemes, found, seed=seed)
    note = "One picture, each corruption at its middle level; numbers are distances to the mean corruption."
    save_picture(nearest_sheet(image, rows, note=note), path)
    return path


LEAK_EXAMPLES = (
    (
        "brittle leak -a augmix -b cifar10-c -m demo:standard -d cifar10:cifar10 -o leak",
        "does AugMix train on CIFAR-10-C?",
    ),
    (
        "brittle leak -a augmix -b cifar10-c -m demo:standard -d cifar10:cifar10 --results run -o leak",
        "and what the scores of a run are without what leaked",
    ),
)


def leak_verb(
    augmentation: given.AUGMENTATION,
    benchmark: given.BENCHMARK,
    model: given.MODEL,
    data: given.DATA,
    output: given.FOLDER,
    results: Annotated[
        Path | None, typer.Option("--results", metavar="RUN", help="A run, scored with and without what leaked.")
    ] = None,
    neutral: Annotated[
        list[str] | None,
        typer.Option(
            "--neutral", help="Reference augmentations, which are known not to leak.", show_default="flip-crop,affine"
        ),
    ] = None,
    margin: Annotated[float, typer.Option("--margin", help="Leaked if not this times as far as a neutral one.")] = 0.5,
    alpha: Annotated[float, typer.Option("--alpha", help="Family-wise false-positive rate of the test.")] = 0.05,
    corruptions: given.CORRUPTIONS = None,
    severities: given.SEVERITIES = None,
    images: given.IMAGES = 100,
    samples: given.SAMPLES = 1000,
    corruption_samples: given.CORRUPTION_SAMPLES = 25,
    seed: given.SEED = 0,
    batch_size: given.BATCH = 200,
    prepare: PREPARE = None,
    threads: THREADS = None,
    device: DEVICE = "auto",
) -> None:
    """Tell which corruptions of a benchmark a training augmentation gives away.

    A corruption is leaked if the nearest sampled augmentation comes much nearer to it than flips, crops and small turns
    ever do. A score on it then says little about corruptions that nobody foresaw. The folder gets a table, a figure and
    the features, so that the same command resumes after an interruption.
    """
    import brittle
    from brittle._io import file_name
    from brittle.distance import NEUTRAL, corruption_features, leak_check, transform_features
    from brittle.distance.leakage import check_leak_options
    from brittle.report.figures import leak_figure, save_figure

    given.check_counts(samples=samples, corruption_samples=corruption_samples, batch_size=batch_size)
    check_leak_options(samples, margin=margin, alpha=alpha)
    [(name, scheme), *more] = schemes_of([augmentation]).items()
    if more:
        raise BrittleError(f"the leak check takes one augmentation at a time, got {augmentation}")
    references = dict(NEUTRAL) if neutral is None else schemes_of(neutral)
    if name in references:
        raise BrittleError(f"{name!r} is itself a neutral augmentation; compare it with others by --neutral")
    run = None if results is None else brittle.load_results(results)
    cut = {"corruptions": corruptions, "severities": severities}
    how = {"images": images, "seed": seed, "device": device, "prepare": prepare, "threads": threads}
    seen = scene(model, data, benchmark, **cut, **how)  # type: ignore[arg-type]
    if run is not None:
        _check_run(run, seen.benchmark)
    rows = {}
    with resumable_progress() as bar:
        told = looking(bar)
        cells = corruption_features(
            seen.extractor,
            seen.images,
            seen.benchmark,
            samples=corruption_samples,
            folder=output / "features",
            batch_size=batch_size,
            progress=partial(told, "corruptions"),
        )
        for each, one in {name: scheme, **references}.items():
            rows[each] = transform_features(
                seen.extractor,
                seen.images,
                one,
                samples=samples,
                seed=seed,
                folder=output / "features",
                batch_size=batch_size,
                progress=partial(told, each),
            )
    found = leak_check(rows[name], {each: rows[each] for each in references}, cells, margin=margin, alpha=alpha)
    _leak_print(found, name)
    tell_speed([(one.computed, one.images_per_second) for one in rows.values()], len(seen.images))
    plain = file_name(name)
    files = [save_table(found.table(), output / f"leak-{plain}.csv")]
    if run is not None:
        files.append(save_table(_scores(run, seen.benchmark, found.leaked), output / f"scores-{plain}.csv"))
    title = f"Does {name} leak {seen.benchmark.name}?"
    tell_files(*files, save_figure(leak_figure(found, title=title), output / f"leak-{plain}.svg"))


def _leak_print(found: LeakCheck, name: str) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("corruption", overflow="fold")
    for heading in ("MSD", "neutral", "covered", "p"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("")
    for one in sorted(found.leaks, key=lambda leak: -leak.covered):
        words = "[red]leaked[/]" if one.leaked else "nearer" if one.nearer else ""
        p = "< 0.001" if one.p_leaked < 0.001 else f"{one.p_leaked:.3f}"
        covered = f"{100 * one.covered:.0f} %"
        plain = one.corruption.rpartition("/")[2]
        table.add_row(plain, f"{one.msd:.2f}", f"{one.reference_msd:.2f}", covered, p, words)
    console().print(table)
    words = f"[bold]{name} leaks {len(found.leaked)} of {len(found.leaks)} corruptions[/]"
    if found.leaked:
        words += f": {', '.join(each.rpartition('/')[2] for each in found.leaked)}"
    console().print(words)
    console().print(
        f"[dim]leaked: not {found.margin:g} × as far as the nearest neutral augmentation; p is for that, corrected for "
        f"{len(found.leaks)} corruptions. nearer: nearer than it, if only a little.[/]"
    )


def _check_run(run: Results, benchmark: Benchmark) -> None:

    if not run.models_with(benchmark.cells()):
        raise BrittleError(f"no model of the run has results on all of {benchmark.name!r}; run it through that first")


def _scores(run: Results, benchmark: Benchmark, leaked: list[str]) -> pl.DataFrame:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from brittle.distance import leak_scores

    found = leak_scores(run, benchmark, leaked)
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("model", overflow="fold")
    table.add_column("corruptions")
    for heading in ("", "mean accuracy", "95 %"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in found.iter_rows(named=True):
        value, low, high = (100 * row[key] for key in ("mean_accuracy", "low", "high"))
        table.add_row(row["model"], row["corruptions"], str(row["count"]), f"{value:.1f} %", f"{low:.1f}–{high:.1f}")
    console().print(table)
    return found
