"""The out-of-class filter, its thresholds, labels and quality."""

from __future__ import annotations

import base64
import csv
import html
import io
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import ArrayLike
from PIL import Image as Pil

from brittle._errors import BrittleError
from brittle._io import atomic_write
from brittle._types import as_bool_array
from brittle.datasets import Dataset, UnreadableImage
from brittle.metrics import Estimate, published_table, wilson
from brittle.models import Model
from brittle.sliders.clip import FILTER_SCORES, TRAJECTORY, ImageScores, class_name
from brittle.sliders.training import check_whole


def ooc_filter(
    scores: ImageScores | pl.DataFrame,
    thresholds: Thresholds,
    *,
    least: int = 2,
    scales: Sequence[float] | None = None,
) -> pl.DataFrame:
    """The table of scores with columns `passes`, `passed` and `kept`.

    An image passes a score if it is greater than the threshold; a score that is missing is not passed. It has
    `passed` if it passes `least` of them: two of four, as in the published code. It is `kept` if it and all others
    of its trajectory passed: at `scales`, by default all scales that the shift has. `least=1` with one threshold,
    {"CLIP_class": …}, is the naive filter.
    """
    table = scores.table if isinstance(scores, ImageScores) else scores
    lacking = [name for name in thresholds if name not in table.columns]
    if lacking or not thresholds:
        raise BrittleError(
            f"there is no score {', '.join(lacking) or '(no thresholds given)'} among {', '.join(table.columns)}"
        )
    if not 1 <= least <= len(thresholds):
        raise BrittleError(
            f"least is how many of {len(thresholds)} scores must pass, between 1 and that; got {least!r}"
        )
    passes = pl.sum_horizontal([(pl.col(name) > value).fill_null(False) for name, value in thresholds.items()])
    table = table.with_columns(passes.alias("passes")).with_columns((pl.col("passes") >= least).alias("passed"))
    if scales is not None:
        wanted = pl.lit(len(set(scales)))
        counted = pl.col("passed") & pl.col("scale").is_in([float(scale) for scale in scales])
    else:
        wanted = pl.col("scale").n_unique().over("shift")
        counted = pl.col("passed")
    whole = counted.sum().over(TRAJECTORY) == wanted
    return table.with_columns((whole & counted).alias("kept"))


def kept_samples(filtered: pl.DataFrame) -> list[str]:
    """The ids of the images that are kept; if there are none, that is an error."""
    found = filtered.filter("kept")["sample"].to_list()
    if not found:
        passed = int(filtered["passed"].sum())
        raise BrittleError(
            f"no trajectory is left: {passed} of {len(filtered)} images passed, but in no trajectory all of them; "
            "choose other thresholds, a smaller `least`, or fewer scales"
        )
    return found


LABELS = ("class", "partial", "not class")
"""The class is there; some of its properties are; it is not there, so the image is out of class."""

PARTIAL = ("class", "not class", "skip")


def read_labels(path: str | Path) -> dict[str, str]:
    """Labels by sample from a CSV file with columns sample and label; rows without a label are left out.

    A label is "class", "partial" or "not class". The labelling page writes such a file.
    """
    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(f"there is no file of labels {str(path)!r}")
    with file.open(encoding="utf-8-sig", newline="") as rows:
        reader = csv.DictReader(rows)
        if not {"sample", "label"} <= set(reader.fieldnames or ()):
            raise BrittleError(f"{str(path)!r} has columns {reader.fieldnames}; a file of labels has sample and label")
        found: dict[str, str] = {}
        for number, row in enumerate(reader, 2):
            label = (row["label"] or "").strip()
            if not label:
                continue
            _check(label, f"line {number} of {str(path)!r}")
            if found.get(row["sample"], label) != label:
                raise BrittleError(f"line {number} of {str(path)!r} labels {row['sample']!r} a second time, otherwise")
            found[row["sample"]] = label
    if not found:
        raise BrittleError(f"{str(path)!r} has no labels yet")
    return found


def write_labels(labels: Mapping[str, str], path: str | Path) -> None:
    """Write labels as such a file."""
    for sample, label in labels.items():
        _check(label, repr(sample))
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(Path(path)) as part, part.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("sample", "label"))
        writer.writerows(labels.items())


