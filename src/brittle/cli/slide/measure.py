"""`brittle slide measure`: how far images have moved along a shift, by CLIP."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from brittle._errors import BrittleError
from brittle.cli.console import console, print_json, resumable_progress, say_next, tell_files
from brittle.cli.inputs import DEVICE, follow, save_table
from brittle.cli.options import CurvesBy, Prompts, option
from brittle.cli.slide.inputs import CLIP
from brittle.cli.styles import DIM, END, YELLOW

if TYPE_CHECKING:
    import polars as pl

    from brittle.sliders import ImageScores

EXAMPLES = (
    ("brittle slide measure slides/ --clip clip-vit-base-patch16/ -o measured", "with the CLIP of the paper"),
    ("brittle slide measure slides/ --clip tiny --by name -o measured", "a curve for each class"),
    ("brittle slide measure slides/ --clip clip/ --baseline two/ -o measured", "beside images of two prompts"),
)

SLIDES = Annotated[Path, typer.Argument(metavar="SLIDES", help="A folder of `brittle slide sample`, or CNS-Bench.")]


def measure_verb(
    slides: SLIDES,
    output: Annotated[Path, option("--output", help="The folder for tables and figure.")],
    clip: CLIP = None,
    baseline: Annotated[Path | None, option("--baseline")] = None,
    by: Annotated[CurvesBy, option("--by")] = "shift",
    prompts: Annotated[Prompts, option("--prompts")] = "words",
    batch_size: Annotated[int, option("--batch-size")] = 32,
    device: DEVICE = "auto",
    as_json: Annotated[bool, option("--json")] = False,
) -> None:
    """Measure ΔCLIP: how much more similar images are to the words of the shift, and of the class, than at scale 0.

    A rising ΔCLIP to the shift means that the slider works; a falling ΔCLIP to the class means that it destroys the
    object. The folder gets scores.csv with every image, curves.csv with 95 % intervals, and curves.svg.
    """
    from brittle.plots import check_figure, plot_shift_curves, save_figure
    from brittle.sliders import rises_throughout, shift_curves, with_baseline

    check_figure(output / "curves.svg")
    scores = load_scores(slides, clip, None, prompts, batch_size, device)
    group = None if by == "all" else by
    curves = shift_curves(scores, by=group)
    if baseline is not None:
        beside = load_scores(baseline, clip, None, prompts, batch_size, device)
        curves = with_baseline(curves, shift_curves(beside, by=group))
    if as_json:
        print_json(curves)
    else:
        print_curves(curves)
    note = f"{'every' if rises_throughout(curves) else 'not every'} ΔCLIP shift rises from each scale to the next"
    console().print(f"{DIM}{note}; 100 × cosine, 95 % intervals over trajectories{END}\n")
    tell_files(
        save_table(scores.table, output / "scores.csv"),
        save_table(curves, output / "curves.csv"),
        save_figure(plot_shift_curves(curves), output / "curves.svg"),
    )
    say_next("slide", "label", slides, "--page", "label.html")


def load_scores(
    slides: Path, clip: str | None, dino: str | None, prompts: str, batch_size: int, device: str
) -> ImageScores:
    """The scores of every image of a folder, with a progress bar; unreadable images are reported."""
    from brittle.sliders import score_slides

    if clip is None:
        raise BrittleError("name the --clip that scores the images: a folder of transformers or open_clip, or tiny")
    with resumable_progress() as bar:
        progress = follow(bar)
        scores = score_slides(
            slides,
            clip,
            dino,
            prompts=prompts,
            batch_size=batch_size,
            device=device,
            progress=lambda done, total: progress("scoring", done, total),
        )
    if scores.unreadable:
        first, reason = next(iter(scores.unreadable.items()))
        warning = f"{YELLOW}unreadable images, left out: {len(scores.unreadable):,}{END}"
        console().print(f"{warning}, such as {first}: {reason}", soft_wrap=True)
    return scores


def print_curves(curves: pl.DataFrame) -> None:
    """A row for each curve, a column for each scale."""
    import polars as pl
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    first = curves.columns[0]
    for measure in curves["measure"].unique(maintain_order=True):
        rows_of_measure = curves.filter(pl.col("measure") == measure)
        scales = [scale for scale in sorted(rows_of_measure["scale"].unique()) if scale > 0]
        table = Table(title=measure, title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False)
        table.padding = (0, 1, 0, 0)
        table.add_column(first)
        for scale in scales:
            table.add_column(f"{scale:g}", justify="right", no_wrap=True)
        table.add_column("n", justify="right", style="dim")
        for group in rows_of_measure.partition_by(first, maintain_order=True):
            rows = {row["scale"]: row for row in group.iter_rows(named=True)}
            cells = [
                Text.assemble(f"{r['value']:+.2f}", (f"\n{_interval(r)}", "dim")) if r else Text("–")
                for r in (rows.get(scale) for scale in scales)
            ]
            table.add_row(str(group[first][0]).replace("_", " "), *cells, str(group["trajectories"][0]))
        console().print(table)


def _interval(row: dict[str, Any]) -> str:
    return "no interval" if row["low"] is None else f"{row['low']:.2f}…{row['high']:.2f}"
