"""`brittle leak`: did a training augmentation come near the test?"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from brittle.cli import distance_options as given
from brittle.cli.console import console
from brittle.cli.distance_plan import looking, save_table, scene, schemes_of, tell_speed
from brittle.cli.long_work import long_work
from brittle.cli.matrix import tell_files
from brittle.cli.run import DEVICE, PREPARE, THREADS

if TYPE_CHECKING:
    import polars as pl

    from brittle.benchmarks import Benchmark
    from brittle.distance import LeakCheck
    from brittle.evaluation.results import Results

EXAMPLES = (
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
        typer.Option("--neutral", help="Augmentations nobody would blame.", show_default="flip-crop,affine"),
    ] = None,
    margin: Annotated[float, typer.Option("--margin", help="Leaked if not this times as far as a neutral one.")] = 0.5,
    alpha: Annotated[float, typer.Option("--alpha", help="The chance of blaming the innocent.")] = 0.05,
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
    the features, so that the same command goes on after an interruption.
    """
    import brittle
    from brittle._io import file_name
    from brittle.distance import NEUTRAL, corruption_features, leak_check, transform_features
    from brittle.distance.leak import check_leak_options
    from brittle.report.figures import leak_figure, save_figure

    given.check_counts(samples=samples, corruption_samples=corruption_samples, batch_size=batch_size)
    check_leak_options(samples, margin=margin, alpha=alpha)
    [(name, scheme), *more] = schemes_of([augmentation]).items()
    if more:
        raise ValueError(f"the leak check takes one augmentation at a time, got {augmentation}")
    references = dict(NEUTRAL) if neutral is None else schemes_of(neutral)
    if name in references:
        raise ValueError(f"{name!r} is itself a neutral augmentation; compare it with others by --neutral")
    run = None if results is None else brittle.load_results(results)
    cut = {"corruptions": corruptions, "severities": severities}
    how = {"images": images, "seed": seed, "device": device, "prepare": prepare, "threads": threads}
    seen = scene(model, data, benchmark, **cut, **how)  # type: ignore[arg-type]
    if run is not None:
        _check_run(run, seen.benchmark)
    rows = {}
    with long_work() as bar:
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
    _print(found, name)
    tell_speed([(one.computed, one.images_per_second) for one in rows.values()], len(seen.images))
    plain = file_name(name)
    files = [save_table(found.table(), output / f"leak-{plain}.csv")]
    if run is not None:
        files.append(save_table(_scores(run, seen.benchmark, found.leaked), output / f"scores-{plain}.csv"))
    title = f"Does {name} leak {seen.benchmark.name}?"
    tell_files(*files, save_figure(leak_figure(found, title=title), output / f"leak-{plain}.svg"))


def _print(found: LeakCheck, name: str) -> None:
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
    from brittle.evaluation.scores import cells_of

    if not run.models_with(cells_of(benchmark)):
        raise ValueError(f"no model of the run has results on all of {benchmark.name!r}; run it through that first")


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
