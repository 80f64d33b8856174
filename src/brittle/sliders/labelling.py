"""Labelling by hand: which images are worth a look, the page to label them on, and what the labels change."""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Collection, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

import polars as pl
from PIL import Image as Pil

from brittle._errors import BrittleError
from brittle._io import atomic_write
from brittle.datasets import Dataset, UnreadableImage
from brittle.evaluation import Results
from brittle.metrics import wilson
from brittle.sliders.clip import ImageScores, class_name
from brittle.sliders.labels import LABELS, resolve_partial
from brittle.sliders.training import check_integers

SHIFT = "cns/"
PAGE = Path(__file__).parent / "labelling_page.html"


def hard_samples(
    scores: ImageScores | pl.DataFrame, results: Results, *, alignment: float = 0.5, right: int = 2
) -> pl.DataFrame:
    """The images worth labelling, hardest first: all but those that surely show their class.

    As in CNS-Bench an image is easy, and left out, if CLIP finds it well aligned with its class and several classifiers
    get it right. The paper gives no numbers for either. Here an image is well aligned if its CLIP_class is above the
    quantile `alignment` of all images, and `right` classifiers must be right. The table has columns sample, CLIP_class
    and right, how many models of `results` are right; images that they were not shown count as hard.
    """
    table = scores.table if isinstance(scores, ImageScores) else scores
    if "CLIP_class" not in table.columns:
        raise BrittleError(f"hard images are found by the score CLIP_class; there are: {', '.join(table.columns)}")
    if not 0 <= alignment <= 1:
        raise BrittleError(f"alignment is a quantile between 0 and 1, such as 0.5, got {alignment!r}")
    rows = _shift_rows(results)
    models = rows["model"].n_unique()
    check_integers(right=(right, 1))
    if models < right:
        raise BrittleError(
            f"an image is easy if {right} models are right, but {models} were run; run more, or say --right"
        )
    counts = rows.group_by("sample").agg(pl.col("correct").sum().alias("right"))
    table = table.select("sample", "CLIP_class").join(counts, on="sample", how="left")
    if table["right"].null_count() == len(table):
        raise BrittleError(f"none of the {len(table)} images with scores is among the {len(counts)} of the results")
    table = table.with_columns(pl.col("right").fill_null(0).cast(pl.Int64))
    limit = table["CLIP_class"].quantile(alignment, "linear")
    easy = (pl.col("CLIP_class") > limit) & (pl.col("right") >= right)
    return table.filter(~easy.fill_null(False)).sort("right", "CLIP_class", "sample")


