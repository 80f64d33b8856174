"""The scores of a run with their intervals, and a warning where a model is no better than guessing."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from functools import reduce
from html import escape
from math import isnan
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from brittle._errors import BrittleError
from brittle._html import FAINT, html_block, html_table, html_title
from brittle._types import FloatArray
from brittle.benchmarks import CLEAN, Benchmark, Cell
from brittle.evaluation.references import comparable, find_reference
from brittle.evaluation.results import Matrix, Results, by_corruption
from brittle.metrics import (
    Baseline,
    Estimate,
    Metric,
    accuracy_estimate,
    bootstrap,
    difference,
    differences,
    list_metrics,
    resampled_means,
    robustness_score,
    uneven_clean,
)

USEFUL = 0.1
"""An accuracy that a model of many classes has at least, if it is of any use."""

DOUBT, FIT_DOUBT = 0.01, 0.001
"""Accepted probabilities that a useful model is taken for guessing, and guessing for another order of the classes."""


@dataclass(frozen=True)
class Guessing:
    """A model that is right no more often than guessing.

    `order` is the class that each of its outputs means, by number, if another order of the classes explains its
    predictions, and `fitted` its accuracy then, on images that the order was not found with.
    """

    right: int
    images: int
    chance: float
    order: tuple[int, ...] | None = None
    fitted: float | None = None


def guessing(labels: NDArray[np.integer], predictions: NDArray[np.integer], classes: int) -> Guessing | None:
    """Whether predictions are at or below chance; None if they are above it, or if there are too few to decide.

    They count as such only if a model that is twice as good as guessing (and right for at least one image in ten, or
    half-way to always) would have so few right in less than one of a hundred tests.
    """
    count, right = len(labels), int((labels == predictions).sum())
    if count == 0 or classes < 2:
        return None
    chance = 1 / classes
    useful = min(max(2 * chance, USEFUL), (1 + chance) / 2)
    if right > chance * count or _at_most(right, count, useful) >= DOUBT:
        return None
    order, fits = _order(labels, predictions, classes), _held_out(labels, predictions)
    clear = _at_most(count - fits, count, 1 - chance) < FIT_DOUBT  # so many would fit by chance hardly ever
    if order is None or not clear:
        return Guessing(right, count, chance)
    return Guessing(right, count, chance, order, fits / count)


def guessing_models(results: Results, models: Sequence[str] | None = None) -> dict[str, Guessing]:
    """The models that are no better than guessing on clean images, by name."""
    classes = max((len(run.classes) for run in results.runs), default=0)
    rows = results.rows.filter(pl.col("corruption") == CLEAN).select("model", "label", "prediction").collect()
    checked = {}
    for (name,), group in rows.group_by("model", maintain_order=True):
        labels, predictions = group["label"].to_numpy(), group["prediction"].to_numpy()
        if models is None or name in models:
            checked[str(name)] = guessing(labels, predictions, classes or int(labels.max()) + 1)
    return {name: one for name, one in checked.items() if one is not None}


def uneven_clean_warning(rows: Sequence[Scores]) -> str | None:
    """A warning if the clean accuracies of models differ so much that robustness R and drops mislead; None if not.

    NOC (section 3.1) and Syn2Nat (section 3) ask for comparable clean accuracies; see `brittle.metrics.uneven_clean`.
    """
    clean = {row.model: row.clean for row in rows if row.clean is not None}
    if len(clean) < 2:
        return None
    images = min(estimate.n or 1 for estimate in clean.values())
    uneven = uneven_clean({model: estimate.value for model, estimate in clean.items()}, images)
    if not uneven:
        return None
    listed = ", ".join(f"{model} has {ratio:.0%}" for model, ratio in list(uneven.items())[:3])
    more = f" and {len(uneven) - 3} more have less than 95 %" if len(uneven) > 3 else ""
    return (
        f"Clean accuracies differ: {listed}{more} of the best model's. Robustness R and drops then mislead, since what "
        "already fails on clean images cannot be lost; compare accuracies."
    )


def guessing_warning(model: str, guess: Guessing, classes: Sequence[str]) -> str:
    """A warning in one or two sentences, with the order of classes that fits if there is one."""
    sentence = (
        f"{model} is right about {guess.right} of {guess.images} clean images, no more than guessing "
        f"({guess.chance:.1%})"
    )
    if guess.order is None or guess.fitted is None or not classes:
        return (
            f"{sentence}. Are its classes in another order than the data's (`classes`), or its images prepared "
            "otherwise (`mean`, `std`, `size`, `crop`)?"
        )
    names = ", ".join(classes[number] for number in guess.order[:30]) + (" …" if len(guess.order) > 30 else "")
    return (
        f"{sentence}, but its predictions fit to {guess.fitted:.1%} if its outputs are in this order: {names}. If so, "
        "write these names into a file, one a line, and give it as `classes`."
    )


def _order(labels: NDArray[np.integer], predictions: NDArray[np.integer], classes: int) -> tuple[int, ...] | None:
    """The class of each output, if every class is mostly taken for another one; one output may be left over."""
    output = _mostly(labels, predictions)
    if len(set(output.values())) < len(output) or any(not 0 <= place < classes for place in output.values()):
        return None
    missing = sorted(set(range(classes)) - set(output))
    left = sorted(set(range(classes)) - set(output.values()))
    if len(missing) > 1:
        return None
    output.update(zip(missing, left, strict=True))
    number = {place: label for label, place in output.items()}
    return tuple(number[place] for place in range(classes))


def _held_out(labels: NDArray[np.integer], predictions: NDArray[np.integer]) -> int:
    """How many images fit an order that was found with the other half of each class."""
    half = np.zeros(len(labels), bool)
    for label in np.unique(labels):
        half[np.flatnonzero(labels == label)[::2]] = True
    fits = 0
    for part in (half, ~half):
        output = _mostly(labels[~part], predictions[~part])
        fits += sum(output.get(int(a)) == int(b) for a, b in zip(labels[part], predictions[part], strict=True))
    return fits


def _mostly(labels: NDArray[np.integer], predictions: NDArray[np.integer]) -> dict[int, int]:
    """The prediction that is most frequent for each label."""
    most_frequent = {}
    for label in np.unique(labels):
        values, counts = np.unique(predictions[labels == label], return_counts=True)
        most_frequent[int(label)] = int(values[counts.argmax()])
    return most_frequent


def _at_most(right: int, count: int, share: float) -> float:
    """The probability that at most so many of `count` are right if each is with probability `share`."""
    terms = (
        math.lgamma(count + 1)
        - math.lgamma(k + 1)
        - math.lgamma(count - k + 1)
        + k * math.log(share)
        + (count - k) * math.log1p(-share)
        for k in range(right + 1)
    )
    return math.fsum(map(math.exp, terms))


@dataclass(frozen=True)
class CorruptionScores:
    """One model under one corruption: accuracy over its levels, and what is derived from it.

    `corruption_error` is the error divided by the reference's (a CE), `relative_corruption_error` what the corruption
    adds to the error divided by what it adds to the reference's, `robustness` the accuracy divided by the clean one.
    """

    corruption: str
    accuracy: Estimate
    corruption_error: Estimate | None = None
    relative_corruption_error: Estimate | None = None
    robustness: Estimate | None = None

    @property
    def error(self) -> Estimate:
        """The share of wrong images, mean over levels."""
        right = self.accuracy
        ends = (None, None) if right.low is None or right.high is None else (1 - right.high, 1 - right.low)
        return replace(right, name="error", value=1 - right.value, low=ends[0], high=ends[1])


@dataclass(frozen=True)
class Scores:
    """One model on one benchmark.

    `mean_accuracy` is over corruptions of the mean over levels; `robustness` is that divided by the clean accuracy.
    What needs clean images is None if they were not run, as with a published set from disk, and so is a ratio that some
    resamples leave undefined. `mce` and `relative_mce` exist if there is a reference model: the one that was asked
    for, or a published one where it is comparable; `reference` says which. `corruptions` are in the recipe's order.
    `more` are the metrics that were added (see `brittle.metrics.metric`), by their fields.
    """

    model: str
    benchmark: str
    mean_accuracy: Estimate
    error: Estimate
    clean: Estimate | None = None
    drop: Estimate | None = None
    robustness: Estimate | None = None
    mce: Estimate | None = None
    relative_mce: Estimate | None = None
    reference: str | None = None
    corruptions: tuple[CorruptionScores, ...] = ()
    more: Mapping[str, Estimate] = field(default_factory=dict)

    def worst_first(self) -> list[CorruptionScores]:
        """The corruptions, lowest accuracy first."""
        return sorted(self.corruptions, key=lambda scores: (scores.accuracy.value, scores.corruption))

    def __repr__(self) -> str:
        return f"<Scores of {self.model!r} on {self.benchmark!r}: {', '.join(map(str, self.all()))}>"

    def _repr_html_(self) -> str:
        rows = [[escape(one.name), *_in_percent(one)] for one in self.all()]
        worst = [[escape(one.corruption), *_in_percent(one.accuracy)] for one in self.worst_first()]
        title = html_title("Scores of", self.model, f"on {self.benchmark}", self.reference or "")
        note = "percent, with 95 % intervals over images; corruptions, the worst first, by accuracy over their levels"
        tables = html_table(("score", "", ""), rows), html_table(("corruption", "accuracy", ""), worst)
        return html_block(title, *tables, note=note)

    def all(self) -> list[Estimate]:
        """Every score, the plainest first."""
        known = (self.clean, self.mean_accuracy, self.error, self.drop, self.robustness, self.mce, self.relative_mce)
        return [*(score for score in known if score is not None), *self.more.values()]


def _in_percent(estimate: Estimate) -> tuple[str, str]:
    """A value and its interval, as an `Estimate` prints them."""
    value, bracket, interval = str(estimate).removeprefix(f"{estimate.name} ").partition(" [")
    return value.removesuffix(" %"), f'<span style="{FAINT}">{bracket.strip()}{interval}</span>'


def scores(
    results: Results,
    benchmark: str | Benchmark | None = None,
    *,
    models: Sequence[str] | None = None,
    reference: Baseline | str | None = None,
    resamples: int = 1000,
    seed: int = 0,
) -> list[Scores]:
    """The scores of every model that was run through the whole benchmark, the best mean accuracy first.

    >>> import brittle
    >>> blur = brittle.Benchmark("blur", [brittle.benchmarks.Entry("gaussian_blur", [1, 5])])
    >>> results = brittle.evaluate("demo:standard", brittle.load_dataset("demo").limited(50), blur)
    >>> [score] = brittle.scores(results)
    >>> score.mean_accuracy.low < score.mean_accuracy.value < score.clean.value
    True

    The benchmark is a name or a `Benchmark`, and may be left out if the results hold exactly one.
    `models` asks for some of them; one with a missing cell then raises. `reference` divides the errors of mCE: a
    baseline, or what `find_reference` takes, such as a model's name. By default it is the one that was published for
    this benchmark, if these are all of the images it was measured on (see `comparable`); else there is no mCE.
    """
    check_same_images(results)
    benchmark = results.find_benchmark(benchmark)
    if reference is None:
        reference = comparable(results, benchmark).baseline
    elif not isinstance(reference, Baseline):
        reference = find_reference(results, benchmark, reference)
    cells, scored = benchmark.cells(), []
    for model in results.models_with(cells) if models is None else models:
        has_clean = model in results.models_with([Cell()])
        rows = results.matrix(model, [Cell(), *cells] if has_clean else [cells[0], *cells]).values
        drawn = resampled_means(rows, seed=seed, resamples=resamples)
        estimates: dict[str, Estimate] = {}
        for key, (name, measure) in _measures(benchmark, reference, has_clean).items():
            with suppress(ValueError):  # a ratio to a clean accuracy of zero, with few images or a hopeless model
                estimates[key] = bootstrap(rows, measure, name=name, seed=seed, resamples=resamples, resampled=drawn)
        if has_clean:
            estimates["clean"] = accuracy_estimate(rows[:, 0], name="clean accuracy")
        each = _by_corruption(benchmark, reference, rows, drawn, seed, has_clean)
        title = None if reference is None else reference.title
        more = {key: estimates.pop(key) for key in list(estimates) if key not in SCORE_FIELDS}
        scored.append(Scores(model, benchmark.name, **estimates, reference=title, corruptions=each, more=more))
    return sorted(scored, key=lambda row: -row.mean_accuracy.value)


SCORE_FIELDS = {each.name for each in fields(Scores)}


def _measures(
    benchmark: Benchmark, reference: Baseline | None, has_clean: bool
) -> dict[str, tuple[str, Callable[[FloatArray], FloatArray]]]:
    """Name and function of each metric that can be had, of accuracies (clean, cell, cell, …) on the last axis."""
    mean, known = by_corruption(benchmark), {"accuracy"}
    theirs: dict[str, Any] = {}
    if has_clean:
        known.add("clean")
    if reference is not None:
        theirs["reference"] = reference.of([entry.id for entry in benchmark.entries])
        if not isnan(reference.clean_error):
            theirs["clean_reference"] = reference.clean_error

    def measure(metric: Metric) -> Callable[[FloatArray], FloatArray]:
        return lambda a: metric(accuracy=mean(a[..., 1:]), clean=a[..., 0], **theirs)

    return {one.field: (one.name, measure(one)) for one in list_metrics() if set(one.needs) <= known | set(theirs)}


def _by_corruption(
    benchmark: Benchmark, reference: Baseline | None, rows: NDArray[Any], drawn: FloatArray, seed: int, has_clean: bool
) -> tuple[CorruptionScores, ...]:
    """Each corruption by itself, from the same resamples as the scores over all of them."""
    scored, start = [], 1
    for entry in benchmark.entries:
        cells = slice(start, start := start + len(entry.levels))
        shares = np.column_stack([rows[:, 0], rows[:, cells].mean(-1)])  # on clean images, and over the levels
        resampled = np.column_stack([drawn[:, 0], drawn[:, cells].mean(-1)])

        def estimate(name: str, measure: Callable[[FloatArray, FloatArray], FloatArray]) -> Estimate | None:
            """Of the accuracy under this corruption and on clean images; None for a ratio to nothing."""
            try:
                return bootstrap(
                    shares,  # noqa: B023 - called at once
                    lambda a: np.asarray(measure(a[..., 1], a[..., 0])),
                    name=name,
                    seed=seed,
                    resamples=len(drawn),
                    resampled=resampled,  # noqa: B023
                    bounded=True,
                )
            except ValueError:
                return None

        accuracy = estimate("accuracy", lambda right, _: right)
        assert accuracy is not None
        ratios: dict[str, Estimate | None] = {}
        if has_clean:
            ratios["robustness"] = estimate("robustness R", robustness_score)
        below = 0.0 if reference is None else float(reference.of([entry.id])[0])
        rise = 0.0 if reference is None else below - reference.clean_error  # NaN without clean images
        if below:
            ratios["corruption_error"] = estimate("corruption error", _divided(below))
        if has_clean and rise > 0:
            ratios["relative_corruption_error"] = estimate("relative corruption error", _rise_divided(rise))
        scored.append(CorruptionScores(entry.id, accuracy, **ratios))
    return tuple(scored)


def _divided(below: float) -> Callable[[FloatArray, FloatArray], FloatArray]:
    """From the accuracy under a corruption to its CE."""
    return lambda right, _: (1 - right) / below


def _rise_divided(rise: float) -> Callable[[FloatArray, FloatArray], FloatArray]:
    """From the accuracy under a corruption and on clean images to its relative CE."""
    return lambda right, clean: (clean - right) / rise


def compare(
    results: Results, benchmark: str | Benchmark | None, first: str, second: str, *, resamples: int = 1000
) -> Estimate:
    """The mean accuracy of one model minus another's on the same images, with its paired bootstrap interval.

    >>> import brittle
    >>> blur = brittle.Benchmark("blur", [brittle.benchmarks.Entry("gaussian_blur", [1, 5])])
    >>> images = brittle.load_dataset("demo").limited(30)
    >>> results = brittle.evaluate(["demo:standard", "demo:augmix"], images, blur)
    >>> brittle.compare(results, "blur", "demo-augmix", "demo-standard").value > 0
    True
    """
    check_same_images(results)
    benchmark = results.find_benchmark(benchmark)
    a, b = (results.matrix(model, benchmark.cells()) for model in (first, second))
    shared, i, j = np.intersect1d(a.samples, b.samples, return_indices=True)
    if not shared.size:
        raise BrittleError(
            f"{first!r} and {second!r} were run on different images, so they cannot be compared in pairs"
        )
    mean = by_corruption(benchmark)
    name = f"{first} − {second}"
    return difference(a.values[i], b.values[j], lambda x: mean(x).mean(-1), name=name, resamples=resamples)


def check_same_images(results: Results) -> None:
    """Raise if the runs are on different images, whose rows must not be averaged."""
    data = {run.images_key: run.data for run in results.runs}
    if len(data) > 1:
        raise BrittleError(
            f"these runs are on different images ({', '.join(sorted(map(str, data.values())))}); score and compare "
            "runs on the same data, or put them side by side in a report"
        )


def compare_all(
    results: Results, benchmark: Benchmark | None, models: Sequence[str], *, resamples: int = 1000
) -> dict[str, Estimate]:
    """The mean accuracy of each further model minus that of the first, on the images that all of them have.

    The intervals are simultaneous, whichever model was put first (see `differences`): use this, and not repeated
    calls of `compare`, to compare more than two models with the best. Without a benchmark it is the accuracy on
    clean images.
    """
    check_same_images(results)
    if len(models) < 2:
        return {}
    cells = [Cell()] if benchmark is None else benchmark.cells()
    tables = shared_rows(results, models, cells)
    mean = by_corruption(benchmark) if benchmark is not None else np.asarray
    names = [f"{model} − {models[0]}" for model in models[1:]]
    gaps = differences(tables, lambda x: mean(x).mean(-1), names=names, resamples=resamples)
    return dict(zip(models[1:], gaps, strict=True))


def shared_rows(results: Results, models: Sequence[str], cells: Sequence[Cell]) -> list[NDArray[np.bool_]]:
    """Right or wrong of each model, samples × cells, on the samples that all of them have."""
    matrices: list[Matrix] = [results.matrix(model, cells) for model in models]
    shared = reduce(np.intersect1d, [matrix.samples for matrix in matrices])
    if not shared.size:
        listed = ", ".join(map(repr, models))
        raise BrittleError(f"{listed} were run on different images, so they cannot be compared in pairs")
    return [matrix.values[np.searchsorted(matrix.samples, shared)] for matrix in matrices]
