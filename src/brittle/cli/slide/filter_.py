"""`brittle slide filter`: leave out images that no longer show their class."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from brittle.cli.console import console
from brittle.cli.matrix import tell_files
from brittle.cli.run import DEVICE
from brittle.cli.slide.measure import FOLDER, scored, write_table
from brittle.cli.slide.options import CLIP

if TYPE_CHECKING:
    import polars as pl

EXAMPLES = (
    ("brittle slide filter slides/ --clip clip/ --dino dinov2/ --published -o filtered", "the published thresholds"),
    ("brittle slide filter slides/ --page label.html -o filtered", "a page to label images on, by keys"),
    ("brittle slide filter slides/ --clip clip/ --dino dinov2/ --labels labels.csv -o filtered", "your thresholds"),
    ("brittle slide filter slides/ --scores filtered/scores.csv --labels labels.csv --tpr 0.95 -o stricter", "quick"),
)


def filter_verb(
    folder: FOLDER,
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder for kept.csv and the other tables.")],
    clip: CLIP = None,
    dino: Annotated[
        str | None, typer.Option("--dino", metavar="FOLDER", help="An image encoder of transformers, or `tiny`.")
    ] = None,
    scores: Annotated[
        Path | None, typer.Option("--scores", metavar="FILE", help="A scores.csv that is there already.")
    ] = None,
    labels: Annotated[
        Path | None, typer.Option("--labels", metavar="FILE", help="Labels made on the page: thresholds, quality.")
    ] = None,
    tpr: Annotated[
        float, typer.Option("--tpr", help="Each threshold removes this share of out-of-class images.")
    ] = 0.9,
    published: Annotated[
        bool, typer.Option("--published", help="The published thresholds: CLIP ViT-B/16, DINOv2 ViT-L/14.")
    ] = False,
    least: Annotated[int, typer.Option("--least", help="An image passes if so many scores do.")] = 2,
    partial: Annotated[
        str, typer.Option("--partial", help="What `partial` labels count as: class, not class or skip.")
    ] = "class",
    prompts: Annotated[
        str | None,
        typer.Option("--prompts", help="words, paper or code.", show_default="code if published, else words"),
    ] = None,
    page: Annotated[
        Path | None, typer.Option("--page", metavar="FILE.html", help="Write the page on which images are labelled.")
    ] = None,
    batch_size: Annotated[int, typer.Option("--batch-size", help="Images at once.")] = 32,
    device: DEVICE = "auto",
) -> None:
    """Keep the trajectories whose images all still show their class.

    Four scores look at each image: CLIP's similarity to the class and to the class in the shift, and CLIP's and
    DINOv2's similarity to the image at scale 0. An image passes if two of them are above their thresholds. The folder
    gets kept.csv for `brittle run --keep`, scores.csv, filtered.csv, and with labels quality.csv and quality.svg.
    """
    from brittle.sliders import choose_thresholds, compare_filters, published_thresholds, read_labels

    if page is not None:
        _page(folder, page)
    if labels is None and not published:
        if page is None:
            raise ValueError("say where thresholds come from: --labels FILE, --published, or make labels with --page")
        console().print(
            f"[dim]then: brittle slide filter {folder} --labels labels.csv … -o {output}[/]", soft_wrap=True
        )
        return
    known = None if labels is None else read_labels(labels)
    how = prompts or ("code" if published else "words")
    table = _read(scores) if scores is not None else scored(folder, clip, dino, how, batch_size, device).table
    limits = (
        published_thresholds()
        if published or known is None
        else choose_thresholds(table, known, tpr=tpr, partial=partial)
    )
    if published and "DINO_ref_no_head" not in table.columns:
        raise ValueError("the published filter has four scores; give --dino, the folder of DINOv2 ViT-L/14")
    quality = None if known is None else compare_filters(table, known, limits, least=least, partial=partial)
    files = [] if scores is not None else [write_table(table, output / "scores.csv")]
    files += filter_table(table, limits, output, least=least)
    if quality is not None:
        files += quality_table(quality, output, tpr=None if published else tpr)
    tell_files(*files)
    kept = output / "kept.csv"
    console().print(f"[dim]next: brittle run -m MODEL -d cns-bench:{folder} --keep {kept} -o run[/]", soft_wrap=True)


def filter_table(table: pl.DataFrame, limits: Mapping[str, float], output: Path, *, least: int) -> list[Path]:
    """Filter, say how many trajectories are kept, and write kept.csv and filtered.csv."""
    import json

    import polars as pl

    from brittle.datasets.atomic import replacing
    from brittle.sliders import kept_samples, ooc_filter
    from brittle.sliders.image_scores import TRAJECTORY

    filtered = ooc_filter(table, limits, least=least)
    kept_samples(filtered)
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
    output.mkdir(parents=True, exist_ok=True)
    with replacing(output / "thresholds.json") as part:
        part.write_text(json.dumps({"least": least, "thresholds": dict(limits)}, indent=1) + "\n", encoding="utf-8")
    return [
        write_table(kept.select("sample", "shift", "label", "name", "seed", "scale"), output / "kept.csv"),
        write_table(filtered, output / "filtered.csv"),
        output / "thresholds.json",
    ]


def quality_table(found: pl.DataFrame, output: Path, *, tpr: float | None, who: str = "") -> list[Path]:
    """What `compare_filters` gives, as table, CSV and figure; on these labels thresholds were chosen for `tpr`."""
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
    note = f"percent, on {found['images'][0]:,} labelled images{who}; "
    note += "TPR: removed of those out of class, FPR: removed of the others"
    if tpr is not None:
        note += f"; the thresholds were chosen on these labels for a TPR of {tpr:g} each"
    console().print(f"[dim]{note}[/]\n")
    figure = save_figure(filter_figure(found), output / "quality.svg")
    return [write_table(found, output / "quality.csv"), figure]


def _by_shift(groups: pl.DataFrame) -> list[tuple[str, int, int]]:
    import polars as pl

    table = groups.group_by("shift").agg(pl.col("kept").sum(), pl.len().alias("of")).sort("shift")
    return [(str(shift), int(kept), int(of)) for shift, kept, of in table.rows()]


def _page(folder: Path, page: Path) -> None:
    from brittle.datasets import cns_bench
    from brittle.sliders import write_labelling_page

    if page.suffix.lower() not in (".html", ".htm"):
        raise ValueError(f"the page is an .html file, got {str(page)!r}")
    broken = write_labelling_page(cns_bench(folder), page)
    if broken:
        console().print(f"[yellow]{len(broken)} images could not be read and are not on the page[/]")
    console().print(f"{page}  [dim]open it, label with the keys 1, 2, 3, and save labels.csv[/]", soft_wrap=True)


def _read(path: Path) -> pl.DataFrame:
    import polars as pl

    if not path.is_file():
        raise FileNotFoundError(
            f"there is no file of scores {str(path)!r}; `brittle slide measure` and filter write one"
        )
    try:
        table = pl.read_csv(path)
    except pl.exceptions.PolarsError as error:
        raise ValueError(f"{str(path)!r} is no file of scores: {error}") from error
    lacking = [name for name in ("sample", "shift", "label", "seed", "scale") if name not in table.columns]
    if lacking:
        raise ValueError(f"{str(path)!r} has no column {', '.join(lacking)}; give a scores.csv of brittle")
    return table