def choose_samples(
    dataset: Dataset,
    *,
    keep: Collection[str] | None = None,
    scores: ImageScores | pl.DataFrame | None = None,
    results: Results | None = None,
    right: int = 2,
    limit: int | None = None,
) -> list[str]:
    """The ids to label: all, those of `keep`, or with scores and results only the hard ones, hardest first.

    `limit` takes the hardest, or without scores some that lie evenly over all.
    """
    if (scores is None) != (results is None):
        raise BrittleError("hard images are found by scores and results together; give --scores FILE and --results RUN")
    samples = [str(sample) for sample in dataset.ids]
    if scores is not None and results is not None:
        known = set(samples)
        samples = [sample for sample in hard_samples(scores, results, right=right)["sample"] if sample in known]
    if keep is not None:
        kept = set(keep)
        unknown = sorted(kept - {str(sample) for sample in dataset.ids})
        if unknown:
            raise BrittleError(f"{dataset.name!r} has no image {unknown[0]!r}, of {len(kept)} to keep")
        samples = [sample for sample in samples if sample in kept]
    if limit is not None:
        check_integers(limit=(limit, 1))
    if not samples:
        raise BrittleError("no image is left to label; keep more of them, or ask that more models are --right")
    if limit is None or limit >= len(samples):
        return samples
    return samples[:limit] if scores is not None else [samples[i * len(samples) // limit] for i in range(limit)]


def write_labelling_page(
    dataset: Dataset,
    path: str | Path,
    *,
    samples: Sequence[str] | None = None,
    side: int = 192,
    progress: Callable[[int, int], None] | None = None,
) -> list[str]:
    """Write a page that shows images one by one and saves labels as a CSV file for `read_annotations`.

    Pictures are files in a folder beside it, label_files of label.html, and loaded when they are looked at, so tens of
    thousands are no burden; send both to each annotator. The page needs no network and no server, asks for the name of
    the annotator, and keeps labels so far in the browser. Keys 1, 2, 3 label, ← and → move. The class name is that of
    the class folder. Unreadable images are left out; their ids are returned.

    Args:
        samples: the ids to label, in this order; by default all.
        side: the longest side of a picture; larger images are downscaled.
    """
    check_integers(side=(side, 8))
    index = {str(sample): i for i, sample in enumerate(dataset.ids)}
    ids = list(index) if samples is None else [str(sample) for sample in samples]
    unknown = [sample for sample in ids if sample not in index]
    if unknown or not ids:
        raise BrittleError(f"{dataset.name!r} has no image {unknown[0]!r}" if unknown else "there is nothing to label")
    file = Path(path)
    folder = file.with_name(f"{file.stem}_files")
    folder.mkdir(parents=True, exist_ok=True)
    names = {name: i for i, name in enumerate(sorted({class_name(sample) for sample in ids}))}
    items: list[tuple[str, int, str]] = []
    unreadable: list[str] = []
    for done, sample in enumerate(ids, 1):
        try:
            image = Pil.fromarray(dataset.image(index[sample]))
        except UnreadableImage:
            unreadable.append(sample)
            continue
        image.thumbnail((side, side))
        picture = f"{sha256(sample.encode()).hexdigest()[:12]}.jpg"
        image.save(folder / picture, "JPEG", quality=90)  # not atomically: the page, written last, makes it complete
        items.append((sample, names[class_name(sample)], picture))
        if progress is not None:
            progress(done, len(ids))
    content = {
        "folder": folder.name,
        "key": sha256("\n".join(sample for sample, _, _ in items).encode()).hexdigest()[:16],
        "labels": LABELS,
        "names": list(names),
        "items": items,
    }
    data = json.dumps(content, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    page = PAGE.read_text(encoding="utf-8").replace("__TITLE__", html.escape(dataset.name)).replace("__DATA__", data)
    with atomic_write(file) as part:
        part.write_text(page, encoding="utf-8")
    return unreadable


def labelled_accuracy(
    results: Results,
    labels: Mapping[str, str],
    filtered: Collection[str] | None = None,
    *,
    partial: str = "class",
    level: float = 0.95,
) -> pl.DataFrame:
    """Accuracy on labelled images: on all, on those that show their class by hand, and on those that a filter kept.

    This is Fig 5 of CNS-Bench: what an automatic filter leaves should be as hard as what people leave. All three are of
    the labelled images that every model was shown, `partial` counted as it says; `filtered` are the ids that the filter
    kept. One row for each model, scale and selection, with Wilson's interval.
    """
    resolved = resolve_partial(labels, partial)
    rows = _shift_rows(results).filter(pl.col("sample").is_in(list(resolved)))
    models = sorted(rows["model"].unique())
    rows = rows.filter(pl.col("model").n_unique().over("sample") == len(models))
    if rows.is_empty():
        raise BrittleError(
            f"none of the {len(labels)} labelled images is in the results; run models on all images, without --keep"
        )
    by_hand = [sample for sample, label in resolved.items() if label == "class"]
    selections = {"all labelled": list(resolved), "by hand": by_hand}
    if filtered is not None:
        selections["by the filter"] = list(filtered)
    parts = []
    for selection, samples in selections.items():
        counts = (
            rows.filter(pl.col("sample").is_in(samples))
            .group_by("model", pl.col("level").alias("scale"))
            .agg(pl.col("correct").sum().alias("right"), pl.len().alias("images"))
            .with_columns(pl.lit(selection).alias("selection"))
        )
        parts.append(counts)
    table = pl.concat(parts)
    low, high = wilson(table["right"].to_numpy(), table["images"].to_numpy(), level=level)
    table = table.with_columns(
        (pl.col("right") / pl.col("images")).alias("accuracy"), pl.Series("low", low), pl.Series("high", high)
    )
    order = pl.Enum(list(selections))
    table = table.sort("model", "scale", pl.col("selection").cast(order))
    return table.select("model", "scale", "selection", "accuracy", "low", "high", "images")


def _shift_rows(results: Results) -> pl.DataFrame:
    rows = (
        results.rows.filter(pl.col("corruption").str.starts_with(SHIFT))
        .select("model", "level", "sample", "correct")
        .collect()
    )
    if rows.is_empty():
        raise BrittleError("the results are of no slides; run models with --data cns-bench:SLIDES")
    return rows
