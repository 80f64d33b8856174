"""What runs hold of what a rule asks for: its benchmark, cells, images and failure points, or why there is none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from brittle._errors import BrittleError, did_you_mean
from brittle._types import FloatArray
from brittle.benchmarks import Benchmark, Cell, Entry
from brittle.evaluation.confidence import COLUMNS as CONFIDENCE_COLUMNS
from brittle.evaluation.failures.search import drawn_key, load_failure_points, searched_recipes
from brittle.evaluation.failures.summary import FailureSummary, summarize_failure_points
from brittle.evaluation.records import Run
from brittle.evaluation.references import comparable, find_reference
from brittle.evaluation.results import COLUMNS, Results, load_results
from brittle.evaluation.row_files import CELLS, OF_LABEL
from brittle.evaluation.rules.rule import CLEAN_ACCURACY, FAILURE_POINT, Rule
from brittle.evaluation.score import check_same_images
from brittle.evaluation.store import Store
from brittle.metrics import FailurePoints, Metric, Statistic, failure_points

MEANS = ("mean_accuracy", "error", "drop", "robustness")
"""The metrics, by their fields, that see only the mean over corruptions; one column then stands for all of these."""

Samples = NDArray[np.str_]


@dataclass(frozen=True, eq=False)
class Measure:
    """How a metric is computed: from these cells, averaged into columns, by a function of the columns' means.

    `exact` if that is the share of right or of wrong answers, one answer for each image.
    """

    benchmark: Benchmark | None
    cells: tuple[Cell, ...]
    weights: FloatArray
    statistic: Statistic
    exact: bool


class Evidence:
    """One or more runs on the same images, asked for what rules are about; what was not run is named."""

    def __init__(self, results: Results) -> None:
        check_same_images(results)
        self.results = results
        self._recipes = results.benchmarks()
        self._measures: dict[Rule, Measure] = {}
        self._matrices: dict[tuple[str, tuple[Cell, ...], tuple[str, ...]], tuple[NDArray[np.bool_], Samples]] = {}

    @cached_property
    def _searches(self) -> list[FailureSummary]:
        tables = [table for run in self.results.runs if (table := load_failure_points(run.folder)) is not None]
        return summarize_failure_points(pl.concat(tables)) if tables else []

    @cached_property
    def _searched(self) -> list[Benchmark]:
        known = {recipe.hash for recipe in self._recipes}
        recipes = {recipe.hash: recipe for run in self.results.runs for recipe in searched_recipes(run.folder)}
        return [recipe for key, recipe in recipes.items() if key not in known]

    @cached_property
    def _drawn(self) -> set[tuple[tuple[str, float], str]]:
        return {(cell.place, cell.key) for recipe in self._recipes for cell in recipe.cells()}

    def models_for(self, rule: Rule) -> list[str]:
        """The models that a rule is about: the one that it names, or all."""
        models = list(self.results.models)
        if rule.metric == FAILURE_POINT:
            models += sorted({one.model for one in self._searches} - set(models))
        if rule.metric != FAILURE_POINT and not rule.of_clean:
            self.recipe(rule)  # or why there is none
        if rule.model is None and models:
            return models
        if rule.model is None:
            raise BrittleError(f"{_of(rule)}: the run has no results yet; `brittle run` makes some")
        if rule.model not in models:
            raise BrittleError(f"{_of(rule)}: the model {rule.model!r} was not run; {did_you_mean(rule.model, models)}")
        return [rule.model]

    def namesake(self, model: str) -> str:
        """The model of this other run that a model is held against: of the same name, or the only one."""
        models = sorted({*self.results.models, *(one.model for one in self._searches)})
        if model in models:
            return model
        if len(models) == 1:
            return models[0]
        raise BrittleError(
            f"the run to compare with has no model {model!r}, and more than one other: {', '.join(models)}; run one of "
            "that name, or put the model that is meant into a separate run"
        )

    def check_same_images(self, other: Evidence) -> None:
        """Raise unless both are of the same images."""
        keys = [{run.images_key for run in one.results.runs} for one in (self, other)]
        if keys[0] != keys[1]:
            names = [" and ".join(sorted({_data(run) for run in one.results.runs})) for one in (self, other)]
            raise BrittleError(
                f"the run to compare with is on other images ({names[1]}) than the run that is checked ({names[0]}); "
                "run both on the same data"
            )

    def recipe(self, rule: Rule) -> Benchmark:
        """The benchmark that a rule is about: the one it names, or the only one that has its corruptions."""
        of_points = rule.metric == FAILURE_POINT
        known = [*self._recipes, *(self._searched if of_points else [])]
        if not known:
            raise BrittleError(f"{_of(rule)}: the run holds no whole benchmark; `brittle run -b …` makes one")
        names = [recipe.name for recipe in known]
        if rule.benchmark is not None:
            fits = [r for r in known if rule.benchmark in (r.name, f"{r.name} {r.hash[:6]}")]
            if not fits:
                raise BrittleError(
                    f"{_of(rule)}: the benchmark {rule.benchmark!r} was not run; {did_you_mean(rule.benchmark, names)}"
                )
        else:
            fits = known
        if len(fits) > 1 and rule.corruption:
            fits = [r for r in fits if all(_named(r, name) for name in rule.corruption)] or fits
        if len(fits) > 1 and of_points:  # a search of a part of a benchmark that was run too
            fits = [recipe for recipe in fits if recipe in self._recipes] or fits
        if len(fits) > 1:
            listed = ", ".join(r.name if names.count(r.name) == 1 else f"{r.name} {r.hash[:6]}" for r in fits)
            raise BrittleError(f"{_of(rule)}: which benchmark is meant? The run holds {listed}; write benchmark = …")
        return fits[0]

    def entries(self, rule: Rule, recipe: Benchmark) -> list[Entry]:
        """The corruptions of a benchmark that a rule is about."""
        named = []
        for name in rule.corruption:
            entry = _named(recipe, name)
            if entry is None:
                known = [entry.corruption.name for entry in recipe.entries]
                raise BrittleError(
                    f"{_of(rule)}: the corruption {name!r} was not run in {recipe.name!r}; {did_you_mean(name, known)}"
                )
            named.append(entry)
        families = {entry.corruption.family for entry in recipe.entries}
        for family in rule.family:
            if family not in families:
                raise BrittleError(
                    f"{_of(rule)}: no corruption of the family {family!r} was run in {recipe.name!r}; "
                    f"{did_you_mean(family, families)}"
                )
        return named or [e for e in recipe.entries if not rule.family or e.corruption.family in rule.family]

    def measure(self, rule: Rule) -> Measure:
        """How the metric of a rule is computed from a run's cells, the same for all models."""
        if rule not in self._measures:
            self._measures[rule] = self._measure(rule)
        return self._measures[rule]

    def _measure(self, rule: Rule) -> Measure:
        if rule.metric == CLEAN_ACCURACY:
            return Measure(None, (Cell(),), np.ones((1, 1)), lambda means: means[..., 0], exact=True)
        if rule.confidence is not None:
            return self._confidence_measure(rule)
        recipe, metric = self.recipe(rule), rule.function
        assert metric is not None
        entries = self.entries(rule, recipe)
        each = [_cells(rule, recipe, entry) for entry in entries]
        clean = "clean" in metric.needs
        cells = [*([Cell()] if clean else []), *(cell for some in each for cell in some)]
        weights = np.zeros((len(cells), len(each) + clean))
        weights[0, 0] = 1.0
        start = int(clean)
        for column, some in enumerate(each, int(clean)):
            weights[start : start + len(some), column] = 1 / len(some)
            start += len(some)
        if metric.field in MEANS:
            mean = weights[:, int(clean) :].mean(axis=1, keepdims=True)
            weights = np.hstack([weights[:, : int(clean)], mean])
        statistic = _statistic(metric, clean, self._reference(rule, recipe, [entry.id for entry in entries]))
        exact = metric.field in ("mean_accuracy", "error") and len(cells) == 1
        return Measure(recipe, tuple(cells), weights, statistic, exact)

    def _confidence_measure(self, rule: Rule) -> Measure:
        """The cells of a metric of confidences, and the weight of each in the mean."""
        if rule.of_clean:
            return Measure(None, (Cell(),), np.ones((1, 1)), lambda means: means[..., 0], exact=False)
        recipe = self.recipe(rule)
        each = [_cells(rule, recipe, entry) for entry in self.entries(rule, recipe)]
        weights = np.concatenate([np.full(len(some), 1 / len(some) / len(each)) for some in each])
        cells = tuple(cell for some in each for cell in some)
        return Measure(recipe, cells, weights[:, np.newaxis], lambda means: means[..., 0], exact=False)

    def confidences(self, rule: Rule, model: str, measure: Measure) -> tuple[list[NDArray[Any]], Samples]:
        """The columns of confidences of a model, samples × cells, and the samples of the rule's classes."""
        assert rule.confidence is not None
        self._check_complete(rule, model, measure.cells)
        samples, arrays = self._of_classes(rule).columns(model, measure.cells, CONFIDENCE_COLUMNS)
        known = dict(zip(CONFIDENCE_COLUMNS, arrays, strict=True))
        for name in rule.confidence.needs:
            lacking = int(np.isnan(known[name]).any(axis=0).sum())
            if lacking:
                what = "confidences" if name == "confidence" else "probabilities of the labels"
                raise BrittleError(
                    f"{_of(rule)}: {lacking} of {len(measure.cells)} cells of {model!r} have no {what}: they were "
                    "imported without, or computed before these were kept; run the model in a new folder"
                )
        return arrays, samples

    def _check_complete(self, rule: Rule, model: str, cells: tuple[Cell, ...]) -> None:
        complete = self.results.models_with(cells)
        if model not in complete:
            raise BrittleError(
                f"{_of(rule)}: {model!r} was not run on all that the rule is about; run it again to fill what is "
                f"missing, or name a model in the rule ({', '.join(complete) or 'none has all'})"
            )

    def _reference(self, rule: Rule, recipe: Benchmark, corruptions: list[str]) -> dict[str, FloatArray | float]:
        """The errors that mCE and its like divide by."""
        if not rule.divides_by_reference:
            return {}
        if rule.reference is not None:
            baseline = find_reference(self.results, recipe, rule.reference)
        else:
            beside = comparable(self.results, recipe)
            if beside.baseline is None:
                why = f"published numbers do not count: {beside.why_not}" if beside.why_not else "none is published"
                raise BrittleError(
                    f"{_of(rule)}: there is no reference for {rule.metric} ({why}); write reference = a model of the "
                    f"run ({', '.join(self.results.models)}), or take the metric 'error'"
                )
            baseline = beside.baseline
        return {"reference": baseline.of(corruptions), "clean_reference": baseline.clean_error}

    def rows(self, rule: Rule, model: str, measure: Measure) -> tuple[FloatArray, Samples]:
        """The columns of a measure for each image of the rule's classes, each value between 0 and 1."""
        values, samples = self._matrix(rule, model, measure.cells)
        return np.clip(values @ measure.weights, 0, 1), samples

    def _matrix(self, rule: Rule, model: str, cells: tuple[Cell, ...]) -> tuple[NDArray[np.bool_], Samples]:
        key = model, cells, rule.classes
        if key not in self._matrices:
            self._check_complete(rule, model, cells)
            matrix = self._of_classes(rule).matrix(model, cells)
            self._matrices[key] = matrix.values, matrix.samples
        return self._matrices[key]

    def _of_classes(self, rule: Rule) -> Results:
        numbers = self._numbers(rule)
        if numbers is None:
            return self.results
        rows = self.results.rows.filter(pl.col("label").is_in(numbers))
        labels = set(rows.select(pl.col("label").unique()).collect()["label"])
        for name, number in zip(rule.classes, numbers, strict=True):
            if number not in labels:
                raise BrittleError(f"{_of(rule)}: the run has no image of the class {name!r}; leave it out")
        return replace(self.results, rows=rows)

    def _numbers(self, rule: Rule) -> list[int] | None:
        """The labels of a rule's classes; None for all."""
        if not rule.classes:
            return None
        known = list(next((run.classes for run in self.results.runs if run.classes), ()))
        for name in rule.classes:
            if name not in known:
                raise BrittleError(f"{_of(rule)}: the class {name!r} was not run; {did_you_mean(name, known)}")
        return [known.index(name) for name in rule.classes]

    def points(self, rule: Rule, recipe: Benchmark, model: str) -> tuple[FailurePoints, Samples]:
        """Each image's failure point, under more than one corruption the first: as searched, else from the run."""
        by_corruption = [self._points(rule, recipe, entry, model) for entry in self.entries(rule, recipe)]
        shared: Samples = reduce(np.intersect1d, [samples for _, samples in by_corruption])
        if not shared.size:
            raise BrittleError(f"{_of(rule)}: no image of {model!r} has a failure point under all of its corruptions")
        each = [points.points[np.searchsorted(samples, shared)] for points, samples in by_corruption]
        axis = np.unique(np.concatenate([points.severities for points, _ in by_corruption]))
        return FailurePoints(np.min(each, axis=0), axis), shared

    def _points(self, rule: Rule, recipe: Benchmark, entry: Entry, model: str) -> tuple[FailurePoints, Samples]:
        drawn = drawn_key(recipe, entry)
        searches = [s for s in self._searches if (s.model, s.corruption, s.drawn) == (model, entry.id, drawn)]
        if len(searches) > 1:
            raise BrittleError(f"{_of(rule)}: two models called {model!r} were searched; check their runs apart")
        if searches:
            numbers = self._numbers(rule)
            rows = searches[0].rows.sort("sample")
            rows = rows if numbers is None else rows.filter(pl.col("label").is_in(numbers))
            if rows.is_empty():
                raise BrittleError(f"{_of(rule)}: no image of {', '.join(rule.classes)} was searched")
            axis = searches[0].points.severities
            return FailurePoints(rows["failed"].to_numpy(), axis), rows["sample"].to_numpy().astype(str)
        cells = (Cell(), *(recipe.cell(entry, level) for level in entry.levels))
        if model not in self.results.models_with(cells):
            raise BrittleError(
                f"{_of(rule)}: {model!r} was neither searched nor run on {entry.corruption.name} and clean images; "
                "`brittle failure-points` searches"
            )
        self.check_same_draws(rule, cells)
        values, samples = self._matrix(rule, model, cells)
        return failure_points(values, [cell.severity for cell in cells]), samples

    def check_same_draws(self, rule: Rule, cells: Sequence[Cell]) -> None:
        """Raise unless this run, which is another one than the cells', has them drawn in the same way."""
        for cell in cells:
            if not cell.is_clean and (cell.place, cell.key) not in self._drawn:
                exists = cell.place in {place for place, _ in self._drawn}
                how = "draws it otherwise" if exists else "does not have it"
                raise BrittleError(
                    f"{_of(rule)} is about {cell.title}, and the other run {how}; run both through the same benchmark"
                )


