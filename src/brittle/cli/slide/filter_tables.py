"""What the out-of-class filter keeps and how good it is, as tables and figures of the command line."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from brittle.cli.console import console
from brittle.cli.slide.measure import write_table

if TYPE_CHECKING:
    import polars as pl

FOLDS = 5
"""So many parts of the labels take turns in judging thresholds that were chosen on the others."""


def filter_table(
    table: pl.DataFrame, limits: Mapping[str, float], output: Path, *, least: int
) -> tuple[list[str], list[Path]]:
    """Filter, say how many trajectories are kept, and write them: the samples that are, and the files."""
    import polars as pl

    from brittle.sliders import kept_samples, ooc_filter, write_thresholds
    from brittle.sliders.image_scores import TRAJECTORY

    filtered = ooc_filter(table, limits, least=least)
    samples = kept_samples(filtered)
    kept = filtered.filter("kept")
    groups = filtered.group_by(TRAJECTORY).agg(pl.col("kept").any())
    words = ", ".join(f"{name} > {value:.4g}" for name, value in limits.items())
    console().print(f"[dim]at least {least} of {words}[/]", soft_wrap=True)
    console().print(
        f"[bold]{int(groups['kept'].sum()):,} of {len(groups):,} trajectories kept[/], "
        f"{len(kept):,} of {len(filtered):,} images"
    )
    for shift, whole, of in _by_shift(groups):
        console().print(f"  {shift}  [dim]{whole} of {of}[/]")
    console().print()
    return samples, [
        write_table(kept.select("sample", "shift", "label", "name", "seed", "scale"), output / "kept.csv"),
        write_table(filtered, output / "filtered.csv"),
        write_thresholds(limits, output / "thresholds.json", least=least),
    ]


def judge_filter(
    table: pl.DataFrame,
    labels: Mapping[str, str],
    limits: Mapping[str, float],
    *,
    tpr: float,
    least: int = 2,
    partial: str = "class",
) -> tuple[pl.DataFrame, str]:
    """The quality of thresholds on images they were not chosen with, if the labels are enough; and what was done."""
    from brittle.sliders import compare_filters, held_out_filters

    try:
        found = held_out_filters(table, labels, tpr=tpr, least=least, partial=partial, folds=FOLDS)
    except ValueError:
        found = compare_filters(table, labels, limits, least=least, partial=partial)
        return found, f"thresholds for a TPR of {tpr:g} were chosen on these same labels, which flatters: label more"
    return found, f"each image by thresholds for a TPR of {tpr:g} chosen on other trajectories, in {FOLDS} folds"


def quality_table(found: pl.DataFrame, output: Path, how: str = "", *, who: str = "") -> list[Path]:
    """What `compare_filters` gives, as table, CSV and figure; `how` thresholds were chosen, and `who` labelled."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    from brittle.report.figures import filter_figure, save_figure

    shown = Table(box=SIMPLE_HEAD, pad_edge=False)
    shown.add_column("filter", overflow="fold")
    for title in ("TPR", "FPR", "accuracy"):
        shown.add_column(title, justify="right", no_wrap=True)
    for row in found.iter_rows(named=True):
        cells = [
            Text.assemble(
                f"{100 * row[key]:.1f} ", (f"[{100 * row[f'{key}_low']:.1f}, {100 * row[f'{key}_high']:.1f}]", "dim")
            )
            for key in ("tpr", "fpr", "accuracy")
        ]
        name = f"{row['filter']} alone (naive)" if row["filter"] == "CLIP_class" else row["filter"]
        shown.add_row(name, *cells)
    console().print(shown)
    note = (
        f"percent of {found['images'][0]:,} images, {found['out_of_class'][0]:,} of them labelled out of class{who}; "
    )
    note += "TPR: removed of these, FPR: removed of the others"
    console().print(f"[dim]{note}{how and '; '}{how}[/]\n")
    figure = save_figure(filter_figure(found), output / "quality.svg")
    return [write_table(found, output / "quality.csv"), figure]


def score_figure(
    table: pl.DataFrame, labels: Mapping[str, str], limits: Mapping[str, float], output: Path, *, partial: str = "class"
) -> Path:
    """The labelled images by their scores, as scores.svg."""
    from brittle.report.figures import ooc_score_figure, save_figure
    from brittle.sliders.ooc_labels import labelled

    return save_figure(ooc_score_figure(labelled(table, labels, partial=partial), limits), output / "scores.svg")


def _by_shift(groups: pl.DataFrame) -> list[tuple[str, int, int]]:
    import polars as pl

    table = groups.group_by("shift").agg(pl.col("kept").sum(), pl.len().alias("of")).sort("shift")
    return [(str(shift), int(kept), int(of)) for shift, kept, of in table.rows()]
