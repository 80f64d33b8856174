"""`brittle augment distance` and `brittle augment leak`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from brittle._errors import BrittleError
from brittle.cli.augment.inputs import (
    FOLDER,
    JSON,
    DistanceInputs,
    DistanceOptions,
    follow_features,
    load_schemes,
    print_speed,
)
from brittle.cli.console import console, print_json, resumable_progress, tell_files
from brittle.cli.inputs import save_table
from brittle.cli.options import option, with_groups
from brittle.cli.styles import BOLD, DIM, END, RED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from brittle.benchmarks import Benchmark
    from brittle.distance import Distances, LeakCheck
    from brittle.evaluation import Results
    from brittle.training.augmentation import Scheme

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


@with_groups
def distance_verb(
    augmentations: Annotated[list[str], option("--augmentation")],
    inputs: DistanceOptions,
    output: FOLDER,
    msd_precision: Annotated[float | None, option("--msd-precision")] = None,
    as_json: JSON = False,
) -> None:
    """Measure the distance of augmentations to each corruption of a benchmark, in the features of a network.

    MSD is the distance from the mean corruption to the nearest sampled augmentation, MMD that of the two means. The
    folder gets tables, figures, a picture of the nearest augmentations, and all features, so the same command resumes
    after an interruption, and more samples extend the existing ones.
    """
    from brittle.plots import check_figure, plot_convergence, plot_distance, save_figure

    check_figure(output / "msd.svg")
    from brittle.distance import measure_distances

    schemes = load_schemes(augmentations)
    loaded = inputs.load()
    with resumable_progress() as bar:
        measured = measure_distances(
            loaded.extractor,
            loaded.images,
            schemes,
            loaded.benchmark,
            msd_precision=msd_precision,
            folder=output / "features",
            progress=follow_features(bar),
            **inputs.sampling(),
        )
    distances = {name: scheme.distances for name, scheme in measured.items()}
    if as_json:
        print_json([row for scheme in distances.values() for row in scheme.by_corruption().to_dicts()])
    else:
        for scheme in distances.values():
            _print(scheme)
        console().print(
            f"{DIM}clean: the distance of the clean images; covered: the share of it that the nearest augmentation "
            f"goes{END}"
        )
    print_speed([(scheme.computed, scheme.images_per_second) for scheme in measured.values()], len(loaded.images))
    _write(list(distances.values()), output)
    figures = [
        save_figure(plot_distance(list(distances.values())), output / "msd.svg"),
        save_figure(plot_convergence(list(distances.values())), output / "convergence.svg"),
    ]
    tell_files(output / "distances.csv", output / "levels.csv", *figures)
    tell_files(_nearest(loaded, schemes, distances, inputs.seed, output / "nearest.png"))


def _write(distances: Sequence[Distances], output: Path) -> None:
    import polars as pl

    save_table(pl.concat([scheme.by_corruption() for scheme in distances]), output / "distances.csv")
    save_table(pl.concat([scheme.table() for scheme in distances]), output / "levels.csv")


def _print(distances: Distances) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from brittle.distance import covered

    table = Table(
        title=f"{distances.augmentation}, {distances.samples:,} samples",
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
        *distances.by_corruption().iter_rows(named=True),
        {"corruption": "mean", **distances.mean().row(0, named=True)},
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
    inputs: DistanceInputs, schemes: Mapping[str, Scheme], distances: Mapping[str, Distances], seed: int, path: Path
) -> Path:
    from brittle.datasets import save_picture
    from brittle.report import nearest_sheet

    save_picture(nearest_sheet(inputs.images.pixels[0], inputs.benchmark, schemes, distances, seed=seed), path)
    return path


LEAK_EXAMPLES = (
    (
        "brittle augment leak -a augmix -b cifar10-c -m demo:standard -d cifar10:cifar10 -o leak",
        "does AugMix train on CIFAR-10-C?",
    ),
    (
        "brittle augment leak -a augmix -b cifar10-c -m demo:standard -d cifar10:cifar10 --results run -o leak",
        "and the scores of a run without the leaked corruptions",
    ),
)


@with_groups
def leak_verb(
    augmentation: Annotated[str, option("--augmentation")],
    inputs: DistanceOptions,
    output: FOLDER,
    results: Annotated[Path | None, option("--results")] = None,
    neutral: Annotated[
        list[str] | None,
        option("--neutral", show_default="flip-crop,affine"),
    ] = None,
    margin: Annotated[float, option("--margin")] = 0.5,
    alpha: Annotated[float, option("--alpha")] = 0.05,
    as_json: JSON = False,
) -> None:
    """Find the corruptions of a benchmark that a training augmentation leaks.

    A corruption is leaked if the nearest sampled augmentation is much nearer to it than flips, crops and small
    rotations are. A score on it then says little about unforeseen corruptions. The folder gets a table, a figure and
    the features, so that the same command resumes after an interruption.
    """
    import brittle
    from brittle._io import file_name
    from brittle.plots import check_figure, plot_leak, save_figure

    check_figure(output / "leak.svg")
    from brittle.distance import measure_leak

    scheme = load_schemes([augmentation])
    references = None if neutral is None else load_schemes(neutral)
    run = None if results is None else brittle.load_results(results)
    loaded = inputs.load()
    if run is not None:
        _check_run(run, loaded.benchmark)
    with resumable_progress() as bar:
        measured = measure_leak(
            loaded.extractor,
            loaded.images,
            scheme,
            loaded.benchmark,
            neutral=references,
            margin=margin,
            alpha=alpha,
            folder=output / "features",
            progress=follow_features(bar),
            **inputs.sampling(),
        )
    leak = measured.check
    if as_json:
        print_json(leak.table())
    else:
        _print_leak(leak, augmentation)
    speeds = [(features.computed, features.images_per_second) for features in measured.features.values()]
    print_speed(speeds, len(loaded.images))
    stem = file_name(augmentation)
    files = [save_table(leak.table(), output / f"leak-{stem}.csv")]
    if run is not None:
        files.append(save_table(_scores(run, loaded.benchmark, leak.leaked), output / f"scores-{stem}.csv"))
    tell_files(*files, save_figure(plot_leak(leak), output / f"leak-{stem}.svg"))


def _print_leak(check: LeakCheck, name: str) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("corruption", overflow="fold")
    for heading in ("MSD", "neutral", "covered", "p"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("")
    for leak in sorted(check.leaks, key=lambda leak: -leak.covered):
        verdict = f"{RED}leaked{END}" if leak.leaked else "nearer" if leak.nearer else ""
        p = "< 0.001" if leak.p_leaked < 0.001 else f"{leak.p_leaked:.3f}"
        covered = f"{100 * leak.covered:.0f} %"
        corruption = leak.corruption.rpartition("/")[2]
        table.add_row(corruption, f"{leak.msd:.2f}", f"{leak.reference_msd:.2f}", covered, p, verdict)
    console().print(table)
    summary = f"{BOLD}{name} leaks {len(check.leaked)} of {len(check.leaks)} corruptions{END}"
    if check.leaked:
        summary += f": {', '.join(corruption.rpartition('/')[2] for corruption in check.leaked)}"
    console().print(summary)
    console().print(
        f"{DIM}leaked: not {check.margin:g} × as far as the nearest neutral augmentation; p is for that, corrected for "
        f"{len(check.leaks)} corruptions. nearer: nearer than it, if only a little.{END}"
    )


def _check_run(run: Results, benchmark: Benchmark) -> None:
    if not run.models_with(benchmark.cells()):
        raise BrittleError(f"no model of the run has results on all of {benchmark.name!r}; run it through that first")


def _scores(run: Results, benchmark: Benchmark, leaked: list[str]) -> pl.DataFrame:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from brittle.distance import leak_scores

    scores = leak_scores(run, benchmark, leaked)
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("model", overflow="fold")
    table.add_column("corruptions")
    for heading in ("", "mean accuracy", "95 %"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in scores.iter_rows(named=True):
        value, low, high = (100 * row[key] for key in ("mean_accuracy", "low", "high"))
        table.add_row(row["model"], row["corruptions"], str(row["count"]), f"{value:.1f} %", f"{low:.1f}–{high:.1f}")
    console().print(table)
    return scores
