"""`brittle slide filter`: leave out images that no longer show their class."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from brittle.cli.console import console, say_next
from brittle.cli.matrix import tell_files
from brittle.cli.run import DEVICE
from brittle.cli.slide.filter_tables import filter_table, judge_filter, quality_table, score_figure
from brittle.cli.slide.measure import FOLDER, scored, write_table
from brittle.cli.slide.options import CLIP, TINY

if TYPE_CHECKING:
    import polars as pl

EXAMPLES = (
    ("brittle slide filter slides/ --clip clip/ --dino dinov2/ --published -o filtered", "the published thresholds"),
    ("brittle slide filter slides/ --page label.html -o filtered", "a page to label images on, by keys"),
    ("brittle slide filter slides/ --clip clip/ --dino dinov2/ --labels labels.csv -o filtered", "your thresholds"),
    ("brittle slide filter slides/ --scores filtered/scores.csv --labels labels.csv --tpr 0.95 -o stricter", "quick"),
    (
        "brittle slide filter more/ --clip clip/ --dino dinov2/ --thresholds filtered/thresholds.json -o more-filtered",
        "the same for new images",
    ),
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
    thresholds: Annotated[
        str | None,
        typer.Option("--thresholds", metavar="FILE", help="A thresholds.json of an earlier filter, or `tiny`."),
    ] = None,
    least: Annotated[
        int | None, typer.Option("--least", help="An image passes if so many scores do.", show_default="2")
    ] = None,
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
    gets kept.csv for `brittle run --keep`, scores.csv, filtered.csv, thresholds.json for other images, and with labels
    quality.csv, quality.svg and scores.svg.
    """
    from brittle.sliders import choose_thresholds, compare_filters, read_labels

    if published and thresholds is not None:
        raise ValueError("thresholds are either --published or those of a file; give one of the two options")
    if page is not None:
        _page(folder, page)
    if labels is None and not published and thresholds is None:
        if page is None:
            raise ValueError(
                "say where thresholds come from: --labels FILE, --thresholds FILE, --published, or make labels with "
                "--page"
            )
        console().print(
            f"[dim]then: brittle slide filter {folder} --labels labels.csv … -o {output}[/]", soft_wrap=True
        )
        return
    known = None if labels is None else read_labels(labels)
    wording = prompts or ("code" if published else "words")
    table = _read(scores) if scores is not None else scored(folder, clip, dino, wording, batch_size, device).table
    given, number = _given(published, thresholds)
    least = number if least is None else least
    limits = given or choose_thresholds(table, known or {}, tpr=tpr, partial=partial)
    if published and "DINO_ref_no_head" not in table.columns:
        raise ValueError("the published filter has four scores; give --dino, the folder of DINOv2 ViT-L/14")
    quality, how = None, ""
    if known is not None and given:
        quality = compare_filters(table, known, limits, least=least, partial=partial)
    elif known is not None:
        quality, how = judge_filter(table, known, limits, tpr=tpr, least=least, partial=partial)
    files = [] if scores is not None else [write_table(table, output / "scores.csv")]
    files += filter_table(table, limits, output, least=least)[1]
    if quality is not None and known is not None:
        files += quality_table(quality, output, how)
        files.append(score_figure(table, known, limits, output, partial=partial))
    tell_files(*files)
    kept = output / "kept.csv"
    model = "tiny:standard" if "tiny" in (clip, dino, thresholds) else "timm:resnet50"
    say_next("run", "-m", model, "-d", f"cns-bench:{folder}", "--keep", kept, "-o", "run")


def _given(published: bool, thresholds: str | None) -> tuple[dict[str, float], int]:
    """The thresholds that are not to be chosen, and how many scores must pass."""
    from brittle.sliders import published_thresholds, read_thresholds
    from brittle.sliders.world import tiny_world

    if thresholds is not None:
        return tiny_world().thresholds() if thresholds == TINY else read_thresholds(thresholds)
    return (published_thresholds() if published else {}), 2


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
        table = pl.read_csv(path, glob=False)
    except pl.exceptions.PolarsError as error:
        raise ValueError(f"{str(path)!r} is no file of scores: {error}") from error
    lacking = [name for name in ("sample", "shift", "label", "name", "seed", "scale") if name not in table.columns]
    if lacking:
        raise ValueError(f"{str(path)!r} has no column {', '.join(lacking)}; give a scores.csv of brittle")
    return table
