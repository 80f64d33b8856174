"""`brittle augment distance` and `brittle augment leak`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from brittle._errors import BrittleError
from brittle.cli.augment import distance as given
from brittle.cli.console import (
    chosen_recipe,
    compile_first,
    console,
    print_json,
    resumable_progress,
    split_commas,
    split_numbers,
    tell_files,
)
from brittle.cli.inputs import (
    BATCH,
    CORRUPTION_SAMPLES,
    DEVICE,
    IMAGES,
    PREPARE,
    SEED,
    THREADS,
    check_counts,
    check_features,
    save_table,
    tell_models,
    training_part,
)
from brittle.cli.options import option

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import polars as pl

    from brittle.benchmarks import Benchmark
    from brittle.distance import Distances, Extractor, FeatureImages, LeakCheck
    from brittle.evaluation.results import Results
    from brittle.training.augmentation import Scheme

AUGMENTATIONS = Annotated[
    list[str],
    option("--augmentation"),
]
AUGMENTATION = Annotated[
    str,
    option("--augmentation"),
]
MODEL = Annotated[str, option("--model")]
DATA = Annotated[str, option("--data")]
BENCHMARK = Annotated[str, option("--benchmark")]
FOLDER = Annotated[Path, option("--output", help="The folder; an existing one is resumed.")]
CORRUPTIONS = Annotated[list[str] | None, option("--corruption")]
SEVERITIES = Annotated[
    list[str] | None,
    option("--severity"),
]
SAMPLES = Annotated[int, option("--samples")]
TOLERANCE = Annotated[
    float | None,
    option("--msd-precision"),
]


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


EXAMPLES = (
    (
        "brittle augment distance -a augmix -b cifar10-c -m demo:standard -d cifar10:cifar10 -o distance",
        "how near AugMix comes to CIFAR-10-C",
    ),
    (
        "brittle augment distance -a augmix,patch-gaussian -b cifar10-c -s 3 -m demo:standard -d demo --samples 200 "
        "-o quick",
        "two schemes, one severity, bundled data: minutes",
    ),
    (
        "brittle augment distance -a mine.py:augment -b imagenet-c -m timm:resnet50 -d imagenet:val/ "
        "--msd-precision 0.05 -o mine",
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
    images: IMAGES = 100,
    samples: given.SAMPLES = 1000,
    corruption_samples: CORRUPTION_SAMPLES = 25,
    tolerance: given.TOLERANCE = None,
    seed: SEED = 0,
    batch_size: BATCH = 200,
    prepare: PREPARE = None,
    threads: THREADS = None,
    device: DEVICE = "auto",
    as_json: Annotated[bool, option("--json")] = False,
) -> None:
    """Measure how near augmentations come to each corruption of a benchmark, as a network sees them.

    MSD is the distance from the mean corruption to the nearest sampled augmentation, MMD that of the two means. The
    folder gets tables, figures, a picture of the nearest augmentations, and all features, so that the same command goes
    on after an interruption, and more samples add to those there are.
    """
    from brittle.distance import corruption_features, distances_until
    from brittle.distance.measures import check_tolerance
    from brittle.report.figures import convergence_figure, distance_figure, save_figure

    check_counts(samples=samples, corruption_samples=corruption_samples, batch_size=batch_size)
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
    if as_json:
        print_json([row for one in found.values() for row in one.by_corruption().to_dicts()])
    for one in () if as_json else found.values():
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
    from brittle.report import nearest_rows, nearest_sheet

    image = seen.images.pixels[0]
    rows = nearest_rows(image, seen.benchmark, schemes, found, seed=seed)
    note = "One picture, each corruption at its middle level; numbers are distances to the mean corruption."
    save_picture(nearest_sheet(image, rows, note=note), path)
    return path


LEAK_EXAMPLES = (
    (
        "brittle augment leak -a augmix -b cifar10-c -m demo:standard -d cifar10:cifar10 -o leak",
        "does AugMix train on CIFAR-10-C?",
    ),
    (
        "brittle augment leak -a augmix -b cifar10-c -m demo:standard -d cifar10:cifar10 --results run -o leak",
        "and what the scores of a run are without what leaked",
    ),
)


def leak_verb(
    augmentation: given.AUGMENTATION,
    benchmark: given.BENCHMARK,
    model: given.MODEL,
    data: given.DATA,
    output: given.FOLDER,
    results: Annotated[Path | None, option("--results")] = None,
    neutral: Annotated[
        list[str] | None,
        option("--neutral", show_default="flip-crop,affine"),
    ] = None,
    margin: Annotated[float, option("--margin")] = 0.5,
    alpha: Annotated[float, option("--alpha")] = 0.05,
    corruptions: given.CORRUPTIONS = None,
    severities: given.SEVERITIES = None,
    images: IMAGES = 100,
    samples: given.SAMPLES = 1000,
    corruption_samples: CORRUPTION_SAMPLES = 25,
    seed: SEED = 0,
    batch_size: BATCH = 200,
    prepare: PREPARE = None,
    threads: THREADS = None,
    device: DEVICE = "auto",
    as_json: Annotated[bool, option("--json")] = False,
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

    check_counts(samples=samples, corruption_samples=corruption_samples, batch_size=batch_size)
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
    if as_json:
        print_json(found.table())
    else:
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
