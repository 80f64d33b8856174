"""The overlap matrix and the categories that a command line names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from brittle.cli.console import console

if TYPE_CHECKING:
    from brittle.design import Categories, OverlapMatrix

OVERLAP = Annotated[
    str,
    typer.Argument(
        metavar="OVERLAP",
        help="A folder of `brittle overlap`, a .csv or .parquet matrix, or `noc-table7`, `noc-table8`.",
    ),
]
FIGURE = Annotated[
    Path | None,
    typer.Option("--figure", metavar="FILE.svg", help="Where the figure goes.", show_default="beside the output"),
]
PUBLISHED = ("noc-table7", "noc-table8")


def read_matrix(given: str) -> OverlapMatrix:
    """A matrix from a folder of `brittle overlap`, from a file, or from a published table."""
    from brittle.design import OverlapMatrix, published_overlap

    if given in PUBLISHED:
        return published_overlap(given)
    path = Path(given)
    if path.is_dir():
        path = path / "overlap.parquet"
    if not path.is_file():
        raise FileNotFoundError(
            f"there is no overlap matrix {str(path)!r}; `brittle overlap` makes one, and {' and '.join(PUBLISHED)} are "
            "published ones"
        )
    return OverlapMatrix.load(path)


def known_part(overlap: OverlapMatrix) -> OverlapMatrix:
    """The matrix without corruptions that no overlap is known of, which are named on the screen."""
    import numpy as np

    unknown = np.isnan(overlap.scores).sum(axis=1) == len(overlap) - 1
    left_out = [name for name, gone in zip(overlap.names, unknown, strict=True) if gone]
    if not left_out or len(overlap) - len(left_out) < 2:
        return overlap
    console().print(f"[yellow]left out, all their overlaps are masked:[/] {', '.join(left_out)}")
    return overlap.subset([name for name in overlap.names if name not in left_out])


def read_categories(given: str) -> Categories:
    """Categories from a file, or published ones by name."""
    from brittle.design import Categories, published_categories

    path = Path(given)
    if path.is_file():
        return Categories.load(path)
    if path.suffix:
        raise FileNotFoundError(
            f"there is no file of categories {given!r}; `brittle categories` makes one, `syn2nat` are published ones"
        )
    return published_categories(given)


def figure_path(figure: Path | None, output: Path) -> Path:
    """Where a figure goes: beside the output unless it was said."""
    from brittle.report.figures import check_figure

    return check_figure(figure or output.with_suffix(".svg"))


def check_ending(output: Path, what: str, *endings: str) -> None:
    """Raise unless the output has one of these endings."""
    if output.suffix not in endings:
        raise ValueError(f"{what} is a {' or '.join(endings)} file, got {str(output)!r}; change the ending")


def tell_files(*paths: Path) -> None:
    """Say what was written."""
    for path in paths:
        console().print(str(path), soft_wrap=True)
