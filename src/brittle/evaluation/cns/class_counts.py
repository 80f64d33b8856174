"""How many classes are enough: scores of slides on random subsets of their classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from brittle._errors import BrittleError
from brittle._types import FloatArray, check_level
from brittle.evaluation.cns.scores import Trajectories, trajectories
from brittle.evaluation.results import Results
from brittle.evaluation.tables.formats import Column, ScoreTable, Value
from brittle.metrics import Estimate, kendall

CLASS_COUNTS = (5, 10, 25, 50)
"""Numbers of classes that are tried; the paper has 100."""

SUBSETS = 200
"""The number of subsets of each number of classes."""

TOLERANCE = 0.01
"""How near to the value on all classes is near enough: a point of accuracy."""

MEASURES = {"drop": "mean accuracy drop", "rce": "rCE"}


@dataclass(frozen=True, eq=False)
class _ClassCounts:
    """Of one shift: right answers of each model, class and scale, and the number of trajectories of each class."""

    right: FloatArray
    count: FloatArray

    def accuracy(self, weights: FloatArray) -> FloatArray:
        """Accuracies draw × model × scale, where classes count by `weights`, draw × class; nan without any."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(np.einsum("dc,mcs->dms", weights, self.right) / (weights @ self.count)[:, None, None])


def class_count_ablation(
    results: Results,
    class_counts: Sequence[int] = CLASS_COUNTS,
    *,
    models: Sequence[str] | None = None,
    baseline: str | None = None,
    draws: int = SUBSETS,
    level: float = 0.95,
    seed: int = 0,
) -> pl.DataFrame:
    """The mean accuracy drop, and rCE with a baseline, of models on random subsets of the classes of slides.

    CNS-Bench draws 100 of ImageNet's 1000 classes, and asks in its appendix whether that is enough. One row for each
    number of classes and model: the mean over `draws` subsets without replacement, their standard deviation, the range
    `low` to `high` that holds the share `level` of them, and Kendall's τ of the models' drops in a subset with those on
    all classes, the mean over subsets (null for fewer than three models). Numbers beyond those of the classes are left
    out. In the last rows, of all classes, the range is that of as many classes drawn with replacement: an interval for
    classes that were not drawn.

    The drop is the mean over shifts and over scales above 0. A shift without a trajectory of a subset's classes, which
    a filter may cause, is left out of that subset's mean; so are subsets on which rCE is undefined.
    """
    check_level(level)
    parts = trajectories(results, models=models)
    names = parts[0].models
    if baseline is not None and baseline not in names:
        raise BrittleError(f"the baseline {baseline!r} was not run; there are models {', '.join(names)}")
    classes = sorted({_class_of(name) for part in parts for name in part.names})
    wanted = sorted({int(count) for count in class_counts})
    if not wanted or wanted[0] < 1 or draws < 2:
        raise BrittleError(
            f"class_counts are numbers of classes from 1 on, such as 10,25,50, and draws at least 2; got "
            f"{list(class_counts)} and {draws}"
        )
    shifts = [_counts(part, classes) for part in parts]
    reference = None if baseline is None else names.index(baseline)
    everything = _scores(shifts, np.ones((1, len(classes))), reference)
    rng = np.random.default_rng(seed)
    rows = []
    for count in [*(count for count in wanted if count < len(classes)), len(classes)]:
        whole = count == len(classes)
        drawn = _scores(shifts, _weights(rng, len(classes), count, draws, replace=whole), reference)
        taus = _agreement(drawn["drop"], everything["drop"][0])
        for number, model in enumerate(names):
            row: dict[str, object] = {"classes": count, "model": model, "subsets": draws}
            for measure, values in drawn.items():
                known = values[:, number][np.isfinite(values[:, number])]
                value = everything[measure][0, number] if whole else known.mean() if len(known) else np.nan
                row |= _spread(measure, float(value), known, level)
            rows.append({**row, "kendall": 1.0 if whole and taus is not None else taus})
    return pl.DataFrame(rows)


def enough_classes(table: pl.DataFrame, tolerance: float = TOLERANCE) -> int | None:
    """The smallest number of classes from which on the drops of 95 % of subsets are within `tolerance` of all classes'.

    `table` is what `class_count_ablation` gives. None if no number that was tried is enough.
    """
    most = table["classes"].max()
    known = {row["model"]: row["drop"] for row in table.filter(pl.col("classes") == most).iter_rows(named=True)}
    enough = None
    for part in table.filter(pl.col("classes") < most).sort("classes", descending=True).partition_by("classes"):
        far = max(
            max(row["drop_high"] - known[row["model"]], known[row["model"]] - row["drop_low"])
            for row in part.iter_rows(named=True)
        )
        if far > tolerance:
            break
        enough = int(part["classes"][0])
    return enough


