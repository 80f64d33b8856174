"""The out-of-class filter, its thresholds, labels and quality."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from brittle._errors import BrittleError
from brittle._io import atomic_write
from brittle._texts import read_json_file
from brittle._types import as_bool_array
from brittle.datasets import Dataset
from brittle.metrics import Estimate, bootstrap, published_table, wilson
from brittle.models import Model
from brittle.sliders.clip import FILTER_SCORES, TRAJECTORY, ImageScores
from brittle.sliders.labels import resolve_partial


def ooc_filter(
    scores: ImageScores | pl.DataFrame,
    thresholds: Thresholds,
    *,
    least: int = 2,
    scales: Sequence[float] | None = None,
) -> pl.DataFrame:
    """The table of scores with columns `passes`, `passed` and `kept`.

    An image passes a score that is greater than its threshold; a missing score is not passed. `passes` counts them.
    An image has `passed` with at least `least` of them: two of four, as in the published code. It is `kept` if all
    images of its trajectory passed: at `scales`, by default at all scales of the shift. `least=1` with one threshold,
    {"CLIP_class": …}, is the naive filter.
    """
    table = scores.table if isinstance(scores, ImageScores) else scores
    missing = [name for name in thresholds if name not in table.columns]
    if missing or not thresholds:
        raise BrittleError(
            f"there is no score {', '.join(missing) or '(no thresholds given)'} among {', '.join(table.columns)}"
        )
    if not 1 <= least <= len(thresholds):
        raise BrittleError(
            f"least is how many of {len(thresholds)} scores must pass, between 1 and that; got {least!r}"
        )
    passes = pl.sum_horizontal([(pl.col(name) > value).fill_null(False) for name, value in thresholds.items()])
    table = table.with_columns(passes.alias("passes")).with_columns((pl.col("passes") >= least).alias("passed"))
    if scales is not None:
        scale_count = pl.lit(len(set(scales)))
        counted = pl.col("passed") & pl.col("scale").is_in([float(scale) for scale in scales])
    else:
        scale_count = pl.col("scale").n_unique().over("shift")
        counted = pl.col("passed")
    complete = counted.sum().over(TRAJECTORY) == scale_count
    return table.with_columns((complete & counted).alias("kept"))


def kept_samples(filtered: pl.DataFrame) -> list[str]:
    """The ids of the kept images; raise if there are none."""
    samples = filtered.filter("kept")["sample"].to_list()
    if not samples:
        passed = int(filtered["passed"].sum())
        raise BrittleError(
            f"no trajectory is left: {passed} of {len(filtered)} images passed, but in no trajectory all of them; "
            "choose other thresholds, a smaller `least`, or fewer scales"
        )
    return samples


def labelled(scores: ImageScores | pl.DataFrame, labels: Mapping[str, str], *, partial: str = "class") -> pl.DataFrame:
    """The rows of the labelled images, with a column `out_of_class`.

    Two kinds of images are left out, since the filter should find what a shift destroyed: images at scale 0, which are
    compared with themselves and always pass two scores, and trajectories whose image at scale 0 is already labelled out
    of class.
    """
    table = scores.table if isinstance(scores, ImageScores) else scores
    rows = [(sample, label == "not class") for sample, label in resolve_partial(labels, partial).items()]
    selected = table.join(
        pl.DataFrame(rows, schema={"sample": pl.String, "out_of_class": pl.Boolean}, orient="row"), on="sample"
    )
    if selected.is_empty():
        raise BrittleError(f"none of the {len(labels)} labelled samples is among the {len(table)} images with scores")
    out_from_start = selected.filter((pl.col("scale") == 0) & pl.col("out_of_class"))
    selected = selected.filter(pl.col("scale") != 0).join(out_from_start, on=TRAJECTORY, how="anti")
    if selected.is_empty():
        raise BrittleError(
            f"none of the {len(labels)} labelled samples shows what a shift destroys; label images at other scales "
            "than 0, of trajectories that show their class at scale 0"
        )
    return selected


@dataclass(frozen=True)
class FilterQuality:
    """TPR: share of out-of-class images that are removed; FPR: of in-class images; accuracy: of correct decisions."""

    tpr: Estimate
    fpr: Estimate
    accuracy: Estimate


def filter_quality(
    removed: ArrayLike, out_of_class: ArrayLike, *, trajectory: ArrayLike | None = None, level: float = 0.95
) -> FilterQuality:
    """TPR, FPR and accuracy of a filter, with Wilson intervals.

    With `trajectory`, the number of each image's trajectory, a trajectory counts as one observation in the intervals.
    """
    predicted, positive = as_bool_array(removed, "removed"), as_bool_array(out_of_class, "out_of_class")
    groups = np.arange(len(positive)) if trajectory is None else np.asarray(trajectory)
    if predicted.shape != positive.shape or predicted.shape != groups.shape or predicted.ndim != 1:
        raise BrittleError(
            f"removed, out_of_class and trajectory are rows of the same length, got {predicted.shape}, "
            f"{positive.shape}, {groups.shape}"
        )
    if positive.all() or not positive.any():
        raise BrittleError(
            f"{int(positive.sum())} of {len(positive)} labelled images are out of class; TPR and FPR need both kinds"
        )

    def rate(name: str, hits: np.ndarray, among: np.ndarray) -> Estimate:
        value, count = float(hits[among].mean()), len(np.unique(groups[among]))
        low, high = wilson(value * count, count, level=level)
        return Estimate(name, value, float(low), float(high), level, count, "wilson")

    return FilterQuality(
        rate("TPR", predicted, positive),
        rate("FPR", predicted, ~positive),
        rate("filter accuracy", predicted == positive, groups == groups),
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
    """TPR, FPR and accuracy of the filter and of each score alone; `CLIP_class` alone is the naive filter.

    Single images are counted, before incomplete trajectories are dropped; see `labelled` for which ones. Images of one
    trajectory are correlated, so the Wilson intervals count each trajectory as one observation. `fpr_gap` is by how
    much the FPR of a single score is higher than that of the filter, on the same images. On the labels that the
    thresholds were chosen with, the result is optimistic; see `held_out_filters`.
    """
    table = labelled(scores, labels, partial=partial)
    return _qualities(table, _removed(table, thresholds, least), level)


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
    """`compare_filters` by cross-validation: an estimate of the filter's quality on new images.

    Trajectories are split at random into `folds` folds; those of one class and seed, which start from the same image,
    stay together. Each fold is filtered by thresholds that `choose_thresholds` finds on the other folds.
    """
    table = labelled(scores, labels, partial=partial)
    starts = table.select("label", "seed").unique().sort("label", "seed")
    if not 2 <= folds <= len(starts):
        raise BrittleError(
            f"{folds!r} folds cannot be made of the labels of {len(starts)} images at scale 0; give a number from 2 to "
            "that"
        )
    fold_of = np.random.default_rng(seed).permutation(len(starts)) % folds
    table = table.join(starts.with_columns(pl.Series("fold", fold_of)), on=["label", "seed"])
    removed = []
    for fold in range(folds):
        limits = thresholds_for(table.filter(pl.col("fold") != fold), tpr)
        removed.append(_removed(table.filter(pl.col("fold") == fold), limits, least))
    return _qualities(
        pl.concat([table.filter(pl.col("fold") == fold) for fold in range(folds)]), pl.concat(removed), level
    )


def _removed(table: pl.DataFrame, thresholds: Thresholds, least: int) -> pl.DataFrame:
    """Whether the filter and each score alone remove each image: one column per filter."""
    filters = {f"{least} of {len(thresholds)}": (dict(thresholds), least)}
    filters |= {name: ({name: value}, 1) for name, value in thresholds.items()}
    return pl.DataFrame(
        {name: ~ooc_filter(table, limits, least=required)["passed"] for name, (limits, required) in filters.items()}
    )


def _qualities(table: pl.DataFrame, removed: pl.DataFrame, level: float) -> pl.DataFrame:
    """TPR, FPR and accuracy: one row per filter; of single scores also how much higher their FPR is than the rule's."""
    out_of_class = table["out_of_class"].to_numpy()
    trajectory = table.select(pl.struct(TRAJECTORY).rank("dense")).to_series().to_numpy()
    rows: list[tuple[object, ...]] = []
    rule = removed.to_series(0).to_numpy()
    for name in removed.columns:
        quality = filter_quality(removed[name].to_numpy(), out_of_class, trajectory=trajectory, level=level)
        gap = None if not rows else _fpr_gap(removed[name].to_numpy(), rule, out_of_class, trajectory, level)
        estimates = (quality.tpr, quality.fpr, quality.accuracy, gap)
        values = [x for e in estimates for x in ((None,) * 3 if e is None else (e.value, e.low, e.high))]
        rows.append((name, *values, len(table), int(out_of_class.sum())))
    columns = [f"{rate}{end}" for rate in ("tpr", "fpr", "accuracy", "fpr_gap") for end in ("", "_low", "_high")]
    schema: dict[str, type[pl.DataType]] = {"filter": pl.String, **dict.fromkeys(columns, pl.Float64)}
    schema |= {"images": pl.Int64, "out_of_class": pl.Int64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _fpr_gap(
    removed: np.ndarray, rule: np.ndarray, out_of_class: np.ndarray, trajectory: np.ndarray, level: float
) -> Estimate:
    """The FPR of a filter minus that of the rule on the same images; trajectories are resampled."""
    inside, count = ~out_of_class, int(trajectory.max()) + 1
    images = np.bincount(trajectory[inside], minlength=count)
    more = np.bincount(trajectory[inside], weights=removed[inside].astype(float) - rule[inside], minlength=count)
    rows = np.stack([more, images], axis=1)[images > 0]
    return bootstrap(rows, lambda means: means[..., 0] / means[..., 1], name="difference in FPR", level=level)


def filter_roc(
    scores: ImageScores | pl.DataFrame,
    labels: Mapping[str, str],
    *,
    least: int = 2,
    partial: str = "class",
) -> pl.DataFrame:
    """The ROC curve of each score and of the rule that `least` of them must pass: TPR against FPR, and the area below.

    Columns filter, target, tpr, fpr, auc. A target is the share of labelled out-of-class images that the threshold of
    each score removes, from none to all, and at the end everything is removed; the rule's curve takes the thresholds of
    all scores for the same target, as `choose_thresholds` does. See `labelled` for which images count. The area is that
    below the steps of the curve. Thresholds and rates are of the same images, which flatters the rule a little.
    """
    table = labelled(scores, labels, partial=partial)
    outside = table["out_of_class"].to_numpy()
    if outside.all() or not outside.any():
        raise BrittleError(
            f"{int(outside.sum())} of {len(outside)} labelled images are out of class; a ROC curve needs both kinds"
        )
    names = [name for name in FILTER_SCORES if name in table.columns]
    values = {name: table[name].cast(pl.Float64).fill_null(-math.inf).to_numpy() for name in names}
    ordered = {name: np.sort(column[outside]) for name, column in values.items()}
    least = min(least, len(names))
    count = int(outside.sum())
    points: dict[str, list[tuple[float, float, float]]] = {f"{least} of {len(names)}": [], **{n: [] for n in names}}
    for place in range(count + 2):
        below = [
            values[name] <= (math.inf if place > count else ordered[name][place - 1]) if place else np.zeros(len(table))
            for name in names
        ]
        passed = len(names) - np.sum(below, axis=0)
        for name, removed in zip(points, [passed < least, *below], strict=True):
            rates = float(removed[outside].mean()), float(removed[~outside].mean())
            points[name].append((min(place / count, 1.0), *rates))
    rows = []
    for name, curve in points.items():
        _, tpr, fpr = np.array(curve).T
        area = float((np.diff(fpr) * tpr[:-1]).sum())
        rows += [(name, *point, area) for point in curve]
    return pl.DataFrame(rows, schema=["filter", "target", "tpr", "fpr", "auc"], orient="row")


Thresholds = Mapping[str, float]
"""Thresholds by score name; an image passes if its score is greater."""

EXAMPLE = '{"least": 2, "thresholds": {"CLIP_class": 28.7}}'


def published_thresholds() -> dict[str, float]:
    """The thresholds of CNS-Bench: valid for CLIP ViT-B/16, DINOv2 ViT-L/14 and `CODE_PROMPTS` only."""
    table = published_table("cns-ooc-thresholds")
    return {str(name): float(value) for name, value in zip(table["score"], table["threshold"], strict=True)}


def write_thresholds(thresholds: Thresholds, path: str | Path, *, least: int = 2) -> Path:
    """Write thresholds, and how many of them an image must pass, to a JSON file."""
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(file) as part:
        text = json.dumps({"least": least, "thresholds": dict(thresholds)}, indent=1)
        part.write_text(f"{text}\n", encoding="utf-8")
    return file


def read_thresholds(path: str | Path) -> tuple[dict[str, float], int]:
    """The thresholds that `write_thresholds` wrote, and how many of them an image must pass."""
    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(f"there is no file of thresholds {str(path)!r}; `brittle slide filter` writes one")
    try:
        data = read_json_file(file)
        values, least = {str(name): float(value) for name, value in data["thresholds"].items()}, int(data["least"])
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise BrittleError(
            f"{str(path)!r} holds no thresholds; it should be like {EXAMPLE}, as `brittle slide filter` writes it"
        ) from error
    unknown = [name for name in values if name not in FILTER_SCORES]
    if unknown or not values:
        raise BrittleError(
            f"{str(path)!r} has thresholds of {', '.join(unknown) or 'nothing'}; "
            f"the scores are {', '.join(FILTER_SCORES)}"
        )
    return values, least


def choose_thresholds(
    scores: ImageScores | pl.DataFrame,
    labels: Mapping[str, str],
    *,
    tpr: float = 0.9,
    which: Sequence[str] | None = None,
    partial: str = "class",
) -> dict[str, float]:
    """For each score the lowest threshold that removes at least a share `tpr` of the labelled out-of-class images.

    `labels` are by sample id, see `read_labels`. There must be at least 1 / (1 − tpr) out-of-class images, 10 for 0.9,
    or the threshold would be their maximum. Images without a score are left out, and so are images at scale 0 and
    trajectories that start out of class, see `labelled`. `partial` says how an image with some properties of the class
    counts: "class", "not class" or "skip".
    """
    return thresholds_for(labelled(scores, labels, partial=partial), tpr, which)


def thresholds_for(table: pl.DataFrame, tpr: float, which: Sequence[str] | None = None) -> dict[str, float]:
    """`choose_thresholds` for a table with a column `out_of_class`."""
    if not 0 < tpr < 1:
        raise BrittleError(f"tpr is a share between 0 and 1, such as 0.9, got {tpr!r}")
    outside = table.filter(pl.col("out_of_class"))
    minimum = math.ceil(1 / (1 - tpr) - 1e-9)
    thresholds = {}
    for name in which or [name for name in FILTER_SCORES if name in table.columns]:
        if name not in table.columns:
            raise BrittleError(f"there is no score {name!r}; there are: {', '.join(FILTER_SCORES)}")
        values = np.sort(outside[name].drop_nulls().to_numpy())
        if len(values) < minimum:
            raise BrittleError(
                f"{len(values)} images labelled out of class are too few to choose a threshold of {name} for a TPR of "
                f"{tpr:g}; label at least {minimum}"
            )
        thresholds[name] = float(values[math.ceil(tpr * len(values) - 1e-9) - 1])
    return thresholds


UNSURE = 0.1
"""An image whose class the oracle gives a lower probability than this is out of class."""


def oracle_labels(data: Dataset, oracle: Model, *, unsure: float = UNSURE, batch_size: int = 256) -> dict[str, str]:
    """Labels by sample id from an oracle classifier, in the form of `read_labels`.

    An image is "class" if the oracle predicts its class, "not class" if the class has a probability below `unsure`, and
    "partial" otherwise.
    """
    if data.labels is None:
        raise BrittleError(f"{data.name!r} has no labels to compare the oracle's predictions with")
    labels: dict[str, str] = {}
    for start in range(0, len(data), batch_size):
        indices = range(start, min(start + batch_size, len(data)))
        logits = oracle.scores(np.stack([data.image(i) for i in indices])).astype(np.float64)
        exp = np.exp(logits - logits.max(1, keepdims=True))
        for i, top, probs in zip(indices, logits.argmax(1), exp / exp.sum(1, keepdims=True), strict=True):
            label = int(data.labels[i])
            labels[str(data.ids[i])] = "class" if top == label else "not class" if probs[label] < unsure else "partial"
    return labels


def read_scores(path: str | Path) -> pl.DataFrame:
    """The scores of images from scores.csv, as `brittle slide measure` and `filter` write it."""
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(
            f"there is no file of scores {str(path)!r}; `brittle slide measure` and filter write one"
        )
    try:
        table = pl.read_csv(path, glob=False)
    except pl.exceptions.PolarsError as error:
        raise BrittleError(f"{str(path)!r} is no file of scores: {error}") from error
    missing = [name for name in ("sample", "shift", "label", "name", "seed", "scale") if name not in table.columns]
    if missing:
        raise BrittleError(f"{str(path)!r} has no column {', '.join(missing)}; give a scores.csv of brittle")
    return table


FOLDS = 5
"""The number of parts of the labels that take turns in testing thresholds chosen on the others."""


def validated_filters(
    scores: ImageScores | pl.DataFrame,
    labels: Mapping[str, str],
    thresholds: Thresholds,
    *,
    tpr: float = 0.9,
    least: int = 2,
    partial_as: str = "class",
) -> tuple[pl.DataFrame, str]:
    """The quality of thresholds on images that they were not chosen with, if the labels suffice, and how it was done.

    Otherwise it is that of `thresholds` on the labels that they were chosen with, which is too good.
    """
    try:
        quality = held_out_filters(scores, labels, tpr=tpr, least=least, partial=partial_as, folds=FOLDS)
    except ValueError:
        quality = compare_filters(scores, labels, thresholds, least=least, partial=partial_as)
        return quality, f"thresholds for a TPR of {tpr:g} were chosen on these same labels, which flatters: label more"
    return quality, f"each image by thresholds for a TPR of {tpr:g} chosen on other trajectories, in {FOLDS} folds"
