"""`brittle slide filter`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from brittle._errors import BrittleError
from brittle.cli.console import console, say_next, tell_files
from brittle.cli.inputs import DEVICE
from brittle.cli.options import PartialLabels, Prompts, option
from brittle.cli.slide.inputs import CLIP, TINY
from brittle.cli.slide.measure import FOLDER, scored, write_table

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
    from brittle.sliders.clip import TRAJECTORY

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

    from brittle.plots import plot_filter, save_figure

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
    figure = save_figure(plot_filter(found), output / "quality.svg")
    return [write_table(found, output / "quality.csv"), figure]


def score_figure(
    table: pl.DataFrame, labels: Mapping[str, str], limits: Mapping[str, float], output: Path, *, partial: str = "class"
) -> Path:
    """The labelled images by their scores, as scores.svg."""
    from brittle.plots import plot_ooc_scores, save_figure
    from brittle.sliders.filtering import labelled

    return save_figure(plot_ooc_scores(labelled(table, labels, partial=partial), limits), output / "scores.svg")


def _by_shift(groups: pl.DataFrame) -> list[tuple[str, int, int]]:
    import polars as pl

    table = groups.group_by("shift").agg(pl.col("kept").sum(), pl.len().alias("of")).sort("shift")
    return [(str(shift), int(kept), int(of)) for shift, kept, of in table.rows()]


EXAMPLES = (
    (
        "brittle slide filter slides/ --clip clip/ --dino dinov2/ --published-thresholds -o filtered",
        "the published thresholds",
    ),
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
    output: Annotated[Path, option("--output", help="The folder for kept.csv and the other tables.")],
    clip: CLIP = None,
    dino: Annotated[str | None, option("--dino")] = None,
    scores: Annotated[Path | None, option("--scores")] = None,
    labels: Annotated[Path | None, option("--labels")] = None,
    tpr: Annotated[float, option("--tpr")] = 0.9,
    published: Annotated[bool, option("--published-thresholds")] = False,
    thresholds: Annotated[
        str | None,
        option("--thresholds"),
    ] = None,
    least: Annotated[int | None, option("--least", show_default="2")] = None,
    partial: Annotated[PartialLabels, option("--partial-as")] = "class",
    prompts: Annotated[
        Prompts | None,
        option("--prompts", show_default="code if published, else words"),
    ] = None,
    page: Annotated[Path | None, option("--page")] = None,
    batch_size: Annotated[int, option("--batch-size")] = 32,
    device: DEVICE = "auto",
) -> None:
    """Keep the trajectories whose images all still show their class.

    Four scores look at each image: CLIP's similarity to the class and to the class in the shift, and CLIP's and
    DINOv2's similarity to the image at scale 0. An image passes if two of them are above their thresholds. The folder
    gets kept.csv for `brittle run --keep`, scores.csv, filtered.csv, thresholds.json for other images, and with labels
    quality.csv, quality.svg and scores.svg.
    """
    from brittle.plots import check_figure
    from brittle.sliders import choose_thresholds, compare_filters, read_labels

    if labels is not None:
        check_figure(output / "quality.svg")
    if published and thresholds is not None:
        raise BrittleError(
            "thresholds are either --published-thresholds or those of a file; give one of the two options"
        )
    if page is not None:
        _page(folder, page)
    if labels is None and not published and thresholds is None:
        if page is None:
            raise BrittleError(
                "thresholds come from --labels FILE, --thresholds FILE, --published-thresholds, or make labels "
                "with --page"
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
        raise BrittleError("the published filter has four scores; give --dino, the folder of DINOv2 ViT-L/14")
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
    from brittle.sliders.demo_pipeline import load_demo_pipeline

    if thresholds is not None:
        return load_demo_pipeline().thresholds() if thresholds == TINY else read_thresholds(thresholds)
    return (published_thresholds() if published else {}), 2


def _page(folder: Path, page: Path) -> None:
    from brittle.datasets import cns_bench
    from brittle.sliders import write_labelling_page

    if page.suffix.lower() not in (".html", ".htm"):
        raise BrittleError(f"the page is an .html file, got {str(page)!r}")
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
        raise BrittleError(f"{str(path)!r} is no file of scores: {error}") from error
    lacking = [name for name in ("sample", "shift", "label", "name", "seed", "scale") if name not in table.columns]
    if lacking:
        raise BrittleError(f"{str(path)!r} has no column {', '.join(lacking)}; give a scores.csv of brittle")
    return table
