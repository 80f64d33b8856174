"""`brittle corrupt`: write a corrupted data set in the layout of the published ones."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from brittle._errors import BrittleError
from brittle.cli.console import (
    TEXTURES,
    choose_benchmark,
    compile_first,
    console,
    resumable_progress,
    split_commas,
    split_numbers,
)
from brittle.cli.options import ImageFormat, option
from brittle.cli.styles import DIM, END

if TYPE_CHECKING:
    from brittle.benchmarks import Benchmark
    from brittle.datasets import Written

LISTED = 5
"""Unreadable files that are printed; skipped.txt has them all."""

EXAMPLES = (
    ("brittle corrupt val/ imagenet-c/ --prepare imagenet", "ImageNet-C as published: 15 corruptions, 5 levels"),
    (
        "brittle corrupt photos/ out/ -c fog,snow -s 1,2.5,5 --image-format png",
        "two corruptions, other severities",
    ),
    ("brittle corrupt photo.jpg foggy.png -c fog,snow -s 3.5,2", "one picture, with snow over the fog"),
    ("brittle corrupt scene.npy foggy.npy -c fog --data-range 4095", "one image of bands, of 12 bits"),
    ("brittle corrupt test.npz cifar10-c/", "CIFAR-10-C from arrays called images and labels"),
    ("brittle corrupt photos/ out/ -b my_recipe.toml -j 8", "your own recipe, 8 processes"),
)


def corrupt_verb(
    source: Annotated[
        str, typer.Argument(metavar="SRC", help="A folder of images, an .npy or .npz array; or one photograph.")
    ],
    destination: Annotated[
        Path, typer.Argument(metavar="DST", help="The folder to write to; or a .png file for one picture.")
    ],
    benchmark: Annotated[
        str | None,
        option("--benchmark", show_default="imagenet-c; cifar10-c for arrays"),
    ] = None,
    corruptions: Annotated[
        list[str] | None,
        option("--corruption"),
    ] = None,
    severities: Annotated[
        list[str] | None,
        option("--severity"),
    ] = None,
    seed: Annotated[int | None, option("--seed", show_default="0")] = None,
    textures: TEXTURES = None,
    prepare: Annotated[str, option("--prepare")] = "none",
    image_format: Annotated[
        ImageFormat | None,
        option("--image-format", show_default="jpeg"),
    ] = None,
    array_labels: Annotated[Path | None, option("--array-labels")] = None,
    sample: Annotated[str | None, option("--sample", show_default="the file's name")] = None,
    image_size: Annotated[int | None, option("--image-size", show_default="as it is")] = None,
    data_range: Annotated[str | None, option("--data-range", show_default="8 bits")] = None,
    bands: Annotated[bool, option("--bands")] = False,
    overwrite: Annotated[bool, option("--overwrite")] = False,
) -> None:
    """Corrupt a data set, in the layout of the published ones.

    A folder becomes DST/<corruption>/<severity>/<class>/<name>.JPEG, as in ImageNet-C. An array of N images
    becomes DST/<corruption>.npy with the severities stacked, as in CIFAR-10-C.

    The pictures depend only on the recipe and on each image's relative path or index. The same command resumes an
    interrupted run. Unreadable files are skipped, counted and listed in DST/skipped.txt. Only images are written: label
    files beside them are counted and left out.

    A DST such as foggy.png is one picture of one photograph, or of the image of a data set that --sample names. Then
    each corruption has its own severity, and they are applied one after the other. With --data-range or --bands, SRC
    and DST are .npy, .tif or .png files of one image, which keeps its depth and its bands.
    """
    from brittle.datasets import corrupt_picture, corrupt_values, is_picture, source_benchmark, write_corrupted

    deep = data_range is not None or bands
    if deep or is_picture(destination):
        not_here: dict[str, Any] = {
            "--benchmark": benchmark,
            "--textures": textures,
            "--image-format": image_format,
            "--array-labels": array_labels,
        }
        if deep:
            not_here |= {"--image-size": image_size, "--prepare": None if prepare == "none" else prepare}
        for name, value in not_here.items():
            if value is not None:
                what = "is not for --data-range and --bands" if deep else "is for folders and arrays"
                raise BrittleError(f"{name} {what}, and {str(destination)!r} is one picture")
        names, levels = split_commas(corruptions, repeats=True), split_numbers(severities, "severities", repeats=True)
        options: dict[str, Any] = {"seed": seed or 0, "sample": sample}
        if deep:
            options |= {"data_range": _ends(data_range), "bands": bands}
            values = corrupt_values(source, destination, names, levels, **options)
            what = f"{'×'.join(map(str, values.shape))} {values.dtype}"
        else:
            options |= {"image_size": image_size, "prepare": prepare}
            height, width = corrupt_picture(source, destination, names, levels, **options).shape[:2]
            what = f"{width}×{height} px"
        _print_picture(destination, what, names, levels, seed or 0)
        return
    for name, given in {"--sample": sample, "--image-size": image_size}.items():
        if given is not None:
            raise BrittleError(f"{name} is for one picture: then DST ends in .png, and it is {str(destination)!r}")
    recipe = choose_benchmark(
        benchmark, corruptions, severities, seed=seed, textures=textures, default=source_benchmark(source)
    )
    assert recipe is not None
    compile_first(entry.corruption for entry in recipe.entries)
    with resumable_progress() as bar:
        task = bar.add_task("corrupting", total=None, unit="images")
        account = write_corrupted(
            source,
            destination,
            recipe,
            prepare=prepare,
            image_format=image_format,
            array_labels=array_labels,
            overwrite=overwrite,
            progress=lambda done, total: bar.update(task, completed=done, total=total),
        )
    _summary(destination, recipe, account)


def _ends(data_range: str | None) -> Any:
    """A range as `brittle.corrupt` takes it."""
    if data_range is None:
        return None
    ends = split_numbers([data_range], "--data-range", repeats=True)
    return ends[0] if len(ends) == 1 else tuple(ends)


def _print_picture(destination: Path, what: str, names: Sequence[str], severities: Sequence[float], seed: int) -> None:
    from brittle.datasets import USUAL_SEVERITY

    levels = severities or [USUAL_SEVERITY] * len(names)
    shown = ", ".join(f"{name} {level:g}" for name, level in zip(names, levels, strict=True)) or "clean"
    console().print(f"{destination}  {DIM}{what}, {shown}, seed {seed}{END}", soft_wrap=True)


def _summary(destination: Path, recipe: Benchmark, account: Written) -> None:
    from rich.table import Table
    from rich.text import Text

    from brittle.benchmarks import ends, level_name

    screen = console()
    counts = Table.grid(padding=(0, 2))
    counts.add_column(justify="right", style="bold")
    counts.add_column()
    counts.add_row(f"{account.written:,}", "pictures written")
    if account.kept:
        counts.add_row(f"{account.kept:,}", "existed already")
    if account.damaged:
        counts.add_row(Text(f"{account.damaged:,}", "yellow"), "of those written existed, but were empty or truncated")
    if account.skipped:
        counts.add_row(Text(f"{len(account.skipped):,}", "yellow"), "files skipped, because they could not be read")
    screen.print(counts)
    for name in sorted(account.skipped)[:LISTED]:
        screen.print(Text.assemble("  ", (name, "yellow"), f"  {account.skipped[name]}"), soft_wrap=True)
    if len(account.skipped) > LISTED:
        screen.print(f"  … all of them are in {destination / 'skipped.txt'}", soft_wrap=True)
    if account.labels:
        moving = [entry.corruption.name for entry in recipe.entries if entry.corruption.moves_pixels]
        shown = f"{', '.join(moving[:3])}{' and others' if len(moving) > 3 else ''}"
        fit = f" {shown} moves pixels, so boxes and masks do not fit those pictures." if moving else ""
        files = "1 label file" if len(account.labels) == 1 else f"{len(account.labels):,} label files"
        note = f"{files} beside the images not written, such as {account.labels[0]}.{fit}"
        screen.print(Text(note, "yellow"), soft_wrap=True)
    if account.masks:
        note = (
            f"{len(account.masks):,} of the images look like masks, such as {account.masks[0]}, and were corrupted "
            "like any other; keep masks outside SRC."
        )
        screen.print(Text(note, "yellow"), soft_wrap=True)
    what = f"{len(recipe.entries)} corruptions" if len(recipe.entries) > 1 else recipe.entries[0].corruption.name
    levels = ", ".join(map(level_name, sorted({cell.level for cell in recipe.cells()}, key=ends)))
    note = f"  {recipe.name}: {what} at {levels}, seed {recipe.seed}"
    screen.print(Text.assemble(str(destination), (note, "dim")), soft_wrap=True)
