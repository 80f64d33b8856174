"""`brittle slide measure`: how far images have gone along a shift, as CLIP sees it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from brittle._errors import BrittleError
from brittle.cli.console import console, print_json, resumable_progress, say_next, tell_files
from brittle.cli.inputs import DEVICE, follow
from brittle.cli.options import CurvesBy, Prompts, option
from brittle.cli.slide.inputs import CLIP, TINY, prompts_of, tiny_part

if TYPE_CHECKING:
    import polars as pl

    from brittle.sliders import ImageScores

EXAMPLES = (
    ("brittle slide measure slides/ --clip clip-vit-base-patch16/ -o measured", "with the CLIP of the paper"),
    ("brittle slide measure slides/ --clip tiny --by name -o measured", "a curve for each class"),
)

FOLDER = Annotated[Path, typer.Argument(metavar="SLIDES", help="A folder of `brittle slide sample`, or CNS-Bench.")]


def measure_verb(
    folder: FOLDER,
    output: Annotated[Path, option("--output", help="The folder for tables and figure.")],
    clip: CLIP = None,
    by: Annotated[CurvesBy, option("--by")] = "shift",
    prompts: Annotated[Prompts, option("--prompts")] = "words",
    batch_size: Annotated[int, option("--batch-size")] = 32,
    device: DEVICE = "auto",
    as_json: Annotated[bool, option("--json")] = False,
) -> None:
    """Measure ΔCLIP: how much nearer images are to the words of the shift, and of the class, than at scale 0.

    A rising ΔCLIP to the shift says that the slider works; a falling one to the class, that it destroys what it should
    only shift. The folder gets scores.csv with every image, curves.csv with 95 % intervals, and curves.svg.
    """
    from brittle.plots import check_figure, plot_shift_curves, save_figure
    from brittle.sliders import rises_throughout, shift_curves

    check_figure(output / "curves.svg")
    if by not in ("shift", "name", "all"):
        raise BrittleError(f"curves are by shift, name or all, got {by!r}")
    scores = scored(folder, clip, None, prompts, batch_size, device)
    curves = shift_curves(scores, by=None if by == "all" else by)
    if as_json:
        print_json(curves)
    else:
        print_curves(curves)
    words = "every" if rises_throughout(curves) else "not every"
    words += " ΔCLIP shift rises from each scale to the next"
    console().print(f"[dim]{words}; 100 × cosine, 95 % intervals over trajectories[/]\n")
    tell_files(
        write_table(scores.table, output / "scores.csv"),
        write_table(curves, output / "curves.csv"),
        save_figure(plot_shift_curves(curves), output / "curves.svg"),
    )
    say_next("slide", "filter", folder, "--page", "label.html", "-o", "filtered")


def scored(folder: Path, clip: str | None, dino: str | None, prompts: str, batch_size: int, device: str) -> ImageScores:
    """The scores of every image of a folder, with a progress bar; what cannot be read is told."""
    from brittle.datasets import cns_bench
    from brittle.sliders import ImageEncoder, image_scores, load_clip

    if clip is None:
        raise BrittleError("say which --clip sees the images: a folder of transformers or open_clip, or tiny")
    if not folder.is_dir():
        raise FileNotFoundError(f"there is no folder of slides {str(folder)!r}; `brittle slide sample` makes one")
    words, dataset = prompts_of(prompts), cns_bench(folder)
    seer = load_clip(tiny_part("clip") if clip == TINY else clip, device=device)
    other = None if dino is None else ImageEncoder(tiny_part("encoder") if dino == TINY else dino, device=device)
    with resumable_progress() as bar:
        report = follow(bar)
        scores = image_scores(
            dataset,
            seer,
            other,
            prompts=words,
            batch_size=batch_size,
            progress=lambda done, total: report("scoring", done, total),
        )
    if scores.broken:
        first, reason = next(iter(scores.broken.items()))
        text = f"[yellow]{len(scores.broken)} images could not be read and were left out[/], such as {first}: {reason}"
        console().print(text, soft_wrap=True)
    return scores


def write_table(table: pl.DataFrame, path: Path) -> Path:
    """A table as CSV, whole or not at all."""
    from brittle._io import atomic_write

    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as part:
        table.write_csv(part)
    return path


def print_curves(curves: pl.DataFrame) -> None:
    """A row for each curve, a column for each scale."""
    import polars as pl
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    first = curves.columns[0]
    for measure in curves["measure"].unique(maintain_order=True):
        mine = curves.filter(pl.col("measure") == measure)
        scales = [scale for scale in sorted(mine["scale"].unique()) if scale > 0]
        table = Table(title=measure, title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False)
        table.padding = (0, 1, 0, 0)
        table.add_column(first)
        for scale in scales:
            table.add_column(f"{scale:g}", justify="right", no_wrap=True)
        table.add_column("n", justify="right", style="dim")
        for group in mine.partition_by(first, maintain_order=True):
            rows = {row["scale"]: row for row in group.iter_rows(named=True)}
            cells = [
                Text.assemble(f"{r['value']:+.2f}", (f"\n{r['low']:.2f}…{r['high']:.2f}", "dim")) if r else Text("–")
                for r in (rows.get(scale) for scale in scales)
            ]
            table.add_row(str(group[first][0]).replace("_", " "), *cells, str(group["trajectories"][0]))
        console().print(table)
