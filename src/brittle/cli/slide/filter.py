"""`brittle slide filter`: the trajectories whose images all still show their class."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from brittle._errors import BrittleError
from brittle.cli.console import console, print_json, say_next, tell_files
from brittle.cli.inputs import DEVICE, save_table
from brittle.cli.options import PartialLabels, Prompts, option
from brittle.cli.slide.inputs import CLIP
from brittle.cli.slide.measure import SLIDES, load_scores
from brittle.cli.styles import BOLD, DIM, END

if TYPE_CHECKING:
    import polars as pl


def filter_table(
    table: pl.DataFrame, limits: Mapping[str, float], output: Path, *, least: int
) -> tuple[list[str], list[Path]]:
    """Filter, print how many trajectories are kept, and write them; returns the kept samples and the files."""
    import polars as pl

    from brittle.sliders import kept_samples, ooc_filter, write_thresholds
    from brittle.sliders.clip import TRAJECTORY

    filtered = ooc_filter(table, limits, least=least)
    samples = kept_samples(filtered)
    kept = filtered.filter("kept")
    groups = filtered.group_by(TRAJECTORY).agg(pl.col("kept").any())
    conditions = ", ".join(f"{name} > {value:.4g}" for name, value in limits.items())
    console().print(f"{DIM}at least {least} of {conditions}{END}", soft_wrap=True)
    console().print(
        f"{BOLD}{int(groups['kept'].sum()):,} of {len(groups):,} trajectories kept{END}, "
        f"{len(kept):,} of {len(filtered):,} images"
    )
    for shift, count, total in _by_shift(groups):
        console().print(f"  {shift}  {DIM}{count} of {total}{END}")
    console().print()
    return samples, [
        save_table(kept.select("sample", "shift", "label", "name", "seed", "scale"), output / "kept.csv"),
        save_table(filtered, output / "filtered.csv"),
        write_thresholds(limits, output / "thresholds.json", least=least),
    ]


def quality_table(quality: pl.DataFrame, output: Path, method: str = "", *, labelled_by: str = "") -> list[Path]:
    """The table of `compare_filters`, printed, as CSV and as a figure; `method` says how thresholds were chosen."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    from brittle.plots import plot_filter, save_figure

    shown = Table(box=SIMPLE_HEAD, pad_edge=False)
    shown.add_column("filter", overflow="fold")
    for title in ("TPR", "FPR", "accuracy"):
        shown.add_column(title, justify="right", no_wrap=True)
    for row in quality.iter_rows(named=True):
        cells = [
            Text.assemble(
                f"{100 * row[key]:.1f} ", (f"[{100 * row[f'{key}_low']:.1f}, {100 * row[f'{key}_high']:.1f}]", "dim")
            )
            for key in ("tpr", "fpr", "accuracy")
        ]
        name = f"{row['filter']} alone (naive)" if row["filter"] == "CLIP_class" else row["filter"]
        shown.add_row(name, *cells)
    console().print(shown)
    images, out_of_class = quality["images"][0], quality["out_of_class"][0]
    note = f"percent of {images:,} images, {out_of_class:,} of them labelled out of class{labelled_by}; "
    note += "TPR: removed of these, FPR: removed of the others"
    console().print(f"{DIM}{note}{method and '; '}{method}{END}")
    rows = {row["filter"]: row for row in quality.iter_rows(named=True)}
    if (naive := rows.get("CLIP_class")) is not None and naive["fpr_gap"] is not None:
        gap, low, high = (100 * naive[key] for key in ("fpr_gap", "fpr_gap_low", "fpr_gap_high"))
        than = f"FPR of CLIP_class alone minus that of {quality['filter'][0]}, on the same images"
        console().print(f"{DIM}{than}: {gap:.1f} [{low:.1f}, {high:.1f}] points{END}")
    console().print()
    figure = save_figure(plot_filter(quality), output / "quality.svg")
    return [save_table(quality, output / "quality.csv"), figure]


def score_figure(
    table: pl.DataFrame, labels: Mapping[str, str], limits: Mapping[str, float], output: Path, *, partial: str = "class"
) -> Path:
    """The labelled images by their scores, as scores.svg."""
    from brittle.plots import plot_ooc_scores, save_figure
    from brittle.sliders.filtering import labelled

    return save_figure(plot_ooc_scores(labelled(table, labels, partial=partial), limits), output / "scores.svg")


