"""Results on slides as a table that fits a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from brittle.cli.console import console

if TYPE_CHECKING:
    from brittle.evaluation import Results

COLUMNS = 6
"""So many scales fit."""


def has_slides(results: Results) -> bool:
    """Whether results are on slides."""
    return any(name.startswith("cns/") for name, _ in results.cells)


def print_slides(results: Results, models: list[str] | None = None) -> None:
    """Accuracy of each model along the scales: of each shift, or of their mean; and how many trajectories that is."""
    import polars as pl
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    from brittle.sliders import cns_scores

    found = cns_scores(results, models=models)
    table = found.accuracy.filter(pl.col("shift") != "all")
    scales = sorted(table["scale"].unique())
    scales = scales if len(scales) <= COLUMNS else [scales[round(i * (len(scales) - 1) / 5)] for i in range(COLUMNS)]
    shown = Table(box=SIMPLE_HEAD, pad_edge=False)
    shown.padding = (0, 1, 0, 0)
    shown.add_column("shift, model", overflow="fold")
    for scale in scales:
        shown.add_column(f"{scale:g}", justify="right", no_wrap=True)
    for group in table.partition_by("shift", maintain_order=True):
        shown.add_row(Text(str(group["shift"][0]), "bold"))
        for mine in group.partition_by("model", maintain_order=True):
            rows = {row["scale"]: row for row in mine.iter_rows(named=True)}
            cells = [
                Text.assemble(f"{100 * r['accuracy']:.1f}", (f"\n{100 * r['low']:.0f}–{100 * r['high']:.0f}", "dim"))
                if r
                else Text("–")
                for r in (rows.get(scale) for scale in scales)
            ]
            shown.add_row(Text(f"  {mine['model'][0]}"), *cells)
        shown.add_section()
    console().print(shown)
    whole = sum(part["trajectories"][0] for part in table.partition_by("shift") if part["shift"][0] != "mean")
    lost = sum(found.dropped.values())
    words = f"percent right at each scale, 95 % intervals; {whole:,} trajectories"
    console().print(f"[dim]{words}{f', {lost:,} incomplete ones left out' if lost else ''}[/]")