def class_count_tables(
    results: Results, class_counts: Sequence[int] = CLASS_COUNTS, *, baseline: str | None = None
) -> list[ScoreTable]:
    """`class_count_ablation` as tables: a row for each number of classes, a column for each model."""
    table = class_count_ablation(results, class_counts, baseline=baseline)
    models, counts = (table[name].unique(maintain_order=True).to_list() for name in ("model", "classes"))
    enough = enough_classes(table)
    near = f"within {100 * TOLERANCE:g} point of all {counts[-1]} classes in 95 % of subsets"
    notes = (
        f"{enough} classes are enough: drops are {near}." if enough else f"No smaller number has drops {near}.",
        f"Of all {counts[-1]}: the interval of as many classes drawn with replacement.",
    )
    tables = []
    for measure, title in MEASURES.items() if baseline is not None else [("drop", MEASURES["drop"])]:
        lines: list[tuple[Value, ...]] = []
        for part in table.partition_by("classes", maintain_order=True):
            estimates = (
                Estimate(title, row[measure], row[f"{measure}_low"], row[f"{measure}_high"], percent=measure == "drop")
                for row in part.iter_rows(named=True)
            )
            tau = part["kendall"][0]
            agreement = None if tau is None else Estimate("τ", tau, percent=False)
            lines.append((f"{part['classes'][0]} classes", *estimates, agreement))
        unit = " in percentage points" if measure == "drop" else f" (baseline {baseline})"
        tables.append(
            ScoreTable(
                f"slides-class-counts-{measure}",
                f"{title[0].upper()}{title[1:]}{unit} on random subsets of classes, mean of {SUBSETS}",
                (Column("subset"), *(Column(model, "lower") for model in models), Column("Kendall's τ")),
                tuple(lines),
                "ranges of 95 % of the subsets",
                (*notes, "τ is that of the drops with those on all classes, the mean over subsets."),
                "row",
            )
        )
    return tables


def _class_of(trajectory: str) -> str:
    """The class folder of a trajectory such as heavy_snow/022_bald eagle/seed_0034."""
    return trajectory.split("/")[-2] if "/" in trajectory else ""


def _counts(part: Trajectories, classes: Sequence[str]) -> _ClassCounts:
    places = {name: place for place, name in enumerate(classes)}
    which = np.array([places[_class_of(name)] for name in part.names])
    member = np.zeros((len(which), len(classes)))
    member[np.arange(len(which)), which] = 1
    return _ClassCounts(np.einsum("tc,mts->mcs", member, part.correct.astype(float)), member.sum(0))


def _weights(rng: np.random.Generator, classes: int, count: int, draws: int, *, replace: bool) -> FloatArray:
    """How often each class is in each draw, draw × class."""
    weights = np.zeros((draws, classes))
    for draw in range(draws):
        np.add.at(weights[draw], rng.choice(classes, count, replace=replace), 1)
    return weights


def _scores(shifts: Sequence[_ClassCounts], weights: FloatArray, baseline: int | None) -> dict[str, FloatArray]:
    """The mean drop, and rCE, of each draw and model."""
    drops, ratios = [], []
    for shift in shifts:
        accuracy = shift.accuracy(weights)
        rise = accuracy[..., :1] - accuracy[..., 1:]
        drops.append(rise.mean(-1))
        if baseline is not None:
            total = rise.sum(-1)
            with np.errstate(invalid="ignore", divide="ignore"):
                ratios.append(np.where(total[:, baseline, None] > 0, total / total[:, baseline, None], np.nan))
    scores = {"drop": _mean_of_known(drops)}
    return scores if baseline is None else {**scores, "rce": np.mean(ratios, axis=0)}


def _mean_of_known(values: Sequence[FloatArray]) -> FloatArray:
    """The mean over shifts, without those that have no value."""
    stacked = np.stack(values)
    known = np.isfinite(stacked)
    return np.asarray(np.where(known, stacked, 0.0).sum(0) / np.maximum(known.sum(0), 1))


def _agreement(drawn: FloatArray, everything: FloatArray) -> float | None:
    """Kendall's τ of the models in each draw with all classes, the mean over draws in which it is defined."""
    taus = []
    for draw in drawn if drawn.shape[1] > 2 else ():
        try:
            taus.append(kendall(everything, draw).value)
        except ValueError:  # models that are all alike have no ranks
            continue
    return float(np.mean(taus)) if taus else None


def _spread(measure: str, value: float, known: NDArray[np.float64], level: float) -> dict[str, float | None]:
    tail = (1 - level) / 2
    low, high = np.quantile(known, [tail, 1 - tail]).tolist() if len(known) else (None, None)
    std = float(known.std(ddof=1)) if len(known) > 1 else None
    return {measure: value, f"{measure}_std": std, f"{measure}_low": low, f"{measure}_high": high}