def labelled(scores: ImageScores | pl.DataFrame, labels: Mapping[str, str], *, partial: str = "class") -> pl.DataFrame:
    """The rows of the labelled images, with a column `out_of_class`.

    The filter is to find what a shift destroyed. So images at scale 0 are left out, which are compared with
    themselves and pass two scores whatever they show, and so are trajectories whose image at scale 0 is labelled out of
    class: no shift took from them what they never had.
    """
    if partial not in PARTIAL:
        raise BrittleError(f"partial must be one of {', '.join(PARTIAL)}, got {partial!r}")
    table = scores.table if isinstance(scores, ImageScores) else scores
    said = {s: label if label != "partial" else partial for s, label in labels.items()}
    for sample, label in labels.items():
        _check(label, repr(sample))
    rows = [(sample, label == "not class") for sample, label in said.items() if label != "skip"]
    found = table.join(
        pl.DataFrame(rows, schema={"sample": pl.String, "out_of_class": pl.Boolean}, orient="row"), on="sample"
    )
    if found.is_empty():
        raise BrittleError(f"none of the {len(labels)} labelled samples is among the {len(table)} images with scores")
    never = found.filter((pl.col("scale") == 0) & pl.col("out_of_class"))
    found = found.filter(pl.col("scale") != 0).join(never, on=TRAJECTORY, how="anti")
    if found.is_empty():
        raise BrittleError(
            f"none of the {len(labels)} labelled samples can tell what a shift destroys; label images at other scales "
            "than 0, of trajectories that show their class at scale 0"
        )
    return found


def _check(label: str, where: str) -> None:
    if label not in LABELS:
        raise BrittleError(f"{where} has the label {label!r}; labels are {', '.join(LABELS)}")


@dataclass(frozen=True)
class FilterQuality:
    """TPR: the share of out-of-class images that is removed; FPR: of the others; accuracy: of all, treated rightly."""

    tpr: Estimate
    fpr: Estimate
    accuracy: Estimate


def filter_quality(
    removed: ArrayLike, out_of_class: ArrayLike, *, trajectory: ArrayLike | None = None, level: float = 0.95
) -> FilterQuality:
    """The quality of a filter from what it removed and what it should have, with Wilson's intervals.

    With the number of each image's trajectory, an interval counts a trajectory as one observation, not its images.
    """
    gone, wanted = as_bool_array(removed, "removed"), as_bool_array(out_of_class, "out_of_class")
    of = np.arange(len(wanted)) if trajectory is None else np.asarray(trajectory)
    if gone.shape != wanted.shape or gone.shape != of.shape or gone.ndim != 1:
        raise BrittleError(
            f"removed, out_of_class and trajectory are rows of the same length, got {gone.shape}, {wanted.shape}, "
            f"{of.shape}"
        )
    if wanted.all() or not wanted.any():
        raise BrittleError(
            f"{int(wanted.sum())} of {len(wanted)} labelled images are out of class; TPR and FPR need both kinds"
        )

    def share(name: str, hits: np.ndarray, among: np.ndarray) -> Estimate:
        value, number = float(hits[among].mean()), len(np.unique(of[among]))
        low, high = wilson(value * number, number, level=level)
        return Estimate(name, value, float(low), float(high), level, number, "wilson")

    return FilterQuality(
        share("TPR", gone, wanted), share("FPR", gone, ~wanted), share("filter accuracy", gone == wanted, of == of)
    )


def compare_filters(
    scores: ImageScores | pl.DataFrame,
    labels: Mapping[str, str],
    thresholds: Thresholds,
    *,
    least: int = 2,
    partial: str = "class",
    level: float = 0.95,
) -> pl.DataFrame:
    """The quality of the filter and, beside it, of each score alone; `CLIP_class` alone is the naive filter.

    Single images count, before incomplete trajectories are dropped; which ones, see `labelled`. Images of one
    trajectory are alike, so the intervals are Wilson's for as many observations as there are trajectories. On the
    labels that thresholds were chosen with, this flatters: `held_out_filters` does not.
    """
    known = labelled(scores, labels, partial=partial)
    return _qualities(known, _removed(known, thresholds, least), level)