def load_evidence(*runs: str | Path) -> Results:
    """The results of runs as `load_results` gives them, also of folders that hold nothing but failure points."""
    places = [Path(folder) for folder in runs]
    evaluated = [place for place in places if any((place / CELLS).glob("*/*.parquet"))]
    searched = [place for place in places if place not in evaluated and load_failure_points(place) is not None]
    if not searched:
        return load_results(*places)
    about = tuple(Store(place).about() for place in searched)
    kinds = [pl.String, pl.String, pl.Float64, pl.String, pl.Int32, pl.Int32, pl.Float32, pl.Boolean]
    empty = pl.LazyFrame(schema=dict(zip(COLUMNS, [*kinds, *OF_LABEL.values()], strict=True)))
    return (
        replace((results := load_results(*evaluated)), runs=(*results.runs, *about))
        if evaluated
        else Results(empty, about)
    )


def _statistic(metric: Metric, clean: bool, reference: dict[str, FloatArray | float]) -> Statistic:
    def statistic(means: FloatArray) -> FloatArray:
        shares = np.clip(means, 0, 1)  # sums of many weights round
        return metric(accuracy=shares[..., int(clean) :], clean=shares[..., 0], **reference)

    return statistic


def _named(recipe: Benchmark, name: str) -> Entry | None:
    return next((entry for entry in recipe.entries if name in (entry.id, entry.corruption.name)), None)


def _cells(rule: Rule, recipe: Benchmark, entry: Entry) -> list[Cell]:
    """The levels of a corruption that a rule is about."""
    cells = [recipe.cell(entry, level) for level in entry.levels]
    if rule.severity is None:
        return cells
    low, high = rule.severity
    inside = [cell for cell in cells if low <= cell.severity <= high]
    if not inside:
        wanted = f"{low:g}" if low == high else f"from {low:g} to {high:g}"
        levels = ", ".join(f"{cell.severity:g}" for cell in cells)
        raise BrittleError(f"{_of(rule)}: {entry.corruption.name} was not run at level {wanted}; it was at: {levels}")
    return inside


def _of(rule: Rule) -> str:
    return f"the rule {rule.title!r}"


def _data(run: Run) -> str:
    return f"{run.images:,} of {run.data!r}"