def roc_files(
    table: pl.DataFrame, labels: Mapping[str, str], output: Path, *, least: int, partial: str = "class"
) -> list[Path]:
    """The ROC curves of the scores and of their rule, as roc.csv and roc.svg."""
    from brittle.plots import plot_roc, save_figure
    from brittle.sliders import filter_roc

    curves = filter_roc(table, labels, least=least, partial=partial)
    return [save_table(curves, output / "roc.csv"), save_figure(plot_roc(curves), output / "roc.svg")]


def _by_shift(groups: pl.DataFrame) -> list[tuple[str, int, int]]:
    import polars as pl

    table = groups.group_by("shift").agg(pl.col("kept").sum(), pl.len().alias("total")).sort("shift")
    return [(str(shift), int(kept), int(total)) for shift, kept, total in table.rows()]


EXAMPLES = (
    (
        "brittle slide filter slides/ --clip clip/ --dino dinov2/ --published-thresholds -o filtered",
        "the published thresholds",
    ),
    ("brittle slide filter slides/ --clip clip/ --dino dinov2/ --labels labels.csv -o filtered", "your thresholds"),
    ("brittle slide filter slides/ --scores filtered/scores.csv --labels labels.csv --tpr 0.95 -o stricter", "quick"),
    (
        "brittle slide filter more/ --clip clip/ --dino dinov2/ --thresholds filtered/thresholds.json -o more-filtered",
        "the same for new images",
    ),
)


def filter_verb(
    slides: SLIDES,
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
    batch_size: Annotated[int, option("--batch-size")] = 32,
    device: DEVICE = "auto",
    as_json: Annotated[bool, option("--json")] = False,
) -> None:
    """Keep the trajectories whose images all still show their class.

    Each image has four scores: CLIP's similarity to the class and to the class in the shift, and CLIP's and
    DINOv2's similarity to the image at scale 0. An image passes if two of them are above their thresholds. The folder
    gets kept.csv for `brittle run --keep`, scores.csv, filtered.csv, thresholds.json for other images, and with labels
    quality.csv, quality.svg, scores.svg, and the ROC curves of all scores and of the rule, roc.csv and roc.svg.
    """
    from brittle.plots import check_figure
    from brittle.sliders import (
        TINY,
        choose_thresholds,
        compare_filters,
        load_thresholds,
        read_labels,
        read_scores,
        validated_filters,
    )

    if labels is not None:
        check_figure(output / "quality.svg")
    given, required = load_thresholds(thresholds, published_thresholds=published)
    if labels is None and not published and thresholds is None:
        raise BrittleError(
            "thresholds come from --labels FILE, --thresholds FILE or --published-thresholds; "
            f"`brittle slide label {slides} --page label.html` makes a page for labels"
        )
    known = None if labels is None else read_labels(labels)
    wording = prompts or ("code" if published else "words")
    table = (
        read_scores(scores)
        if scores is not None
        else load_scores(slides, clip, dino, wording, batch_size, device).table
    )
    least = required if least is None else least
    limits = given or choose_thresholds(table, known or {}, tpr=tpr, partial=partial)
    if published and "DINO_ref_no_head" not in table.columns:
        raise BrittleError("the published filter has four scores; give --dino, the folder of DINOv2 ViT-L/14")
    quality, method = None, ""
    if known is not None and given:
        quality = compare_filters(table, known, limits, least=least, partial=partial)
    elif known is not None:
        quality, method = validated_filters(table, known, limits, tpr=tpr, least=least, partial_as=partial)
    files = [] if scores is not None else [save_table(table, output / "scores.csv")]
    kept, written = filter_table(table, limits, output, least=least)
    files += written
    if quality is not None and known is not None:
        files += quality_table(quality, output, method)
        files.append(score_figure(table, known, limits, output, partial=partial))
        files += roc_files(table, known, output, least=least, partial=partial)
    tell_files(*files)
    if as_json:
        print_json({"kept": kept, "thresholds": limits, "least": least, "quality": quality})
    model = "tiny:standard" if TINY in (clip, dino, thresholds) else "timm:resnet50"
    say_next("run", "-m", model, "-d", f"cns-bench:{slides}", "--keep", output / "kept.csv", "-o", "run")