def held_out_filters(
    scores: ImageScores | pl.DataFrame,
    labels: Mapping[str, str],
    *,
    tpr: float = 0.9,
    least: int = 2,
    partial: str = "class",
    folds: int = 5,
    seed: int = 0,
    level: float = 0.95,
) -> pl.DataFrame:
    """The same for images that the thresholds were chosen without: what the filter is worth on new ones.

    Trajectories are dealt into `folds` parts, those of one class and seed into the same one, since they start from the
    same image; each part is judged by thresholds that `choose_thresholds` finds in the others.
    """
    known = labelled(scores, labels, partial=partial)
    starts = known.select("label", "seed").unique().sort("label", "seed")
    if not 2 <= folds <= len(starts):
        raise BrittleError(
            f"{folds!r} folds cannot be made of the labels of {len(starts)} images at scale 0; give a number from 2 to "
            "that"
        )
    dealt = np.random.default_rng(seed).permutation(len(starts)) % folds
    known = known.join(starts.with_columns(pl.Series("fold", dealt)), on=["label", "seed"])
    parts = []
    for fold in range(folds):
        limits = limits_for(known.filter(pl.col("fold") != fold), tpr)
        parts.append(_removed(known.filter(pl.col("fold") == fold), limits, least))
    return _qualities(
        pl.concat([known.filter(pl.col("fold") == fold) for fold in range(folds)]), pl.concat(parts), level
    )


def _removed(known: pl.DataFrame, thresholds: Thresholds, least: int) -> pl.DataFrame:
    """What the filter and each score alone remove, a column for each."""
    filters = {f"{least} of {len(thresholds)}": (dict(thresholds), least)}
    filters |= {name: ({name: value}, 1) for name, value in thresholds.items()}
    return pl.DataFrame(
        {name: ~ooc_filter(known, limits, least=number)["passed"] for name, (limits, number) in filters.items()}
    )


def _qualities(known: pl.DataFrame, removed: pl.DataFrame, level: float) -> pl.DataFrame:
    """A row for each filter."""
    wanted = known["out_of_class"].to_numpy()
    of = known.select(pl.struct(TRAJECTORY).rank("dense")).to_series().to_numpy()
    rows = []
    for name in removed.columns:
        found = filter_quality(removed[name].to_numpy(), wanted, trajectory=of, level=level)
        shares = [x for e in (found.tpr, found.fpr, found.accuracy) for x in (e.value, e.low, e.high)]
        rows.append((name, *shares, len(known), int(wanted.sum())))
    parts = [f"{which}{end}" for which in ("tpr", "fpr", "accuracy") for end in ("", "_low", "_high")]
    return pl.DataFrame(rows, schema=["filter", *parts, "images", "out_of_class"], orient="row")


Thresholds = Mapping[str, float]
"""Of scores by name; an image passes if its score is greater."""

EXAMPLE = '{"least": 2, "thresholds": {"CLIP_class": 28.7}}'


def published_thresholds() -> dict[str, float]:
    """The thresholds CNS-Bench was filtered with: for CLIP ViT-B/16, DINOv2 ViT-L/14 and `CODE_PROMPTS` only."""
    table = published_table("cns-ooc-thresholds")
    return {str(name): float(value) for name, value in zip(table["score"], table["threshold"], strict=True)}


def write_thresholds(thresholds: Thresholds, path: str | Path, *, least: int = 2) -> Path:
    """Keep thresholds for other images, and how many of them an image must pass."""
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(file) as part:
        words = json.dumps({"least": least, "thresholds": dict(thresholds)}, indent=1)
        part.write_text(f"{words}\n", encoding="utf-8")
    return file


