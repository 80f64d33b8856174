"""Options that the slide verbs share, and the table of accuracies along scales."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from brittle.cli.console import console
from brittle.cli.options import Dtype, Engine, option
from brittle.cli.styles import DIM, END

if TYPE_CHECKING:
    from brittle.evaluation import Results

PIPELINE = Annotated[
    str,
    typer.Argument(
        metavar="PIPELINE",
        help="A folder of diffusers, such as Stable Diffusion 2, or `tiny`, the bundled demo pipeline.",
    ),
]
OUTPUT = Annotated[Path, option("--output", help="The folder; an existing one is resumed.")]
TOKENS = Annotated[Path | None, option("--tokens")]
CLASSES = Annotated[
    Path | None,
    option("--classes", show_default="ImageNet's 1000"),
]
ANY_SHIFT = Annotated[bool, option("--any-shift")]
DTYPE = Annotated[Dtype, option("--dtype")]
ENGINE = Annotated[Engine, option("--engine")]
ADDRESS = Annotated[str | None, option("--address")]
CLIP = Annotated[
    str | None,
    option("--clip"),
]
COLUMNS = 6
"""The number of scales that fit into a terminal."""


def has_slides(results: Results) -> bool:
    """Whether results are on slides."""
    return any(cell.corruption.startswith("cns/") for cell in results.cells)


def print_slides(results: Results, models: list[str] | None = None) -> None:
    """Accuracy of each model along the scales: of each shift, or of their mean; and how many trajectories that is."""
    import polars as pl
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    from brittle.evaluation import cns_scores

    if {cell.severity for cell in results.cells if cell.corruption.startswith("cns/")} == {0.0}:
        _print_unshifted(results)
        return
    scores = cns_scores(results, models=models)
    table = scores.accuracy.filter(pl.col("shift") != "all")
    scales = sorted(table["scale"].unique())
    scales = scales if len(scales) <= COLUMNS else [scales[round(i * (len(scales) - 1) / 5)] for i in range(COLUMNS)]
    shown = Table(box=SIMPLE_HEAD, pad_edge=False)
    shown.padding = (0, 1, 0, 0)
    shown.add_column("shift, model", overflow="fold")
    for scale in scales:
        shown.add_column(f"{scale:g}", justify="right", no_wrap=True)
    for group in table.partition_by("shift", maintain_order=True):
        shown.add_row(Text(str(group["shift"][0]), "bold"))
        for rows_of_model in group.partition_by("model", maintain_order=True):
            rows = {row["scale"]: row for row in rows_of_model.iter_rows(named=True)}
            cells = [
                Text.assemble(f"{100 * r['accuracy']:.1f}", (f"\n{100 * r['low']:.0f}–{100 * r['high']:.0f}", "dim"))
                if r
                else Text("–")
                for r in (rows.get(scale) for scale in scales)
            ]
            shown.add_row(Text(f"  {rows_of_model['model'][0]}"), *cells)
        shown.add_section()
    console().print(shown)
    complete = sum(part["trajectories"][0] for part in table.partition_by("shift") if part["shift"][0] != "mean")
    incomplete = sum(scores.dropped.values())
    note = f"percent right at each scale, 95 % intervals; {complete:,} trajectories"
    console().print(f"{DIM}{note}{f', {incomplete:,} incomplete ones left out' if incomplete else ''}{END}")


def _print_unshifted(results: Results) -> None:
    """Accuracy of each model on images without a shift."""
    from brittle.metrics import wilson

    for model, _, _, count, share in results.accuracy().rows():
        low, high = wilson(round(share * count), count)
        interval = f"{DIM}[{100 * float(low):.1f}, {100 * float(high):.1f}]{END}"
        console().print(f"{model}  {100 * share:.1f} {interval} percent right of {count:,} images without a shift")
