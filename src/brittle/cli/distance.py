"""`brittle distance`: how near augmentations come to the corruptions of a benchmark."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from brittle.cli import distance_options as given
from brittle.cli.console import console
from brittle.cli.distance_plan import Scene, looking, save_table, scene, schemes_of, tell_speed
from brittle.cli.long_work import long_work
from brittle.cli.matrix import tell_files
from brittle.cli.run import DEVICE, PREPARE, THREADS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from brittle.distance import Distances
    from brittle.training.augmentation import Scheme

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
    from brittle.distance.until import check_tolerance
    from brittle.report.figures import convergence_figure, distance_figure, save_figure

    given.check_counts(samples=samples, corruption_samples=corruption_samples, batch_size=batch_size)
    check_tolerance(tolerance)
    schemes, features = schemes_of(augmentations), output / "features"
    cut = {"corruptions": corruptions, "severities": severities}
    how = {"images": images, "seed": seed, "device": device, "prepare": prepare, "threads": threads}
    seen = scene(model, data, benchmark, **cut, **how)  # type: ignore[arg-type]
    with long_work() as bar:
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


def _nearest(seen: Scene, schemes: Mapping[str, Scheme], found: Mapping[str, Distances], seed: int, path: Path) -> Path:
    from brittle.cli.save import save_picture
    from brittle.report.nearest_rows import nearest_rows
    from brittle.report.nearest_sheet import nearest_sheet

    image = seen.images.pixels[0]
    rows = nearest_rows(image, seen.benchmark, schemes, found, seed=seed)
    note = "One picture, each corruption at its middle level; numbers are distances to the mean corruption."
    save_picture(nearest_sheet(image, rows, note=note), path)
    return path