def read_thresholds(path: str | Path) -> tuple[dict[str, float], int]:
    """What `write_thresholds` kept: the thresholds, and how many of them an image must pass."""
    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(f"there is no file of thresholds {str(path)!r}; `brittle slide filter` writes one")
    try:
        kept = json.loads(file.read_text(encoding="utf-8"))
        found, least = {str(name): float(value) for name, value in kept["thresholds"].items()}, int(kept["least"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BrittleError(
            f"{str(path)!r} holds no thresholds; it should be like {EXAMPLE}, as `brittle slide filter` writes it"
        ) from error
    unknown = [name for name in found if name not in FILTER_SCORES]
    if unknown or not found:
        raise BrittleError(
            f"{str(path)!r} has thresholds of {', '.join(unknown) or 'nothing'}; "
            f"the scores are {', '.join(FILTER_SCORES)}"
        )
    return found, least


def choose_thresholds(
    scores: ImageScores | pl.DataFrame,
    labels: Mapping[str, str],
    *,
    tpr: float = 0.9,
    which: Sequence[str] | None = None,
    partial: str = "class",
) -> dict[str, float]:
    """For each score the lowest threshold that removes at least a share `tpr` of the labelled out-of-class images.

    `labels` are of samples, see `read_labels`. There must be at least 1 / (1 − tpr) out-of-class images, 10 for 0.9,
    or the threshold would be their maximum. Images without a score are left out, and so are those at scale 0 and what
    starts out of class, see `labelled`. `partial` says what an image with some properties of the class counts as:
    "class", "not class" or "skip".
    """
    return limits_for(labelled(scores, labels, partial=partial), tpr, which)


def limits_for(known: pl.DataFrame, tpr: float, which: Sequence[str] | None = None) -> dict[str, float]:
    """The same for rows that have a column `out_of_class`."""
    if not 0 < tpr < 1:
        raise BrittleError(f"tpr is a share between 0 and 1, such as 0.9, got {tpr!r}")
    outside = known.filter(pl.col("out_of_class"))
    least = math.ceil(1 / (1 - tpr) - 1e-9)
    found = {}
    for name in which or [name for name in FILTER_SCORES if name in known.columns]:
        if name not in known.columns:
            raise BrittleError(f"there is no score {name!r}; there are: {', '.join(FILTER_SCORES)}")
        values = np.sort(outside[name].drop_nulls().to_numpy())
        if len(values) < least:
            raise BrittleError(
                f"{len(values)} images labelled out of class are too few to choose a threshold of {name} for a TPR of "
                f"{tpr:g}; label at least {least}"
            )
        found[name] = float(values[math.ceil(tpr * len(values) - 1e-9) - 1])
    return found


UNSURE = 0.1
"""A class that the judge gives a lower probability is not in the image."""


def oracle_labels(data: Dataset, judge: Model, *, unsure: float = UNSURE, batch_size: int = 256) -> dict[str, str]:
    """Labels by sample, as `read_labels` gives them.

    An image shows its class if the judge answers with it, does not if the judge gives it a probability below `unsure`,
    and shows some of it otherwise: "partial".
    """
    if data.labels is None:
        raise BrittleError(f"{data.name!r} has no labels to judge by")
    said: dict[str, str] = {}
    for start in range(0, len(data), batch_size):
        places = range(start, min(start + batch_size, len(data)))
        logits = judge.scores(np.stack([data.image(i) for i in places])).astype(np.float64)
        exp = np.exp(logits - logits.max(1, keepdims=True))
        for i, answer, given in zip(places, logits.argmax(1), exp / exp.sum(1, keepdims=True), strict=True):
            label = int(data.labels[i])
            said[str(data.ids[i])] = "class" if answer == label else "not class" if given[label] < unsure else "partial"
    return said


PAGE = Path(__file__).parent / "labelling_page.html"


def write_labelling_page(
    dataset: Dataset, path: str | Path, *, samples: Sequence[str] | None = None, side: int = 192
) -> list[str]:
    """Write one HTML file that shows images one by one and saves labels as a CSV file for `read_labels`.

    It needs no network and no server, and keeps what was done in the browser. Keys 1, 2, 3 label, ← goes back.
    The label of a class is its folder's words. Images that cannot be read are left out, and given back.

    Args:
        samples: the ids to label, in this order; by default all.
        side: the longest side of the images in the page; larger ones are made smaller.
    """
    check_whole(side=(side, 8))
    place = {str(sample): i for i, sample in enumerate(dataset.ids)}
    wanted = list(place) if samples is None else [str(sample) for sample in samples]
    unknown = [sample for sample in wanted if sample not in place]
    if unknown or not wanted:
        raise BrittleError(f"{dataset.name!r} has no image {unknown[0]!r}" if unknown else "there is nothing to label")
    items, broken = [], []
    for sample in wanted:
        try:
            picture = Pil.fromarray(dataset.image(place[sample]))
        except UnreadableImage:
            broken.append(sample)
            continue
        picture.thumbnail((side, side))
        stream = io.BytesIO()
        picture.save(stream, "JPEG", quality=90)
        items.append([sample, class_name(sample), base64.b64encode(stream.getvalue()).decode()])
    data = json.dumps({"items": items, "labels": LABELS}, ensure_ascii=False).replace("<", "\\u003c")
    page = PAGE.read_text(encoding="utf-8").replace("__TITLE__", html.escape(dataset.name)).replace("__DATA__", data)
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(file) as part:
        part.write_text(page, encoding="utf-8")
    return broken
