"""`brittle slide label`: a page to label images on, and one label for each image from several annotators."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from brittle._errors import BrittleError
from brittle.cli.console import console, hint, print_json, resumable_progress, say_next, split_commas, tell_files
from brittle.cli.inputs import follow, save_table
from brittle.cli.options import MergeRule, PartialLabels, UnlabelledAs, option
from brittle.cli.slide.measure import SLIDES
from brittle.cli.styles import BOLD, DIM, END, YELLOW

if TYPE_CHECKING:
    import polars as pl

    from brittle.datasets import Dataset

EXAMPLES = (
    ("brittle slide label slides/ --page label.html", "a page to label images on, by keys"),
    (
        "brittle slide label slides/ --page label.html --scores measured/scores.csv --results all-run",
        "only images that are not easy for CLIP and two models, hardest first",
    ),
    ("brittle slide label slides/ --labels anna.csv --labels bo.csv --rule any-ooc", "two annotators"),
    (
        "brittle slide label slides/ --labels labels.csv --results all-run --filtered filtered/kept.csv",
        "accuracy on images that people kept beside those that the filter kept",
    ),
)


def label_verb(
    slides: SLIDES,
    output: Annotated[
        Path, option("--output", help="The folder for labels.csv, kept.csv and the other tables.")
    ] = Path("labelled"),
    page: Annotated[Path | None, option("--page")] = None,
    labels: Annotated[list[Path] | None, option("--labels")] = None,
    rule: Annotated[MergeRule, option("--rule")] = "agree",
    words: Annotated[list[str] | None, option("--word")] = None,
    partial: Annotated[PartialLabels, option("--partial-as")] = "class",
    unlabelled: Annotated[UnlabelledAs, option("--unlabelled")] = "not class",
    scores: Annotated[Path | None, option("--scores")] = None,
    results: Annotated[Path | None, option("--results")] = None,
    right: Annotated[int, option("--right")] = 2,
    keep: Annotated[Path | None, option("--keep")] = None,
    limit: Annotated[int | None, option("--limit")] = None,
    filtered: Annotated[Path | None, option("--filtered")] = None,
    as_json: Annotated[bool, option("--json")] = False,
) -> None:
    """Write a page to label images on, or merge the labels of several annotators.

    A label says whether the image shows its class, some properties of it, or does not. The page loads its pictures from
    a folder beside it. With labels of several people, Cohen's κ measures their agreement, a rule merges their labels,
    and the folder gets labels.csv for `brittle slide filter --labels`, kept.csv for `brittle run --keep` with the
    trajectories that show their class throughout, agreement.csv, and with --results accuracy.csv: accuracy on the
    images that people and the filter kept.
    """
    from brittle.datasets import cns_bench

    if page is None and not labels:
        raise BrittleError("say what to do: --page FILE.html writes a page to label on, --labels FILE reads labels")
    if not slides.is_dir():
        raise FileNotFoundError(f"there is no folder of slides {str(slides)!r}; `brittle slide sample` makes one")
    dataset = cns_bench(slides)
    if page is not None:
        _page(dataset, page, scores, results, right=right, keep=keep, limit=limit)
        say_next("slide", "label", slides, "--labels", "labels.csv", "-o", output)
    if labels:
        _merge(dataset, output, labels, rule, split_commas(words), partial, unlabelled, results, filtered, as_json)
        hint(f"these labels choose the thresholds of `brittle slide filter {slides} --labels {output / 'labels.csv'}`")


def _page(
    dataset: Dataset,
    page: Path,
    scores: Path | None,
    results: Path | None,
    *,
    right: int,
    keep: Path | None,
    limit: int | None,
) -> None:
    from brittle.datasets import read_kept_samples
    from brittle.evaluation import load_results
    from brittle.sliders import choose_samples, read_scores, write_labelling_page

    if page.suffix.lower() not in (".html", ".htm"):
        raise BrittleError(f"the page is an .html file, got {str(page)!r}")
    samples = choose_samples(
        dataset,
        keep=None if keep is None else read_kept_samples(keep),
        scores=None if scores is None else read_scores(scores),
        results=None if results is None else load_results(results),
        right=right,
        limit=limit,
    )
    with resumable_progress() as bar:
        progress = follow(bar)
        unreadable = write_labelling_page(
            dataset, page, samples=samples, progress=lambda done, total: progress("pictures", done, total)
        )
    if unreadable:
        console().print(f"{YELLOW}unreadable images, not on the page: {len(unreadable):,}{END}")
    note = f"{len(samples) - len(unreadable):,} of {len(dataset):,} images; pictures in {page.stem}_files beside it; "
    note += "open it, label with the keys 1, 2, 3, and save labels.csv"
    console().print(f"{page}  {DIM}{note}{END}", soft_wrap=True)


def _merge(
    dataset: Dataset,
    output: Path,
    labels: list[Path],
    rule: str,
    words: list[str],
    partial: str,
    unlabelled: str,
    results: Path | None,
    filtered: Path | None,
    as_json: bool,
) -> None:
    import polars as pl

    from brittle.datasets import read_kept_samples
    from brittle.evaluation import load_results
    from brittle.sliders import (
        annotator_agreement,
        keep_labelled,
        label_counts,
        labelled_accuracy,
        merged_labels,
        read_annotations,
        read_words,
        write_labels,
    )

    samples = [str(sample) for sample in dataset.ids]
    annotations = read_annotations(*labels, samples=samples, words=read_words(words))
    agreement = annotator_agreement(annotations, partial=partial)
    counts, merged = label_counts(annotations), merged_labels(annotations, rule)
    accuracy = None
    if results is not None:
        kept_by_filter = None if filtered is None else read_kept_samples(filtered)
        accuracy = labelled_accuracy(load_results(results), merged, kept_by_filter, partial=partial)
    write_labels(merged, output / "labels.csv")
    files = [output / "labels.csv", save_table(counts, output / "counts.csv")]
    if len(agreement):
        files.append(save_table(agreement, output / "agreement.csv"))
    if accuracy is not None:
        files.append(save_table(accuracy, output / "accuracy.csv"))
    try:
        kept = keep_labelled(merged, samples, partial=partial, unlabelled=unlabelled)
        files.append(save_table(pl.DataFrame({"sample": kept}), output / "kept.csv"))
    except BrittleError as error:
        kept = []
        console().print(f"{YELLOW}nothing is kept:{END} {error}", soft_wrap=True)
    if as_json:
        print_json({"labels": merged, "counts": counts, "agreement": agreement, "kept": kept, "accuracy": accuracy})
        return
    _print_counts(counts)
    _print_agreement(agreement)
    left_out = annotations["sample"].n_unique() - len(merged)
    more = f"; {left_out:,} without one by the rule {rule!r} left out" if left_out else ""
    console().print(
        f"{BOLD}{len(merged):,} images labelled{END}{more}; {len(kept):,} images of whole trajectories kept\n"
    )
    if accuracy is not None:
        _print_accuracy(accuracy)
    tell_files(*files)


def _print_counts(counts: pl.DataFrame) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    shown = Table(box=SIMPLE_HEAD, pad_edge=False)
    for i, column in enumerate(counts.columns):
        shown.add_column(column, justify="right" if i else "left")
    for row in counts.iter_rows():
        shown.add_row(*[f"{value:,}" if isinstance(value, int) else str(value) for value in row])
    console().print(shown)


def _print_agreement(agreement: pl.DataFrame) -> None:
    for row in agreement.iter_rows(named=True):
        pair = f"{row['first']} and {row['second']}, {row['labels']}"
        if row["agreement"] is None:
            console().print(f"{pair}: {DIM}no image labelled by both{END}")
            continue
        kappa = "κ undefined"
        if row["kappa"] is not None:
            kappa = f"κ {row['kappa']:.3f} {DIM}[{row['low']:.3f}, {row['high']:.3f}]{END}"
        console().print(f"{pair}: {kappa}, agree on {100 * row['agreement']:.1f} % of {row['images']:,} images")


def _print_accuracy(accuracy: pl.DataFrame) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    selections = accuracy["selection"].unique(maintain_order=True).to_list()
    shown = Table(box=SIMPLE_HEAD, pad_edge=False)
    for i, title in enumerate(("model", "scale", *selections)):
        shown.add_column(title, justify="right" if i else "left", overflow="fold")
    for (model, scale), part in accuracy.group_by(["model", "scale"], maintain_order=True):
        rows = {row["selection"]: row for row in part.iter_rows(named=True)}
        cells = [
            Text.assemble(
                f"{100 * r['accuracy']:.1f} ", (f"[{100 * r['low']:.0f}, {100 * r['high']:.0f}] {r['images']}", "dim")
            )
            if r
            else Text("–")
            for r in map(rows.get, selections)
        ]
        shown.add_row(str(model), f"{scale:g}", *cells)
    console().print(shown)
    console().print(f"{DIM}percent right of labelled images, 95 % intervals, number of images{END}\n")
